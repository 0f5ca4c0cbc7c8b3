package hypercloud

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// vendored are the manifests of operators that a package holds.
type vendored struct {
	found  map[*krm.Object]*part
	others []*krm.Object // in the same files, and not of an operator
	by     *storage      // whose output has the copies: of several specs one
}

// newVendored finds the manifests, and the spec that has their copies: the one that had
// them before, or else the first.
func newVendored(manifests []*krm.Object, storages []*storage) *vendored {
	v := &vendored{by: storages[0]}
	v.found, v.others = recognised(manifests)
	if i := slices.IndexFunc(storages, func(s *storage) bool { return slices.ContainsFunc(s.Before, isCopy) }); i >= 0 {
		v.by = storages[i]
	}
	return v
}

// isCopy reports whether an object of the output is a copy: all of its levels is one, but
// what tells an engine of charts.
func isCopy(o *krm.Object) bool {
	switch {
	case ownKind(o.GroupKind()), engineKind(o.GroupKind()):
		return false
	}
	return o.GroupKind() != gk(appsGroup, deploymentKind) || o.Name != toolboxName
}

// addCopies puts the manifests of operators into their levels. It returns those that the
// person who keeps them orders, and that the rest waits for.
func (s *storage) addCopies(v *vendored) (ordered []gitops.Object) {
	wanted := map[krm.ID]bool{}
	var charted []*krm.Object
	for _, o := range s.in.Manifests {
		p := v.found[o]
		switch {
		case p == nil && (s.charted() || v.by != s || !s.wasCopied(o.ID())), s.elsewhere(o.ID()):
		case s.charted() && p.chart && o.GroupKind() != gk("", "Namespace"):
			charted = append(charted, o)
		case s.in.OwnOrder:
			ordered = append(ordered, gitops.Object{Object: o, Level: levelOf(o.GroupKind()).word()})
		case v.by == s:
			wanted[o.ID()] = true
			s.addCopy(copyOf(o))
		}
	}
	if len(charted) > 0 {
		s.Report(finding.Warning, "chart-and-manifests", "spec.delivery", "the chart %s brings what lies in the package, too, and cannot take over what these make: %s; they are not rendered: remove them", rookChart, finding.Names(names(charted)))
	}
	if v.by == s {
		s.reportOthers(v)
		s.keepCopies(wanted)
	}
	s.reportMissing(v)
	return ordered
}

// wasCopied reports whether there was a copy of a manifest: it stays known when what it
// was recognised by is gone.
func (s *storage) wasCopied(id krm.ID) bool {
	return slices.ContainsFunc(s.Before, func(o *krm.Object) bool { return o.ID() == id && isCopy(o) })
}

// addCopy makes a copy part of the output. What holds what storage is made of is
// protected: definitions, namespaces, and the operators, without which nothing that is
// being deleted ever goes.
func (s *storage) addCopy(o *krm.Object) {
	s.objects = append(s.objects, gitops.Object{
		Object: o, File: fileName(o), Level: levelOf(o.GroupKind()).word(), Copy: true, Stateful: staying(o),
	})
}

// staying reports whether a copy stays until a person lets it go.
func staying(o *krm.Object) bool {
	switch o.GroupKind() {
	case gk(definitionGroup, definitionKind), gk("", "Namespace"):
		return true
	case gk(appsGroup, deploymentKind):
		return partOf(o) != nil
	}
	return false
}

// elsewhere reports whether another spec, which is not rendered now, has an object.
func (s *storage) elsewhere(id krm.ID) bool {
	return slices.ContainsFunc(s.in.Held, func(o *krm.Object) bool { return o.ID() == id && o.Owner() != "" && o.Owner() != s.owner })
}

// reportOthers names what lies in a file of an operator and is not copied.
func (s *storage) reportOthers(v *vendored) {
	if len(v.others) > 0 && !s.in.OwnOrder {
		s.Report(finding.Info, "not-of-operator", "", "not copied, since it is no part of an operator, though it lies in a file of one: %s; apply it yourself, or remove it", finding.Names(names(v.others)))
	}
}

