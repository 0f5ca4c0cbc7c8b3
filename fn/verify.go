package fn

import (
	"slices"

	"github.com/poolwright/poolwright/fn/conformance"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Verify compares what was rendered with what the operators made of it. The facts are those
// of the package, unless there are others. The checks are in the order of their subjects; the
// findings are the errors that are not about any one spec.
func (f *Function) Verify(p Package, facts *inventory.Facts) ([]conformance.Check, []finding.Finding) {
	pkg, facts := f.against(p, facts)
	var checks []conformance.Check
	invalid, rest := pkg.invalid()
	for i := range invalid {
		at := slices.IndexFunc(pkg.classified.specs, func(o *krm.Object) bool { return o.Ref == invalid[i].Spec })
		c := conformance.Of(pkg.classified.specs[at])
		c.Add(&invalid[i])
		checks = append(checks, *c)
	}
	selected, left := pkg.selected()
	chosen := pkg.outputs(facts, valid(selected, invalid), left)
	for i := range f.systems {
		s := &f.systems[i]
		var specs []system.Followed
		for _, o := range chosen.outputs {
			if o.system == s {
				specs = append(specs, system.Followed{Spec: o.spec, Output: o.Output})
			}
		}
		for _, spec := range s.of(valid(left, invalid)) {
			specs = append(specs, system.Followed{Spec: spec})
		}
		if verifier, verifies := s.System.(system.Verifier); verifies {
			checks = append(checks, verifier.Verify(facts, specs)...)
			continue
		}
		for _, spec := range specs {
			checks = append(checks, *system.Conformance(s.System, facts, spec))
		}
	}
	conformance.Sort(checks)
	return checks, finding.Sort(rest)
}
