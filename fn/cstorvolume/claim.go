package cstorvolume

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/cstorvolume/chain"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// claim is one of spec.claims.
type claim struct {
	*claimConfig
	of    *volumeClass
	index int
	size  string // as it is rendered: whole GiB
	bytes int64
}

// readClaims reads the claims of a spec, and holds them against those of all specs and
// with what is in the cluster.
func (r *rendering) readClaims(v *volumeClass) {
	for i := range v.cfg.Spec.Claims {
		c := &claim{claimConfig: &v.cfg.Spec.Claims[i], of: v, index: i}
		if c.size, c.bytes = chain.WholeGiB(c.Size); c.size != c.Size {
			c.report(finding.Info, "rounded", "size", "the driver of cStor makes volumes of whole GiB: %s becomes %s", c.Size, c.size)
		}
		if first := r.claims[c.key()]; first != nil {
			c.report(finding.Error, "claim-twice", "name", "PersistentVolumeClaim %s/%s is claimed twice, the first is %s; give one of them another name", c.Namespace, c.Name, first.where())
			continue
		}
		r.claims[c.key()] = c
		v.claims = append(v.claims, c)
		c.checkBefore()
	}
	slices.SortStableFunc(v.claims, func(a, b *claim) int { return a.key().Compare(b.key()) })
}

// where says where the claim is written.
func (c *claim) where() string { return fmt.Sprintf("spec.claims[%d] of %s", c.index, c.of.Object.Ref) }

// report reports on a field of the claim, or on the claim where it is not written.
func (c *claim) report(severity finding.Severity, rule, field, format string, args ...any) {
	f := c.of.Finding(severity, rule, "spec.claims", fmt.Sprintf(format, args...))
	f.Field = fmt.Sprintf("spec.claims[%d]", c.index)
	if items := c.of.Object.Node.Seq("spec", "claims"); c.index < len(items) {
		f.Pos = c.of.Object.Position(items[c.index].Off)
		if at := items[c.index].Get(field); at != nil && field != "" {
			f.Field += "." + field
			f.Pos = c.of.Object.Position(at.Off)
		}
	}
	c.of.Collect(f)
}

// before is the claim as it is in the cluster, or as it was rendered where that may exist; nil where
// it is free to be anything.
func (v *volumeClass) before(key inventory.Key) *krm.Object {
	id := claimID(key.Namespace, key.Name)
	if live := v.in.Facts.Object(id); live != nil || v.in.Facts.Tells("", claimKind, key.Namespace) {
		return live
	}
	return v.rendered(id)
}

func (v *volumeClass) rendered(id krm.ID) *krm.Object {
	if i := slices.IndexFunc(v.Before, func(o *krm.Object) bool { return o.ID() == id }); i >= 0 {
		return v.Before[i]
	}
	return nil
}

// capacity is how large a claim is: its volume, or what it asks for.
func capacity(o *krm.Object) (text string, bytes int64) {
	text = cmp.Or(o.Node.Str("status", "capacity", "storage"), o.Node.Str("spec", "resources", "requests", "storage"))
	return text, quantity.Bytes(text)
}

// checkBefore refuses what a claim that is there already cannot follow.
func (c *claim) checkBefore() {
	before := c.of.before(c.key())
	if before == nil {
		return
	}
	text, bytes := capacity(before)
	switch allowed := c.of.cfg.Spec.AllowVolumeExpansion; {
	case bytes == 0:
	case c.bytes < bytes:
		c.report(finding.Error, "claim-shrinks", "size", "is %s, and %s has %s already; a volume never shrinks: write at least that", c.size, before.Ref, text)
	case c.bytes > bytes && !allowed:
		c.report(finding.Error, "claim-grows", "size", "is %s, and %s has %s; write that, or allowVolumeExpansion: true", c.size, before.Ref, text)
	}
	if name := before.Node.Str("spec", "storageClassName"); name != c.of.Object.Name {
		c.report(finding.Error, "claim-class", "name", "%s is there, of StorageClass %q, and a claim never changes its class; give this one another name", before.Ref, name)
	}
	if rendered := c.of.rendered(claimID(c.Namespace, c.Name)); rendered != nil && !document.Equal(sourceOf(rendered), sourceOf(c.object())) {
		c.report(finding.Error, "claim-source", "source", "%s is there, made from something else, and that never changes; give this one another name, or set back what was changed", before.Ref)
	}
}

// sourceOf is what a claim is made from, as a value that can be compared.
func sourceOf(o *krm.Object) *document.Node {
	if source := o.Node.Get("spec", "dataSource"); source != nil {
		return source
	}
	none := document.Object()
	return &none
}

// object is the PersistentVolumeClaim.
func (c *claim) object() *krm.Object {
	spec := document.Object(
		document.F("accessModes", document.List(document.Text("ReadWriteOnce"))),
		document.F("storageClassName", document.Text(c.of.Object.Name)),
		document.F("resources", document.Object(document.F("requests", document.Object(document.F("storage", document.Text(c.size)))))),
	)
	switch {
	case c.Source.Snapshot != "":
		spec.Set("dataSource", document.Object(
			document.F("apiGroup", document.Text(snapshotGroup)), document.F("kind", document.Text(snapshotKind)), document.F("name", document.Text(c.Source.Snapshot))))
	case c.Source.Claim != "":
		spec.Set("dataSource", document.Object(
			document.F("kind", document.Text(claimKind)), document.F("name", document.Text(c.Source.Claim))))
	}
	o := krm.Make("v1", claimKind, c.Namespace, c.Name, document.F("spec", spec))
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		o.SetLabel(key, c.Labels[key])
	}
	for _, key := range slices.Sorted(maps.Keys(c.Annotations)) {
		o.SetAnnotation(key, c.Annotations[key])
	}
	return o
}

// checkRemoved decides about claims that were rendered, or live as ours, and that are not
// wanted any more: they go with consent, or where it is known that they do not live.
func (v *volumeClass) checkRemoved() {
	wanted := map[krm.ID]bool{}
	if v.class != nil {
		for _, c := range v.claims {
			wanted[claimID(c.Namespace, c.Name)] = true
		}
	}
	seen := map[krm.ID]bool{}
	for _, o := range slices.Concat(v.Before, v.in.Facts.Objects("", claimKind)) {
		id := o.ID()
		if id.GroupKind() != (krm.GroupKind{Kind: claimKind}) || o.Owner() != v.Object.OwnerKey() || wanted[id] || seen[id] {
			continue
		}
		seen[id] = true
		name := o.Namespace + "/" + o.Name
		one, all := v.Consent.Covers(claimKind, name), v.Consent.Covers(specKind, v.Object.Name)
		live := v.in.Facts.Object(id)
		switch gone := live == nil && v.in.Facts.Tells("", claimKind, o.Namespace); {
		case one, all, gone:
			v.released[id] = true
		case live != nil && live.Deleting():
		case v.class == nil && (v.Failed() || v.cluster.broken):
			// The reason is reported already.
		default:
			v.Report(finding.Error, "claim-removed", "spec.claims", "%s is no longer wanted, but removing it would lose its data; keep it in the spec, or annotate the class with %s: %s/%s", o.Ref, krm.AnnotationAllowRemoval, claimKind, name)
		}
	}
}
