package cstor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
)

const (
	cstorGroup      = "cstor.openebs.io"
	cstorDriver     = "cstor.csi.openebs.io"
	volumeKind      = "PersistentVolume"
	configKind      = "CStorVolumeConfig"
	targetKind      = "CStorVolume"
	replicaKind     = "CStorVolumeReplica"
	nodeKind        = "Node"
	classKind       = "StorageClass"
	driverKind      = "CSIDriver"
	deviceKind      = "BlockDevice"
	deviceClaimKind = "BlockDeviceClaim"
	deviceGroup     = "openebs.io"
	deviceVersion   = deviceGroup + "/v1alpha1"

	labelReplicaVolume    = "cstorvolume.openebs.io/name"
	annotationReplicaHost = "cstorpoolinstance.openebs.io/hostname"
)

// Roots implements system.System.
func (System) Roots() []health.Kind {
	return []health.Kind{
		{Kind: claimKind, Names: []string{"pvc", "persistentvolumeclaims"}},
		{Kind: volumeKind, Names: []string{"pv", "persistentvolumes"}},
		{Group: cstorGroup, Kind: configKind, Names: []string{"cvc", "cstorvolumeconfigs"}},
		{Group: cstorGroup, Kind: targetKind, Names: []string{"cv", "cstorvolumes"}},
		{Group: cstorGroup, Kind: replicaKind, Names: []string{"cvr", "cstorvolumereplicas"}},
		{Group: cstorGroup, Kind: instanceKind, Names: []string{"cspi", "pool", "cstorpoolinstances"}},
		{Group: cstorGroup, Kind: poolClusterKind, Names: []string{"cspc", "cstorpoolclusters"}},
		{Kind: nodeKind, Names: []string{"no", "nodes"}},
		{Group: deviceGroup, Kind: deviceKind, Names: []string{"bd", "disk", "blockdevices"}},
	}
}

// Tree implements system.System. Downwards it goes from the claim over volume,
// replicas and pools to the disks. From a disk, a pool or a node it goes the other
// way, too: to every volume that would be hit if it failed.
func (System) Tree(facts *inventory.Facts, root krm.ID) []*health.Tree {
	f := newForest(facts)
	o := facts.Object(root)
	switch {
	case root == krm.ID{}:
		return f.everything()
	case o == nil:
		return nil
	}
	return []*health.Tree{f.from(o)}
}

// from is the tree of one object.
func (f *forest) from(o *krm.Object) *health.Tree {
	switch o.Kind {
	case claimKind:
		return f.claim(o)
	case volumeKind:
		t := f.persistentVolume(o)
		if v := f.chainOf(o); v != nil {
			under(t, f.config(v))
		}
		return t
	case configKind:
		return f.config(f.volumes[o.Name])
	case targetKind:
		return f.target(f.volumes[o.Name])
	case replicaKind:
		t := f.replica(o)
		return under(t, f.hit(f.volumeOf(o), nil, ""))
	case instanceKind:
		return f.poolAndVolumes(o, f.replicasOn[key(o)], "without this pool")
	case poolClusterKind:
		return f.cluster(key(o))
	case nodeKind:
		return f.node(f.facts.Node(o.Name))
	}
	return f.deviceAndVolumes(f.facts.Device(o.Namespace, o.Name))
}

// everything is all pool clusters with their pools and volumes, then what belongs
// to none.
func (f *forest) everything() []*health.Tree {
	var trees []*health.Tree
	for _, cluster := range f.clusters {
		trees = append(trees, f.cluster(cluster))
	}
	for _, o := range f.facts.Objects(cstorGroup, instanceKind) {
		if clusterOf(o) == (inventory.Key{}) {
			trees = append(trees, f.pool(o))
		}
	}
	return append(trees, f.volumesOf(inventory.Key{})...)
}

