package cstorvolume

import (
	"slices"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/conformance"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/cstorvolume/verify"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// Verify implements system.Verifier: every class with what is rendered for it, then every
// claim and volume.
func (System) Verify(facts *inventory.Facts, specs []system.Followed) []conformance.Check {
	var checks []conformance.Check
	var rendered []*krm.Object
	for _, spec := range specs {
		rendered = slices.Concat(rendered, spec.Before)
		checks = append(checks, *verifyClass(facts, spec))
	}
	return append(checks, verify.Of(facts, rendered)...)
}

// verifyClass verifies what is rendered for a class but its claims, which are verified one by
// one.
func verifyClass(facts *inventory.Facts, spec system.Followed) *conformance.Check {
	c := conformance.Of(spec.Object)
	var report health.Report
	s := state{facts: facts, spec: spec.Spec, volumes: volume.IndexOf(facts)}
	s.checkObjects(report.Step("object"), spec.Findings)
	status := report.Status(spec.Object.Ref, "")
	c.Add(&status)
	for _, o := range spec.Before {
		c.Part(o.Ref)
	}
	if live := facts.Object(class.ID(spec.Object.Name)); live != nil {
		for _, o := range spec.Before {
			if o.ID() == live.ID() {
				c.Class(facts, o)
			}
		}
		has := class.Read(live)
		verify.Policy(c, facts, &has, spec.Object.Namespace)
	}
	return c
}
