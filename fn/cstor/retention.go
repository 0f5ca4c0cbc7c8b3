package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// deletionPolicy is what becomes of the claims and attachments of cloud disks that are let go
// (poolConfig.deletionPolicy).
type deletionPolicy string

const (
	retainDisks deletionPolicy = "Retain" // they are left to a person: the default
	deleteDisks deletionPolicy = "Delete" // they go from the output, and with it from the cluster
)

// retention leaves the claims and attachments of cloud disks to a person. A file that just
// vanished would be pruned where protection is off, so they are rendered once more, as
// nobody's, and protected in every engine; when the facts show that this was applied, they go.
type retention struct {
	facts *inventory.Facts
	owner string // the key of the spec
}

// leave is what is rendered once more of claims and attachments that go.
func (r retention) leave(goes []*krm.Object) []gitops.Object {
	attached, applied := map[krm.ID]bool{}, map[string]bool{} // claims; nodes of which the facts show it applied
	claims := claimsByAttachment(goes)
	for _, o := range goes {
		if o.Kind == volumeAttachmentKind {
			attached[o.ID()], attached[claims[o.Name]] = true, true
		}
		if r.isLeft(r.facts.Object(o.ID())) {
			applied[nodeOfVolume(o)] = true
		}
	}
	return remade(slices.DeleteFunc(slices.Clone(goes), func(o *krm.Object) bool {
		return !r.isNeeded(o, attached[o.ID()] && !applied[nodeOfVolume(o)])
	}), true)
}

// isLeft reports whether the facts show an object as left to a person already.
func (r retention) isLeft(live *krm.Object) bool {
	return live != nil && live.Owner() == "" && live.RenderedFor() == r.owner
}

// isNeeded reports whether an object holds something, and is not known to be nobody's yet. Of
// what the facts do not tell it is taken to be so, and of what was bound earlier, too, as an
// attachment says: an old snapshot does not have it, or not as bound.
func (r retention) isNeeded(o *krm.Object, wasBound bool) bool {
	live, claim := r.facts.Object(o.ID()), r.facts.VolumeClaim(o.Namespace, o.Name)
	switch {
	case live == nil:
		return wasBound || !r.facts.Tells(o.Group(), o.Kind, o.Namespace)
	case r.isLeft(live):
		return false
	}
	return wasBound || o.Kind != volumeClaimKind || claim == nil || claim.Bound
}

// tellRetained tells what is left to a person.
func (c *collector) tellRetained(left []gitops.Object) {
	names := map[string][]string{}
	for i := range left {
		names[left[i].Kind] = append(names[left[i].Kind], left[i].Name)
	}
	for _, kind := range []string{volumeClaimKind, volumeAttachmentKind} {
		slices.Sort(names[kind])
	}
	if len(left) == 0 {
		return
	}
	what := volumeClaimKind + " " + finding.Names(names[volumeClaimKind])
	if attachments := names[volumeAttachmentKind]; len(attachments) > 0 {
		if what += ", "; len(names[volumeClaimKind]) == 0 {
			what = ""
		}
		what += volumeAttachmentKind + " " + finding.Names(attachments)
	}
	c.report(finding.Warning, "disks-retained", "",
		"left to a person, since poolConfig.deletionPolicy is %s: %s; they are rendered once more, as nobody's and protected in every engine: apply that, take the inventory anew, and render again; from then on they are yours, to use or to delete", retainDisks, what)
}

// remade renders objects of nodes anew, as they were, without what they say to engines, which
// may be something else by now.
func remade(objects []*krm.Object, retained bool) []gitops.Object {
	claims := claimsByAttachment(objects)
	files := map[string]gitops.Object{
		storageSetKind:       {File: "cstorclusterstorageset.yaml"},
		storageKind:          {File: "storage.yaml"},
		volumeClaimKind:      {File: "persistentvolumeclaim.yaml", Stage: claimStage},
		volumeAttachmentKind: {File: "volumeattachment.yaml", Stage: attachStage},
	}
	var made []gitops.Object
	for _, o := range objects {
		f, found := files[o.Kind]
		if !found {
			continue
		}
		f.Object, f.Retained = copyOf(o), retained
		if claim, found := claims[o.Name]; found && o.Kind == volumeAttachmentKind {
			f.Needs = []krm.ID{claim}
		}
		made = append(made, f)
	}
	return made
}

// claimsByAttachment is which of some claims an attachment is for, by the names that it may have.
func claimsByAttachment(objects []*krm.Object) map[string]krm.ID {
	claims := map[string]krm.ID{}
	for _, o := range objects {
		if o.Kind == volumeClaimKind {
			claims[attachmentName(o.Namespace, o.Name)] = o.ID()
			claims[joinName(o.Namespace, o.Name, nodeOfVolume(o))] = o.ID()
		}
	}
	return claims
}

// copyOf is an object with its spec and what the next render reads.
func copyOf(o *krm.Object) *krm.Object {
	var fields []d.Field
	if spec := o.Node.Get("spec"); spec != nil {
		fields = append(fields, d.F("spec", *spec))
	}
	made := krm.Make(o.APIVersion, o.Kind, o.Namespace, o.Name, fields...)
	for _, key := range []string{inventory.AnnotationSelectedNode, krm.AnnotationBlockDevice} {
		if value := o.Annotation(key); value != "" {
			made.SetAnnotation(key, value)
		}
	}
	return made
}