// cluster is a pool cluster with its pools, then its volumes.
func (f *forest) cluster(cluster inventory.Key) *health.Tree {
	ref := finding.Ref{APIVersion: cstorVersion, Kind: poolClusterKind, Namespace: cluster.Namespace, Name: cluster.Name}
	t := &health.Tree{Object: ref}
	o := f.facts.PoolCluster(cluster.Namespace, cluster.Name)
	made := map[string]bool{}
	healthy := 0
	for _, i := range f.facts.PoolInstances(cluster.Namespace, cluster.Name) {
		p := f.pool(i.Object)
		t.Children = append(t.Children, p)
		made[i.Hostname] = true
		if p.Phase == health.OK {
			healthy++
		}
	}
	if o == nil {
		*t = health.Tree{Object: ref, Phase: health.Error, State: health.Missing, Note: "its pools and volumes name it", Children: t.Children}
	} else {
		for _, p := range readPools(o.Node) {
			if made[p.hostname] {
				continue
			}
			missing := &health.Tree{
				Object: finding.Ref{APIVersion: cstorVersion, Kind: instanceKind, Namespace: cluster.Namespace, Name: cluster.Name + "-?"},
				Phase:  health.Progressing, State: health.Missing, Note: "not made yet, for host " + p.hostname,
			}
			for _, name := range p.devices() {
				missing.Children = append(missing.Children, f.device(cluster.Namespace, name))
			}
			t.Children = append(t.Children, missing)
		}
		t.Phase = health.OK
		for _, p := range t.Children {
			if p.Phase.WorseThan(t.Phase) {
				t.Phase = p.Phase
			}
		}
		t.State = fmt.Sprintf("%d of %s healthy", healthy, place.Count(len(t.Children), "pool"))
	}
	t.Children = append(t.Children, f.volumesOf(cluster)...)
	return t
}

// volumesOf lists the volumes of a pool cluster, then the claims that have none.
func (f *forest) volumesOf(cluster inventory.Key) []*health.Tree {
	var trees []*health.Tree
	for _, v := range f.sorted {
		if v.cluster == cluster {
			trees = append(trees, f.volume(v))
		}
	}
	for _, o := range f.waiting {
		if f.classes[o.Node.Str("spec", "storageClassName")] == cluster {
			trees = append(trees, f.claim(o))
		}
	}
	return trees
}

// volume is a volume from its claim, or from as far up as there is anything.
func (f *forest) volume(v *volumeChain) *health.Tree {
	switch pv := v.pv; {
	case v.claim != nil:
		return f.claim(v.claim)
	case pv != nil && pv.Node.Str("spec", "claimRef", "name") != "":
		ref := pv.Node.Get("spec", "claimRef")
		t := health.Absent(finding.Ref{APIVersion: "v1", Kind: claimKind, Namespace: ref.Str("namespace"), Name: ref.Str("name")}, "its volume "+pv.Name+" is "+pv.Node.Str("status", "phase"))
		return under(t, f.config(v))
	case pv != nil:
		return under(f.persistentVolume(pv), f.config(v))
	case v.config != nil || v.target == nil && len(v.replicas) == 0:
		return f.config(v)
	}
	return f.target(v)
}

