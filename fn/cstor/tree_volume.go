package cstor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// volumesOf lists the volumes of a pool cluster, then the claims that have none.
func (f *forest) volumesOf(cluster inventory.Key) []*health.Tree {
	var trees []*health.Tree
	for _, v := range f.volumes.Sorted {
		if v.Cluster == cluster {
			trees = append(trees, f.volume(v))
		}
	}
	for _, o := range f.volumes.Waiting {
		if f.volumes.ClusterOfClass(o.Node.Str("spec", "storageClassName")) == cluster {
			trees = append(trees, f.claim(o))
		}
	}
	return trees
}

// class is a storage class with its claims, and its volumes that have none any more.
func (f *forest) class(o *krm.Object) *health.Tree {
	t := &health.Tree{Object: o.Ref, Note: note("cluster "+o.Node.Str("parameters", "cstorPoolCluster"), o.Node.Str("parameters", "replicaCount")+" replicas")}
	is := func(other *krm.Object) bool {
		return other != nil && other.Node.Str("spec", "storageClassName") == o.Name
	}
	for _, v := range f.volumes.Sorted {
		if is(v.Claim) || v.Claim == nil && is(v.Volume) {
			under(t, f.volume(v))
		}
	}
	for _, claim := range f.volumes.Waiting {
		if is(claim) {
			under(t, f.claim(claim))
		}
	}
	for _, child := range t.Children {
		if t.Phase == "" || child.Phase.WorseThan(t.Phase) {
			t.Phase = child.Phase
		}
	}
	return t
}

// volume is a volume from its claim, or from as far up as there is anything.
func (f *forest) volume(v *volume.Chain) *health.Tree {
	switch pv := v.Volume; {
	case v.Claim != nil:
		return f.claim(v.Claim)
	case pv != nil && pv.Node.Str("spec", "claimRef", "name") != "":
		ref := pv.Node.Get("spec", "claimRef")
		t := health.Absent(finding.Ref{APIVersion: "v1", Kind: volumeClaimKind, Namespace: ref.Str("namespace"), Name: ref.Str("name")}, "its volume "+pv.Name+" is "+pv.Node.Str("status", "phase"))
		return under(t, f.config(v))
	case pv != nil:
		return under(f.persistentVolume(pv), f.config(v))
	case v.Config != nil || v.Target == nil && len(v.Replicas) == 0:
		return f.config(v)
	}
	return f.target(v)
}

// claim is a claim and what is below it. A claim on a disk of another driver ends
// with its volume, or goes on with the block device that it became.
//
// Source: Kubernetes, PersistentVolumeClaimPhase and PersistentVolumePhase, 1.36.
func (f *forest) claim(o *krm.Object) *health.Tree {
	phase := o.Node.Str("status", "phase")
	t := &health.Tree{Object: o.Ref, State: phase, Phase: health.Progressing}
	switch phase {
	case "Bound":
		t.Phase = health.OK
	case "Lost":
		t.Phase = health.Error
	}
	t.Note = note(size(o.Node.Str("status", "capacity", "storage"), o.Node.Str("spec", "resources", "requests", "storage")), o.Node.Str("spec", "storageClassName"))
	name := o.Node.Str("spec", "volumeName")
	if name == "" {
		return t
	}
	pv := f.facts.Object(krm.ID{Kind: persistentVolumeKind, Name: name})
	if pv == nil {
		t.Children = append(t.Children, health.Absent(finding.Ref{APIVersion: "v1", Kind: persistentVolumeKind, Name: name}, "the claim is bound to it"))
		if v := f.volumes.Handle(name); v != nil {
			under(t.Children[0], f.config(v))
		}
		return t
	}
	// The volume has the name of what follows, and is shown where it is not well.
	below, v := t, f.volumes.Of(pv)
	if p := f.persistentVolume(pv); p.Phase != health.OK || v == nil {
		under(t, p)
		below = p
	}
	if v != nil {
		under(below, f.config(v))
	}
	return t
}