// keepCopies keeps the copies whose manifest is gone. What is not seen of a package says
// nothing. A definition takes all of its objects along, and an operator that goes leaves
// what is being deleted waiting for ever, so both stay until a person lets them go; and
// with an operator the roles that it needs.
func (s *storage) keepCopies(wanted map[krm.ID]bool) {
	var gone, kept []*krm.Object
	operator := false
	for _, o := range s.Before {
		switch {
		case !isCopy(o) || wanted[o.ID()]:
		case s.in.Partial && !s.seen(o.ID()):
			s.addKept(o)
		default:
			gone = append(gone, o)
			operator = operator || !s.mayGo(o) && o.Kind == deploymentKind
		}
	}
	for _, o := range gone {
		own := s.in.OwnOrder && s.seen(o.ID())
		switch {
		case own, s.mayGo(o) && (!operator || s.consents(o)):
			s.released[o.ID()] = true
		default:
			s.addKept(o)
			kept = append(kept, o)
		}
	}
	if len(kept) == 0 {
		return
	}
	severity, what := finding.Warning, "gone from the package and kept, since a definition takes its objects along, and without its operator nothing that is being deleted ever goes"
	if s.charted() && slices.ContainsFunc(kept, func(o *krm.Object) bool { p := partOf(o); return p != nil && p.chart }) {
		severity, what = finding.Error, "rendered from the package so far, and a chart cannot take it over"
	}
	s.Report(severity, "manifest-gone", "", "%s: %s; put the manifests back, or allow it with %s: %s", what, finding.Names(names(kept)), krm.AnnotationAllowRemoval, consentFor(kept))
}

// addKept keeps a copy as it was rendered.
func (s *storage) addKept(o *krm.Object) {
	kept := copyOf(o)
	gitops.Strip(kept)
	s.addCopy(kept)
}

// seen reports whether the package shows a manifest of an identity.
func (s *storage) seen(id krm.ID) bool {
	return slices.ContainsFunc(s.in.Manifests, func(o *krm.Object) bool { return o.ID() == id })
}

// mayGo reports whether nothing is lost with a copy, or the loss is allowed. An operator
// without a cluster has nothing to end.
func (s *storage) mayGo(o *krm.Object) bool {
	switch {
	case !staying(o), s.consents(o):
		return true
	case o.Kind != deploymentKind:
		return false
	}
	kind := gk(cephGroup, clusterKind)
	return s.in.Facts.Tells(kind.Group, kind.Kind, "") && len(s.in.Facts.Objects(kind.Group, kind.Kind)) == 0
}

// consents reports whether a person lets a copy go. Consent for an operator is for its
// roles, too.
func (s *storage) consents(o *krm.Object) bool { return s.Consent.Covers(o.Kind, o.Name) }

// reportMissing names the parts that are needed and nowhere to be seen. One whose operator
// lives somebody else has installed.
func (s *storage) reportMissing(v *vendored) {
	for _, p := range s.needed() {
		if p.chart && s.charted() || s.lives(p.deployment) {
			continue
		}
		var missing []string
		kind := ""
		for _, id := range p.objects() {
			switch {
			case s.present(v, id):
			case id.Kind == kind:
				missing = append(missing, id.Name)
			default:
				kind = id.Kind
				missing = append(missing, id.Kind+" "+id.Name)
			}
		}
		if len(missing) > 0 {
			s.Report(finding.Warning, "operator-missing", "", "Rook %s needs %s, and the package lacks of it: %s; put there what upstream publishes, or see to it that the cluster has it",
				s.cfg.release, p.name, strings.Join(missing, ", "))
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
func (s *storage) lives(deployment string) bool {
	return slices.ContainsFunc(s.in.Facts.Objects(appsGroup, deploymentKind), func(o *krm.Object) bool { return o.Name == deployment })
}

// present reports whether something is among the manifests or was rendered of them before.
func (s *storage) present(v *vendored, id krm.ID) bool {
	is := func(o *krm.Object) bool { return o.GroupKind() == id.GroupKind() && o.Name == id.Name }
	for o := range v.found {
		if is(o) {
			return true
		}
	}
	for i := range s.objects {
		if is(s.objects[i].Object) {
			return true
		}
	}
	return slices.ContainsFunc(s.in.Held, is)
}

func names(objects []*krm.Object) []string {
	names := make([]string, len(objects))
	for i, o := range objects {
		names[i] = o.Kind + " " + o.Name
	}
	return names
}

// consentFor is the consent that lets copies go; the roles of an operator go with it.
func consentFor(kept []*krm.Object) string {
	var entries []string
	for _, o := range kept {
		if staying(o) {
			entries = append(entries, o.Kind+"/"+o.Name)
		}
	}
	return strings.Join(entries, ",")
}
