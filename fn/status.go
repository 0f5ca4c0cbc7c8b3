package fn

import (
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Status is the health of what each spec of a package asks for, in the order of the
// specs. The facts are those of the package, unless there are others. The findings are
// the errors that are not about any one spec.
func (f *Function) Status(p Package, facts *inventory.Facts) ([]health.Status, []finding.Finding) {
	pkg, facts := f.against(p, facts)
	invalid, rest := pkg.invalid()
	statuses := invalid
	selected, left := pkg.selected()
	chosen := pkg.outputs(facts, valid(selected, invalid), left)
	for _, o := range chosen.outputs {
		statuses = append(statuses, o.system.Status(facts, o.spec, o.Output))
	}
	for i := range f.systems {
		s := &f.systems[i]
		for _, spec := range s.of(valid(left, invalid)) {
			statuses = append(statuses, s.Status(facts, spec, system.Output{}))
		}
	}
	statuses = append(statuses, pkg.leaving(facts, chosen.leave)...)
	health.Sort(statuses)
	return statuses, finding.Sort(rest)
}

// leaving is the health of the specs that are applied as they stand, were taken out, and live yet.
func (pkg *prepared) leaving(facts *inventory.Facts, leave departures) []health.Status {
	var statuses []health.Status
	for _, owner := range slices.Sorted(maps.Keys(leave)) {
		id, _ := krm.ParseOwner(owner)
		live := facts.Object(id)
		if live == nil || !pkg.kinds.IsApplied(id.GroupKind()) {
			continue
		}
		spec := &system.Spec{Object: live, Before: pkg.lock[owner], Gone: true}
		statuses = append(statuses, pkg.function.of(owner).Status(facts, spec, system.Output{Findings: leave[owner]}))
	}
	return statuses
}

// against prepares a package for a look at facts other than its own, if there are any.
func (f *Function) against(p Package, facts *inventory.Facts) (*prepared, *inventory.Facts) {
	if facts != nil {
		p.Objects = f.withoutFacts(p.Objects)
	}
	pkg := f.prepare(p)
	if facts == nil {
		facts = inventory.New(pkg.facts)
	}
	return pkg, facts
}

// valid leaves out the specs that have errors.
func valid(specs []*system.Spec, invalid []health.Status) []*system.Spec {
	return slices.DeleteFunc(slices.Clone(specs), func(spec *system.Spec) bool {
		return slices.ContainsFunc(invalid, func(i health.Status) bool { return i.Spec == spec.Object.Ref })
	})
}

// invalid makes a status of the errors in each spec, and returns those that are
// about something else.
func (pkg *prepared) invalid() (statuses []health.Status, rest []finding.Finding) {
	of := map[finding.Ref][]finding.Finding{}
	for _, f := range pkg.findings {
		if f.Severity == finding.Error {
			of[f.Object] = append(of[f.Object], f)
		}
	}
	for _, o := range pkg.classified.specs {
		if fs := of[o.Ref]; len(fs) > 0 {
			var r health.Report
			r.Step("spec").Add(health.Problem{Phase: health.Error, Reason: health.InvalidSpec, Message: health.FirstError(fs)})
			statuses = append(statuses, r.Status(o.Ref, ""))
			delete(of, o.Ref)
		}
	}
	for _, fs := range of {
		rest = append(rest, fs...)
	}
	return statuses, rest
}

// HasSpec reports whether there is a spec among objects, or in a List among them.
func (f *Function) HasSpec(objects []*krm.Object) bool {
	return len(f.kinds.Specs(objects)) > 0 || len(classify(Package{Objects: objects}, f.kinds, nil).specs) > 0
}