// persistentVolume is a volume alone, or for a disk of another driver with the
// block device that it became.
//
// Source: Kubernetes, PersistentVolumeClaimPhase and PersistentVolumePhase, 1.36.
func (f *forest) persistentVolume(o *krm.Object) *health.Tree {
	phase, ref := o.Node.Str("status", "phase"), o.Node.Get("spec", "claimRef")
	t := &health.Tree{Object: o.Ref, State: phase, Phase: health.OK, Note: o.Node.Str("spec", "csi", "driver"), Place: health.Place{Role: health.Volume}}
	if claim := ref.Str("name"); claim != "" {
		t.Note = note(t.Note, "claim "+ref.Str("namespace")+"/"+claim)
	}
	switch phase {
	case "Failed":
		t.Phase = health.Error
	case "Pending", "Released":
		t.Phase = health.Progressing
	}
	for _, d := range f.devicesOf(o) {
		t.Children = append(t.Children, f.deviceAndVolumes(d))
	}
	return t
}

// config is a CStorVolumeConfig and what is below it.
//
// Source: openebs/api, pkg/apis/cstor/v1 (CStorVolumeConfigPhase, CStorVolumePhase), 3.6.0.
func (f *forest) config(v *volume.Chain) *health.Tree {
	ref := finding.Ref{APIVersion: cstorVersion, Kind: cstorVolumeConfigKind, Namespace: v.Namespace, Name: v.Name}
	if v.Config == nil {
		t := health.Absent(ref, "")
		t.Place.Role = health.Volume
		if v.Target != nil || len(v.Replicas) > 0 {
			under(t, f.target(v))
		}
		return t
	}
	phase := v.Config.Node.Str("status", "phase")
	t := &health.Tree{Object: ref, State: phase, Phase: health.Progressing, Place: health.Place{Role: health.Volume}}
	switch phase {
	case "Bound":
		t.Phase = health.OK
	case "Failed":
		t.Phase = health.Error
	}
	if node := v.Config.Node.Str("publish", "nodeId"); node != "" {
		t.Note = "used on node " + node
	}
	for _, o := range v.Attachments {
		t.Children = append(t.Children, f.attachment(v, o))
	}
	if v.Target == nil && len(v.Replicas) == 0 && phase != "Bound" {
		return t // nothing is below it yet
	}
	return under(t, f.target(v))
}

// attachment is a volume on a node that uses it.
func (f *forest) attachment(v *volume.Chain, o *krm.Object) *health.Tree {
	node := volume.AttachmentNode(o)
	t := &health.Tree{Object: o.Ref, State: volume.AttachmentState(o), Phase: health.OK, Note: "on node " + node, Place: health.Place{Node: node}}
	for _, fault := range v.Faults(f.facts) {
		if fault.Object == o {
			t.Phase, t.Note = fault.Phase, fault.Text
		}
	}
	return t
}

// target is a CStorVolume with its replicas.
func (f *forest) target(v *volume.Chain) *health.Tree {
	ref := finding.Ref{APIVersion: cstorVersion, Kind: cstorVolumeKind, Namespace: v.Namespace, Name: v.Name}
	t := health.Absent(ref, "")
	if v.Target != nil {
		t = &health.Tree{Object: ref, State: v.Target.Node.Str("status", "phase"), Phase: v.Phase()}
		t.Note = note(size(v.Target.Node.Str("status", "capacity"), v.Target.Node.Str("spec", "capacity")), fmt.Sprintf("%d of %s healthy", v.Healthy(nil), finding.Count(v.Factor(), "replica")))
	}
	t.Place.Role = health.Volume
	for _, r := range v.Replicas {
		t.Children = append(t.Children, f.replica(r))
	}
	for i := len(v.Replicas); i < v.Factor(); i++ {
		t.Children = append(t.Children, health.Absent(finding.Ref{APIVersion: cstorVersion, Kind: cstorVolumeReplicaKind, Namespace: v.Namespace, Name: v.Name + health.Unnamed}, ""))
	}
	return t
}