// claim is a claim and what is below it. A claim on a disk of another driver ends
// with its volume, or goes on with the block device that it became.
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
	pv := f.facts.Object(krm.ID{Kind: volumeKind, Name: name})
	if pv == nil {
		t.Children = append(t.Children, health.Absent(finding.Ref{APIVersion: "v1", Kind: volumeKind, Name: name}, "the claim is bound to it"))
		if v := f.volumes[name]; v != nil {
			under(t.Children[0], f.config(v))
		}
		return t
	}
	// The volume has the name of what follows, and is shown where it is not well.
	below, v := t, f.chainOf(pv)
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
func (f *forest) persistentVolume(o *krm.Object) *health.Tree {
	phase, ref := o.Node.Str("status", "phase"), o.Node.Get("spec", "claimRef")
	t := &health.Tree{Object: o.Ref, State: phase, Phase: health.OK, Note: o.Node.Str("spec", "csi", "driver")}
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
func (f *forest) config(v *volumeChain) *health.Tree {
	ref := finding.Ref{APIVersion: cstorVersion, Kind: configKind, Namespace: v.namespace, Name: v.name}
	if v.config == nil {
		t := health.Absent(ref, "")
		if v.target != nil || len(v.replicas) > 0 {
			under(t, f.target(v))
		}
		return t
	}
	phase := v.config.Node.Str("status", "phase")
	t := &health.Tree{Object: ref, State: dashed(phase), Phase: health.Progressing}
	switch phase {
	case "Bound":
		t.Phase = health.OK
	case "Failed":
		t.Phase = health.Error
	}
	if node := v.config.Node.Str("publish", "nodeId"); node != "" {
		t.Note = "used on node " + node
	}
	if v.target == nil && len(v.replicas) == 0 && phase != "Bound" {
		return t // nothing is below it yet
	}
	return under(t, f.target(v))
}

// target is a CStorVolume with its replicas.
func (f *forest) target(v *volumeChain) *health.Tree {
	ref := finding.Ref{APIVersion: cstorVersion, Kind: targetKind, Namespace: v.namespace, Name: v.name}
	t := health.Absent(ref, "")
	if v.target != nil {
		t = &health.Tree{Object: ref, State: dashed(v.target.Node.Str("status", "phase")), Phase: f.targetPhase(v)}
		t.Note = note(size(v.target.Node.Str("status", "capacity"), v.target.Node.Str("spec", "capacity")), fmt.Sprintf("%d of %s healthy", v.healthy(nil), place.Count(v.factor(), "replica")))
	}
	for _, r := range v.replicas {
		t.Children = append(t.Children, f.replica(r))
	}
	for i := len(v.replicas); i < v.factor(); i++ {
		t.Children = append(t.Children, health.Absent(finding.Ref{APIVersion: cstorVersion, Kind: replicaKind, Namespace: v.namespace, Name: v.name + "-?"}, ""))
	}
	return t
}

// targetPhase judges a CStorVolume. A degraded one comes right by itself while a
// replica is being rebuilt.
func (f *forest) targetPhase(v *volumeChain) health.Phase {
	switch v.target.Node.Str("status", "phase") {
	case "Healthy":
		return health.OK
	case "", "Init", "Pending":
		return health.Progressing
	case "Degraded":
		for _, r := range v.replicas {
			if replicaPhase(r) == health.Progressing {
				return health.Progressing
			}
		}
	}
	return health.Error
}

// replicaPhase judges a CStorVolumeReplica.
func replicaPhase(o *krm.Object) health.Phase {
	switch o.Node.Str("status", "phase") {
	case "Healthy":
		return health.OK
	case "", "Init", "Recreate", "Rebuilding", "ReconstructingNewReplica", "NewReplicaDegraded":
		return health.Progressing
	}
	return health.Error
}

// replica is a replica with its pool and disks.
func (f *forest) replica(o *krm.Object) *health.Tree {
	t := f.replicaAlone(o)
	instance := inventory.Key{Namespace: o.Namespace, Name: o.Label(inventory.LabelPoolInstance)}
	if i := f.instances[instance]; i != nil {
		return under(t, f.pool(i))
	}
	why := "the replica names it"
	if host := o.Annotation(annotationReplicaHost); host != "" {
		why += ", on host " + host
	}
	return under(t, health.Absent(finding.Ref{APIVersion: cstorVersion, Kind: instanceKind, Namespace: instance.Namespace, Name: instance.Name}, why))
}

func (f *forest) replicaAlone(o *krm.Object) *health.Tree {
	return &health.Tree{Object: o.Ref, State: dashed(o.Node.Str("status", "phase")), Phase: replicaPhase(o)}
}

// pool is a pool with its disks.
func (f *forest) pool(o *krm.Object) *health.Tree {
	t := f.poolAlone(o)
	for _, name := range f.disksOf(o) {
		t.Children = append(t.Children, f.device(o.Namespace, name))
	}
	return t
}

func (f *forest) poolAlone(o *krm.Object) *health.Tree {
	p := poolProblem(o)
	t := &health.Tree{Object: o.Ref, State: dashed(o.Node.Str("status", "phase")), Phase: p.Phase}
	where := hostOf(o)
	if nodes := f.facts.Host(where); len(nodes) == 1 {
		where = nodes[0].Name
	}
	t.Note = note("on node "+where, o.Node.Str("spec", "poolConfig", "dataRaidGroupType"), size(o.Node.Str("status", "capacity", "total")))
	t.Note = note(t.Note, strings.TrimSuffix(p.What+": "+p.Note, ": "))
	return t
}

// device is a disk.
func (f *forest) device(namespace, name string) *health.Tree {
	ref := finding.Ref{APIVersion: deviceVersion, Kind: deviceKind, Namespace: namespace, Name: name}
	d := f.facts.Device(namespace, name)
	if d == nil {
		return health.Absent(ref, "the pool names it")
	}
	t := &health.Tree{Object: ref, State: dashed(note(d.State, d.ClaimState)), Phase: health.Progressing}
	switch {
	case d.State == "Inactive":
		t.Phase = health.Error
	case d.Fault != "":
		t.Phase = health.Error
	case d.State == "Active":
		t.Phase = health.OK
	}
	t.Note = note(d.Path, place.Size(d.Capacity), d.DriveType, "on node "+d.NodeName, d.Fault)
	if d.NodeName == "" {
		t.Note = note(d.Path, place.Size(d.Capacity), d.DriveType, "on host "+d.Hostname, d.Fault)
	}
	return t
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

func dashed(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// size is the first amount that is given, as it is written; a number of bytes is
// made readable.
func size(amounts ...string) string {
	for _, a := range amounts {
		if n, err := strconv.ParseInt(a, 10, 64); err == nil {
			return place.Size(n)
		}
		if a != "" {
			return a
		}
	}
	return ""
}
