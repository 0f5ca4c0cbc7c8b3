package cstor

import (
	"slices"
	"strconv"

	"github.com/poolwright/poolwright/fn/cstor/record"
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

// retains reports whether cloud disks that go are left to a person.
func (d *desired) retains() bool { return d.cfg.Spec.PoolConfig.DeletionPolicy != deleteDisks }

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
	claims, again := claimsByAttachment(goes), map[krm.ID]string{}
	for _, o := range goes {
		if o.Kind == volumeAttachmentKind {
			attached[o.ID()], attached[claims[o.Name]] = true, true
		}
		if r.isLeft(o) {
			applied[record.NodeOfVolume(o)] = true
		}
		again[o.ID()] = r.again(o)
	}
	left := remade(slices.DeleteFunc(slices.Clone(goes), func(o *krm.Object) bool {
		return !r.isNeeded(o, (attached[o.ID()] || o.Retained()) && !applied[record.NodeOfVolume(o)])
	}), true)
	for i := range left {
		if n := again[left[i].ID()]; n != "" {
			left[i].SetAnnotation(annotationRetainedAgain, n)
		}
	}
	return left
}

// annotationRetainedAgain is, on what is left to a person, how often it had been before, where the
// facts show it so that it is from the last time: which facts are older is told by that.
const annotationRetainedAgain = "poolwright.io/retained-again"

// isNobodys reports whether the facts show an object as left to a person by the spec, be it from
// an earlier time.
func (r retention) isNobodys(live *krm.Object) bool {
	return live != nil && live.Owner() == "" && live.RenderedFor() == r.owner
}

// isLeft reports whether the facts show an object as left to a person as it is rendered already.
func (r retention) isLeft(o *krm.Object) bool {
	live := r.facts.Object(o.ID())
	return o.Retained() && r.isNobodys(live) && live.Annotation(annotationRetainedAgain) == o.Annotation(annotationRetainedAgain)
}

// again is what annotationRetainedAgain says of an object, "" the first time.
func (r retention) again(o *krm.Object) string {
	if o.Retained() {
		return o.Annotation(annotationRetainedAgain)
	}
	live := r.facts.Object(o.ID())
	if !r.isNobodys(live) {
		return ""
	}
	before, err := strconv.Atoi(live.Annotation(annotationRetainedAgain))
	if err != nil {
		before = 0 // there is none, or a person has written it
	}
	return strconv.Itoa(before + 1)
}

// isNeeded reports whether an object is there, and not known to be nobody's yet. Of what the facts
// do not tell it is taken to be so, and of what was there earlier, too, as an attachment says, or that
// it is left to a person already: an old snapshot does not have it.
func (r retention) isNeeded(o *krm.Object, wasThere bool) bool {
	if r.facts.Object(o.ID()) == nil {
		return wasThere || !r.facts.Tells(o.Group(), o.Kind, o.Namespace)
	}
	return !r.isLeft(o)
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
		"left to you, because poolConfig.deletionPolicy is %s: %s; they are rendered once more, without an owner and protected in every engine: apply that, refresh the inventory, and render again; from then on they are unmanaged, and you may use or delete them", retainDisks, what)
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
			claims[record.AttachmentName(o.Namespace, o.Name)] = o.ID()
			claims[record.JoinName(o.Namespace, o.Name, record.NodeOfVolume(o))] = o.ID()
		}
	}
	return claims
}

// unseenClaims lists the claims among some objects that were bound, as their attachments say, and are not
// among the facts, by name: an old snapshot does not have them. Where they were deleted, an engine
// makes them anew.
func unseenClaims(facts *inventory.Facts, objects []*krm.Object) []string {
	var names []string
	claims := claimsByAttachment(objects)
	for _, o := range objects {
		claim, found := claims[o.Name]
		if found && o.Kind == volumeAttachmentKind && facts.Object(claim) == nil && facts.Tells("", volumeClaimKind, claim.Namespace) {
			names = append(names, claim.Name)
		}
	}
	slices.Sort(names)
	return names
}

// tellUnseen tells of claims that are not deleted before the facts show them.
func (c *collector) tellUnseen(claims []string) {
	c.report(finding.Warning, "claims-unseen", "",
		"not in the inventory, which is treated as older than the output, because they were bound when the output was rendered: PersistentVolumeClaim %s; they will be deleted, but stay until the inventory shows them: apply what is rendered, refresh the inventory with poolwright inventory, and render again", finding.Names(claims))
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
