package system

import (
	"github.com/poolwright/poolwright/fn/conformance"
	"github.com/poolwright/poolwright/fn/inventory"
)

// Verifier is a System that knows what its operators make of what it renders, object by
// object, also of what no spec asks for. Of others the status is what there is to verify.
type Verifier interface {
	// Verify compares what was rendered for the specs of the system with the facts.
	Verify(facts *inventory.Facts, specs []Followed) []conformance.Check
}

// Conformance is the check of a spec by its status.
func Conformance(s Reporter, facts *inventory.Facts, spec Followed) *conformance.Check {
	c := conformance.Of(spec.Object)
	for _, o := range spec.Before {
		c.Part(o.Ref)
	}
	status := s.Status(facts, spec.Spec, spec.Output)
	c.Add(&status)
	return c
}
