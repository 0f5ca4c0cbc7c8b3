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
// is in the cluster somebody else has installed.
func (o *operators) reportMissing(v *vendored) {
	for _, p := range o.cfg.needed() {
		if p.chart && o.cfg.charted() || o.isInstalled(p.deployment) {
			continue
		}
		var missing []string
		kind := ""
		for _, id := range p.objects(o.cfg.release) {
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

// checkPlace warns of an operator of Ceph in another namespace than the spec says: the names
// of its CSI drivers begin with its namespace, and so do those of the classes and Drivers.
func (o *operators) checkPlace() {
	if o.cfg.charted() {
		return
	}
	namespace := o.cfg.Spec.Rook.OperatorNamespace
	there, where := o.operatorsIn(o.Manifests), "the package has"
	if len(there) == 0 {
		there, where = o.operatorsIn(o.Facts.Objects(appsGroup, deploymentKind)), "the cluster runs"
	}
	if len(there) == 0 || slices.ContainsFunc(there, func(d *krm.Object) bool { return d.Namespace == namespace }) {
		return
	}
	found := there[0]
	o.reportAt(finding.Warning, "operator-elsewhere", []any{"spec", "rook", "operatorNamespace"}, "is %s, but %s %s in namespace %s; that operator has the CSI drivers %s and %s, and what is rendered uses %s and %s: write operatorNamespace: %s, or move the operator to %s",
		namespace, where, found.Kind+" "+found.Name, found.Namespace, rbdDriver(found.Namespace), cephfsDriver(found.Namespace), rbdDriver(namespace), cephfsDriver(namespace), found.Namespace, namespace)
}

// operatorsIn lists the Deployments of Rook's operator.
func (o *operators) operatorsIn(objects []*krm.Object) []*krm.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(o *krm.Object) bool { return !isOperator(o) || o.Namespace == "" })
}

// checkRelease warns of an operator of another release than the spec says.
func (o *operators) checkRelease() {
	if o.cfg.charted() {
		return
	}
	for _, found := range o.operatorsIn(o.Manifests) {
		if r, _, exact := parsePatch(operatorTag(found)); exact && r != o.cfg.release {
			o.reportAt(finding.Warning, "operator-release", []any{"spec", "rook", "version"}, "is %s, but %s of the package is release %s; what is rendered is for %s: write version: \"%s\", or take the manifests of %s",
				o.cfg.release, found.Ref, operatorTag(found), o.cfg.release, r, o.cfg.release)
		}
	}
}

// objects are what a part is known by in a release. A Deployment and a ConfigMap may be in any
// namespace.
func (p *part) objects(r release) []krm.ID {
	ids := []krm.ID{{Group: appsGroup, Kind: deploymentKind, Name: p.deployment}}
	for _, c := range p.configs {
		if r >= c.from {
			ids = append(ids, krm.ID{Kind: "ConfigMap", Name: c.name})
		}
	}
	for _, plural := range p.definitions {
		ids = append(ids, krm.ID{Group: definitionGroup, Kind: definitionKind, Name: plural + "." + p.groups[0]})
	}
	return ids
}

// isInstalled reports whether a Deployment of a name exists.
func (o *operators) isInstalled(deployment string) bool {
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
