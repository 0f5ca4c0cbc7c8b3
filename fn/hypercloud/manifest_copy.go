package hypercloud

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disklock"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// vendored are the manifests of operators that a package holds.
type vendored struct {
	found  map[*krm.Object]*part
	others []*krm.Object // in the same files, and not of an operator
	by     *input        // whose output has the copies: of several specs one
}

// newVendored finds the manifests, and the spec that has their copies: the one that had
// them before, or else the first.
func newVendored(manifests []*krm.Object, storages []*storage) *vendored {
	v := &vendored{by: storages[0].input}
	v.found, v.others = recognised(manifests)
	if i := slices.IndexFunc(storages, func(s *storage) bool { return slices.ContainsFunc(s.Before, isCopy) }); i >= 0 {
		v.by = storages[i].input
	}
	return v
}

// isCopy reports whether an object of the output is a copy: all of its levels is one, but
// what configures charts of an engine.
func isCopy(o *krm.Object) bool {
	switch {
	case ownKind(o.GroupKind()), engineKind(o.GroupKind()), disklock.Is(o):
		return false
	}
	return o.GroupKind() != gk(appsGroup, deploymentKind) || o.Name != toolboxName
}

// copying copies the manifests of operators into the output.
type copying struct {
	*manifests
	operators *operators
}

// addCopies puts the manifests of operators into their levels. It returns those that the
// person who keeps them orders, and that the rest waits for.
func (c *copying) addCopies(v *vendored) (ordered []gitops.Object) {
	wanted := map[krm.ID]bool{}
	var charted []*krm.Object
	for _, o := range c.Manifests {
		p := v.found[o]
		switch {
		case p == nil && (c.cfg.charted() || v.by != c.input || !c.wasCopied(o.ID())), c.elsewhere(o.ID()):
		case c.cfg.charted() && p.chart && o.GroupKind() != gk("", "Namespace"):
			charted = append(charted, o)
		case c.OwnOrder:
			c.drop(o)
			ordered = append(ordered, gitops.Object{Object: o, Level: levelOf(o.GroupKind()).word()})
		case v.by == c.input:
			wanted[o.ID()] = true
			c.addCopy(copyOf(o))
		default:
			c.drop(o)
		}
	}
	if len(charted) > 0 {
		c.Report(finding.Warning, "chart-and-manifests", "spec.delivery", "the chart %s brings what lies in the package, too, and cannot take over what these make: %s; they are not rendered: remove them", rookChart, finding.Names(names(charted)))
	}
	if v.by == c.input {
		c.reportOthers(v)
		c.keepCopies(wanted)
	}
	c.operators.reportMissing(v)
	c.operators.checkPlace()
	c.operators.checkRelease()
	return ordered
}

// wasCopied reports whether there was a copy of a manifest: it stays known when what it
// was recognised by is gone.
func (c *copying) wasCopied(id krm.ID) bool {
	return slices.ContainsFunc(c.Before, func(o *krm.Object) bool { return o.ID() == id && isCopy(o) })
}

// addCopy makes a copy part of the output. What holds what storage is made of is
// protected: definitions, namespaces, and the operators, without which nothing that is
// being deleted ever goes.
func (c *copying) addCopy(o *krm.Object) {
	made := gitops.Object{Object: o, File: fileName(o), Level: levelOf(o.GroupKind()).word(), Copy: true, Stateful: staying(o)}
	if i := c.index(o.ID()); i >= 0 {
		c.compare(c.objects[i].Object, o)
		c.objects[i] = made
		return
	}
	c.objects = append(c.objects, made)
}

// index is where an object of the output is, -1 if there is none of its identity.
func (c *copying) index(id krm.ID) int {
	return slices.IndexFunc(c.objects, func(o gitops.Object) bool { return o.ID() == id })
}

// drop takes an object out of the output that a manifest of the package stands for.
func (c *copying) drop(manifest *krm.Object) {
	if i := c.index(manifest.ID()); i >= 0 {
		c.compare(c.objects[i].Object, manifest)
		c.objects = slices.Delete(c.objects, i, i+1)
	}
}

