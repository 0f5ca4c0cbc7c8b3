package diskpool

import (
	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/conformance"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/system"
)

// Verify implements system.Verifier: each set by its status, then its pools and classes as
// they live against what was rendered.
func (System) Verify(facts *inventory.Facts, specs []system.Followed) []conformance.Check {
	var checks []conformance.Check
	for _, spec := range specs {
		c := system.Conformance(System{}, facts, spec)
		for _, o := range spec.Before {
			switch o.GroupKind() {
			case poolGroupKind():
				c.Rendered(facts, o)
			case class.Kind():
				c.Class(facts, o)
			}
		}
		checks = append(checks, *c)
	}
	return checks
}
