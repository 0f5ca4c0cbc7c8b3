package fn

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Doctor checks whether a cluster has what the specs of a package need before they can work, the
// worst first. The facts are those of the package, unless there are others; live is nil where they
// are a snapshot. The findings are the errors in the package: of a spec that has some nothing is checked.
func (f *Function) Doctor(p Package, facts *inventory.Facts, live *prerequisite.Live) ([]prerequisite.Check, []finding.Finding) {
	pkg, facts := f.against(p, facts)
	broken := slices.DeleteFunc(slices.Clone(pkg.findings), func(f finding.Finding) bool { return f.Severity != finding.Error })
	invalid, _ := pkg.invalid()
	selected, left := pkg.selected()
	chosen := pkg.outputs(facts, valid(selected, invalid), left)
	cluster := &prerequisite.Cluster{Facts: facts, Live: live, Manifests: slices.Clone(chosen.in.Manifests)}
	for i := range chosen.outputs {
		for _, o := range chosen.outputs[i].Objects {
			cluster.Manifests = append(cluster.Manifests, o.Object)
		}
	}
	checks := cluster.Rights()
	for i := range chosen.outputs {
		o := &chosen.outputs[i]
		needs := prerequisite.Needs{}
		if needer, says := o.system.System.(system.Needer); says {
			needs = needer.Needs(chosen.in, o.spec, o.Output)
		}
		rendered := prerequisite.Rendered{Findings: o.Findings, Choices: o.Choices}
		checks = append(checks, cluster.Check(o.spec.Object.Ref, o.system.Software, pkg.served(o, needs.Kinds), &needs, rendered)...)
	}
	prerequisite.Sort(checks)
	return checks, finding.Sort(broken)
}

// served lists the kinds that a cluster has to serve for a spec: those of what is rendered, in the
// versions of that, the spec itself where it is applied, and those that its system needs.
func (pkg *prepared) served(o *output, more []krm.GroupKind) []prerequisite.Kind {
	var kinds []prerequisite.Kind
	add := func(gk krm.GroupKind, version string) {
		kind, declared := pkg.kinds.Find(gk)
		known := slices.ContainsFunc(kinds, func(k prerequisite.Kind) bool { return k.GroupKind == gk })
		if declared && kind.Defined() && !known {
			if version == "" {
				version = kind.Version
			}
			kinds = append(kinds, prerequisite.Kind{GroupKind: gk, Version: version, Plural: kind.Plural})
		}
	}
	version := func(object *krm.Object) string {
		return object.APIVersion[strings.IndexByte(object.APIVersion, '/')+1:]
	}
	for i := range o.Objects {
		object := o.Objects[i].Object
		if kind, _ := pkg.kinds.Find(object.GroupKind()); kind.Role != system.RoleLock || pkg.policy.Intermediates == "apply" {
			add(object.GroupKind(), version(object))
		}
	}
	if pkg.kinds.IsApplied(o.spec.Object.GroupKind()) {
		add(o.spec.Object.GroupKind(), version(o.spec.Object))
	}
	for _, gk := range more {
		add(gk, "")
	}
	return kinds
}