// staying reports whether a copy stays until a person lets it go.
func staying(o *krm.Object) bool {
	switch o.GroupKind() {
	case gk(definitionGroup, definitionKind), gk("", "Namespace"):
		return true
	case gk(csiGroup, driverKind), gk(csiGroup, operatorConfKind):
		return true
	case gk(appsGroup, deploymentKind):
		return partOf(o) != nil
	}
	return false
}

// elsewhere reports whether another spec, which is not rendered now, has an object.
func (c *copying) elsewhere(id krm.ID) bool {
	return slices.ContainsFunc(c.Held, func(o *krm.Object) bool { return o.ID() == id && o.Owner() != "" && o.Owner() != c.owner })
}

// reportOthers names what lies in a file of an operator and is not copied.
func (c *copying) reportOthers(v *vendored) {
	if len(v.others) > 0 && !c.OwnOrder {
		c.Report(finding.Info, "not-of-operator", "", "not copied, since it is no part of an operator, though it lies in a file of one: %s; apply it yourself, or remove it", finding.Names(names(v.others)))
	}
}

// keepCopies keeps the copies whose manifest is gone. What is not seen of a package says
// nothing. A definition takes all of its objects along, and an operator that goes leaves
// what is being deleted waiting for ever, so both stay until a person lets them go; and
// with an operator the roles that it needs.
func (c *copying) keepCopies(wanted map[krm.ID]bool) {
	var gone, kept []*krm.Object
	operator := false
	for _, o := range c.Before {
		switch {
		case !isCopy(o) && !isDriver(o.GroupKind()) || wanted[o.ID()] || c.index(o.ID()) >= 0:
		case c.Partial && !c.seen(o.ID()):
			c.addKept(o)
		default:
			gone = append(gone, o)
			operator = operator || !c.mayGo(o) && o.Kind == deploymentKind
		}
	}
	for _, o := range gone {
		own := c.OwnOrder && c.seen(o.ID())
		switch {
		case own, c.mayGo(o) && (!operator || c.consents(o)):
			c.released[o.ID()] = true
		default:
			c.addKept(o)
			kept = append(kept, o)
		}
	}
	if len(kept) == 0 {
		return
	}
	severity, what := finding.Warning, "gone from the package and kept, since the deletion of a definition deletes its objects, without its driver no volume is mounted, and without its operator nothing that is being deleted ever disappears"
	if c.cfg.charted() && slices.ContainsFunc(kept, func(o *krm.Object) bool { p := partOf(o); return p != nil && p.chart }) {
		severity, what = finding.Error, "rendered from the package so far, and a chart cannot take it over"
	}
	c.Report(severity, "manifest-gone", "", "%s: %s; put the manifests back, or allow it with %s: %s", what, finding.Names(names(kept)), krm.AnnotationAllowRemoval, consentFor(kept))
}

// addKept keeps a copy as it was rendered.
func (c *copying) addKept(o *krm.Object) {
	kept := copyOf(o)
	gitops.Strip(kept)
	c.addCopy(kept)
}

// seen reports whether the package shows a manifest of an identity.
func (c *copying) seen(id krm.ID) bool {
	return slices.ContainsFunc(c.Manifests, func(o *krm.Object) bool { return o.ID() == id })
}

// mayGo reports whether nothing is lost with a copy, or the loss is allowed. An operator
// without a cluster has nothing to end.
func (c *copying) mayGo(o *krm.Object) bool {
	switch {
	case !staying(o), c.consents(o):
		return true
	case o.Kind != deploymentKind:
		return false
	}
	kind := gk(cephGroup, clusterKind)
	return c.Facts.Tells(kind.Group, kind.Kind, "") && len(c.Facts.Objects(kind.Group, kind.Kind)) == 0
}

// consents reports whether a person lets a copy go. Consent for an operator is for its
// roles, too.
func (c *copying) consents(o *krm.Object) bool { return c.Consent.Covers(o.Kind, o.Name) }

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