// replica is a replica with its pool and disks.
func (f *forest) replica(o *krm.Object) *health.Tree {
	t := f.replicaAlone(o)
	instance := inventory.Key{Namespace: o.Namespace, Name: volume.InstanceOf(o)}
	if i := f.pools.Instance(instance); i != nil {
		return under(t, f.pool(i))
	}
	why, host := "the replica names it", o.Annotation(pool.AnnotationReplicaHost)
	if host != "" {
		why += ", on host " + host
	}
	gone := health.Absent(finding.Ref{APIVersion: cstorVersion, Kind: poolInstanceKind, Namespace: instance.Namespace, Name: instance.Name}, why)
	gone.Place = health.Place{Role: health.Pool, Node: f.nodeName(host)}
	return under(t, gone)
}

func (f *forest) replicaAlone(o *krm.Object) *health.Tree {
	v := f.volumes.OfReplica(o)
	return &health.Tree{Object: o.Ref, State: o.Node.Str("status", "phase"), Phase: v.ReplicaPhase(o), Note: v.Down(o), Place: health.Place{Role: health.Replica}}
}

// hit is a volume upwards, with what the loss of some replicas means to it.
func (f *forest) hit(v *volume.Chain, lost []*krm.Object, ifWhat string) *health.Tree {
	ref := finding.Ref{APIVersion: cstorVersion, Kind: cstorVolumeKind, Namespace: v.Namespace, Name: v.Name}
	t := health.Absent(ref, "")
	if v.Target != nil {
		t = &health.Tree{Object: ref, State: v.Target.Node.Str("status", "phase"), Phase: v.Phase()}
	}
	t.Place.Role = health.Volume
	if ifWhat != "" {
		var pools []string
		for _, r := range lost {
			pools = append(pools, volume.InstanceOf(r))
		}
		left, fate := v.Healthy(pools), "goes on"
		if left < v.Quorum() {
			fate = "stops"
		}
		t.Note = note(t.Note, fmt.Sprintf("%s: %d of %s left, it %s", ifWhat, left, finding.Count(v.Factor(), "replica"), fate))
	}
	user := v.User()
	switch {
	case v.Claim != nil:
		claim := f.claim(v.Claim)
		claim.Children = nil
		return under(t, claim)
	case v.Volume != nil && user.Name != "":
		return under(t, health.Absent(finding.Ref{APIVersion: "v1", Kind: volumeClaimKind, Namespace: user.Namespace, Name: user.Name}, "its volume "+v.Volume.Name+" is "+v.Volume.Node.Str("status", "phase")))
	}
	return t
}

// devicesOf lists the block devices that a cloud disk became. Most drivers have
// names for their disks that hold without the attachment, too.
func (f *forest) devicesOf(pv *krm.Object) []*inventory.BlockDevice {
	v := f.facts.Volume(pv.Name)
	if v.Driver == cstorDriver || v.Driver == "" {
		return nil
	}
	node, hostname := "", ""
	for _, o := range f.facts.Objects(storageGroup, volumeAttachmentKind) {
		if o.Node.Str("spec", "source", "persistentVolumeName") == pv.Name {
			node = o.Node.Str("spec", "nodeName")
		}
	}
	if n := f.facts.Node(node); n != nil {
		hostname = n.Hostname
	}
	return f.facts.DevicesOf(v, v.Driver, node, hostname)
}

// under hangs one tree on another.
func under(t, child *health.Tree) *health.Tree {
	if child != nil {
		t.Children = append(t.Children, child)
	}
	return t
}

// note joins what is known.
func note(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// size is the first amount that is given, as it is written; a number of bytes is
// made readable.
func size(amounts ...string) string {
	for _, a := range amounts {
		if n, err := strconv.ParseInt(a, 10, 64); err == nil {
			return quantity.Size(n)
		}
		if a != "" {
			return a
		}
	}
	return ""
}
