package volume

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// AttachmentKind is what the node driver makes while a volume is staged on a node: it is named
// <volume>-<node>, and belongs to the Node.
//
// Source: cstor-csi, NodeStageVolume, 3.6.0.
const AttachmentKind = "CStorVolumeAttachment"

// attachmentVolume names the volume that a CStorVolumeAttachment is of.
func attachmentVolume(o *krm.Object) string { return o.Node.Str("spec", "volume", "name") }

// AttachmentNode names the node of a CStorVolumeAttachment.
func AttachmentNode(o *krm.Object) string { return o.Node.Str("spec", "volume", "ownerNodeID") }

// AttachmentState says how far a volume is on a node: attaching, staged (the driver mounts it
// once for the node) or published (to a pod). The driver writes no status, but for releases
// that say more.
//
// Source: cstor-csi, NodeStageVolume and NodePublishVolume, 3.6.0.
func AttachmentState(o *krm.Object) string {
	status := o.Node.Str("status")
	switch {
	case o.Deleting():
		return "unstaging"
	case status == "MountFailed":
		return status
	case o.Node.Str("spec", "volume", "targetPath") != "":
		return "published"
	case o.Node.Str("spec", "volume", "stagingTargetPath") != "":
		return "staged"
	}
	return "attaching"
}

// Fault is what is wrong with a volume on a node.
type Fault struct {
	Object *krm.Object // the CStorVolumeAttachment, or the PersistentVolume that has none
	Phase  health.Phase
	Reason string
	Text   string // follows the object: "is not staged yet"
}

// Faults lists what is wrong with a volume on the nodes that it is used on.
//
// Source: cstor-csi, NodeStageVolume and NodeUnstageVolume, 3.6.0.
func (c *Chain) Faults(facts *inventory.Facts) []Fault {
	var faults []Fault
	add := func(o *krm.Object, phase health.Phase, reason, format string, args ...any) {
		faults = append(faults, Fault{o, phase, reason, fmt.Sprintf(format, args...)})
	}
	attached, told := []string(nil), c.Volume != nil && facts.Tells("storage.k8s.io", "VolumeAttachment", "")
	if told {
		attached = facts.AttachedTo(c.Volume.Name)
	}
	var first *krm.Object
	for _, o := range c.Attachments {
		node, state := AttachmentNode(o), AttachmentState(o)
		switch {
		case o.Deleting() && len(facts.Nodes) > 0 && facts.Node(node) == nil:
			add(o, health.Error, "NodeGone", "is being deleted, and node %s, which would remove its finalizer, is gone: kubectl patch cva -n %s %s --type merge -p '{\"metadata\":{\"finalizers\":null}}'", node, o.Namespace, o.Name)
			continue
		case o.Deleting():
			add(o, health.Progressing, "Unstaging", "is being deleted, and the node driver on %s has not unmounted the volume yet: until then it is not staged there again; see the pod of the node driver", node)
			continue
		case len(facts.Nodes) > 0 && facts.Node(node) == nil:
			add(o, health.Error, "NodeGone", "is of node %s, which is gone: nothing unmounts the volume there; delete it", node)
			continue
		case first != nil:
			add(o, health.Error, "StagedTwice", "is of node %s, and %s is of node %s: the target serves one of them; see which pod uses the volume, and delete the other one", node, first.Name, AttachmentNode(first))
			continue
		}
		first = o
		switch {
		case told && !slices.Contains(attached, node):
			add(o, health.Error, "NotAttached", "is of node %s, and no VolumeAttachment has the volume there: it was detached and not unstaged; see kubelet and the node driver on %s", node, node)
		case state == "MountFailed":
			add(o, health.Error, "MountFailed", "could not be mounted on node %s; see the log of the node driver there", node)
		case state == "attaching":
			add(o, health.Progressing, "Staging", "is not staged on node %s yet: the driver waits for the target, and logs in to it (iSCSI)", node)
		case state == "staged":
			add(o, health.Progressing, "Publishing", "is staged on node %s, and published to no pod", node)
		}
	}
	if told && facts.Tells(pool.APIGroup, AttachmentKind, c.Namespace) {
		for _, node := range attached {
			if !slices.ContainsFunc(c.Attachments, func(o *krm.Object) bool { return AttachmentNode(o) == node }) {
				add(c.Volume, health.Progressing, "NotStaged", "is attached to node %s, and the node driver has not begun to stage it there: there is no %s %s-%s; see the pod of the node driver on %s", node, AttachmentKind, c.Name, node, node)
			}
		}
	}
	return faults
}
