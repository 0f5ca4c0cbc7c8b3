package hypercloud

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// operators looks for the software that carries the output out.
type operators struct{ *manifests }

// reportMissing names the parts that are needed and nowhere to be seen. One whose operator
// lives somebody else has installed.
func (o *operators) reportMissing(v *vendored) {
	for _, p := range o.cfg.needed() {
		if p.chart && o.cfg.charted() || o.lives(p.deployment) {
			continue
		}
		var missing []string
		kind := ""
		for _, id := range p.objects() {
			switch {
			case o.present(v, id):
			case id.Kind == kind:
				missing = append(missing, id.Name)
			default:
				kind = id.Kind
				missing = append(missing, id.Kind+" "+id.Name)
			}
		}
		if len(missing) > 0 {
			o.Report(finding.Warning, "operator-missing", "", "Rook %s needs %s, and the package lacks of it: %s; put there what upstream publishes, or see to it that the cluster has it",
				o.cfg.release, p.name, strings.Join(missing, ", "))
		}
	}
}

// objects are what a part is known by. A Deployment and a ConfigMap may be in any
// namespace.
func (p *part) objects() []krm.ID {
	ids := []krm.ID{{Group: appsGroup, Kind: deploymentKind, Name: p.deployment}}
	if p.config != "" {
		ids = append(ids, krm.ID{Kind: "ConfigMap", Name: p.config})
	}
	for _, plural := range p.definitions {
		ids = append(ids, krm.ID{Group: definitionGroup, Kind: definitionKind, Name: plural + "." + p.groups[0]})
	}
	return ids
}

// lives reports whether a Deployment of a name lives.
func (o *operators) lives(deployment string) bool {
	return slices.ContainsFunc(o.Facts.Objects(appsGroup, deploymentKind), func(o *krm.Object) bool { return o.Name == deployment })
}

// present reports whether something is among the manifests or was rendered of them before.
func (o *operators) present(v *vendored, id krm.ID) bool {
	is := func(o *krm.Object) bool { return o.GroupKind() == id.GroupKind() && o.Name == id.Name }
	for o := range v.found {
		if is(o) {
			return true
		}
	}
	for i := range o.objects {
		if is(o.objects[i].Object) {
			return true
		}
	}
	return slices.ContainsFunc(o.Held, is)
}
