package cstor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

const labelReplicaVolume = "cstorvolume.openebs.io/name"

// Tree implements system.Mapper. Downwards it goes from the claim over volume,
// replicas and pools to the disks. From a disk, a pool or a node it goes the other
// way, too: to every volume that would be hit if it failed.
func (System) Tree(facts *inventory.Facts, root krm.ID) []*health.Tree {
	f := newForest(facts)
	o := facts.Object(root)
	switch {
	case root == krm.ID{}:
		return f.everything()
	case o == nil && root == krm.ID{Kind: nodeKind, Name: root.Name}:
		if t := f.missingNode(root.Name); t != nil {
			return []*health.Tree{t}
		}
		return nil
	case o == nil:
		return nil
	}
	return []*health.Tree{f.from(o)}
}

// from is the tree of one object.
func (f *forest) from(o *krm.Object) *health.Tree {
	switch o.Kind {
	case volumeClaimKind:
		return f.claim(o)
	case persistentVolumeKind:
		t := f.persistentVolume(o)
		if v := f.chainOf(o); v != nil {
			under(t, f.config(v))
		}
		return t
	case cstorVolumeConfigKind:
		return f.config(f.volumes[o.Name])
	case cstorVolumeKind:
		return f.target(f.volumes[o.Name])
	case cstorVolumeReplicaKind:
		t := f.replica(o)
		return under(t, f.hit(f.volumeOf(o), nil, ""))
	case poolInstanceKind:
		return f.poolAndVolumes(o, f.replicasOn[key(o)], "without this pool")
	case poolClusterKind:
		return f.cluster(key(o))
	case nodeKind:
		return f.node(f.facts.Node(o.Name))
	}
	return f.deviceAndVolumes(f.facts.Device(o.Namespace, o.Name))
}

// everything is all pool clusters with their pools and volumes, then what belongs
// to none, and the disks of a cloud that are in no pool yet.
func (f *forest) everything() []*health.Tree {
	var trees []*health.Tree
	for _, cluster := range f.clusters {
		trees = append(trees, f.cluster(cluster))
	}
	for _, o := range f.facts.Objects(cstorGroup, poolInstanceKind) {
		if clusterOf(o) == (inventory.Key{}) {
			trees = append(trees, f.pool(o))
		}
	}
	trees = append(trees, f.volumesOf(inventory.Key{})...)
	for _, o := range f.facts.Objects("", volumeClaimKind) {
		if strings.HasPrefix(o.Owner(), daoGroup+"/") && !f.isPooled(o) {
			trees = append(trees, f.claim(o))
		}
	}
	return trees
}

// isPooled reports whether the disk of a claim is in a pool.
func (f *forest) isPooled(claim *krm.Object) bool {
	pv := f.facts.Object(krm.ID{Kind: persistentVolumeKind, Name: claim.Node.Str("spec", "volumeName")})
	return pv != nil && slices.ContainsFunc(f.devicesOf(pv), func(d *inventory.BlockDevice) bool {
		return len(f.holders[keyOf(d)]) > 0 || len(f.plans[keyOf(d)]) > 0
	})
}

// cluster is a pool cluster with its pools, then its volumes.
func (f *forest) cluster(cluster inventory.Key) *health.Tree {
	ref := finding.Ref{APIVersion: cstorVersion, Kind: poolClusterKind, Namespace: cluster.Namespace, Name: cluster.Name}
	t := &health.Tree{Object: ref}
	o := f.facts.PoolCluster(cluster.Namespace, cluster.Name)
	healthy := 0
	for _, i := range f.facts.PoolInstances(cluster.Namespace, cluster.Name) {
		p := f.pool(i.Object)
		t.Children = append(t.Children, p)
		if p.Phase == health.OK {
			healthy++
		}
	}
	if o == nil {
		*t = health.Tree{Object: ref, Phase: health.Error, State: health.Missing, Note: "its pools and volumes name it", Children: t.Children}
	} else {
		for _, p := range f.planned {
			if p.cluster == o && !p.made {
				under(t, f.missingPool(p))
			}
		}
		t.Phase = health.OK
		if o.Deleting() {
			t.Phase, t.Note = health.Error, "being deleted"
		}
		for _, p := range t.Children {
			if p.Phase.WorseThan(t.Phase) {
				t.Phase = p.Phase
			}
		}
		t.State = fmt.Sprintf("%d of %s healthy", healthy, finding.Count(len(t.Children), "pool"))
	}
	t.Children = append(t.Children, f.volumesOf(cluster)...)
	return t
}

// missingPool is a pool that a pool cluster asks for and that is not there, with its
// disks.
func (f *forest) missingPool(p plannedPool) *health.Tree {
	o := p.cluster
	name, gone := vanished(f.facts, o, p.hostname)
	t := &health.Tree{
		Object: finding.Ref{APIVersion: cstorVersion, Kind: poolInstanceKind, Namespace: o.Namespace, Name: cmp.Or(name, o.Name+health.Unnamed)},
		Phase:  health.Progressing, State: health.Missing, Note: "not made yet, for host " + p.hostname,
	}
	if gone {
		t.Phase, t.Note = health.Error, "it was made before, on host "+p.hostname
	}
	for _, name := range p.devices() {
		under(t, f.device(o.Namespace, name))
	}
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
		t := health.Absent(finding.Ref{APIVersion: "v1", Kind: volumeClaimKind, Namespace: ref.Str("namespace"), Name: ref.Str("name")}, "its volume "+pv.Name+" is "+pv.Node.Str("status", "phase"))
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
	pv := f.facts.Object(krm.ID{Kind: persistentVolumeKind, Name: name})
	if pv == nil {
		t.Children = append(t.Children, health.Absent(finding.Ref{APIVersion: "v1", Kind: persistentVolumeKind, Name: name}, "the claim is bound to it"))
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
	ref := finding.Ref{APIVersion: cstorVersion, Kind: cstorVolumeConfigKind, Namespace: v.namespace, Name: v.name}
	if v.config == nil {
		t := health.Absent(ref, "")
		if v.target != nil || len(v.replicas) > 0 {
			under(t, f.target(v))
		}
		return t
	}
	phase := v.config.Node.Str("status", "phase")
	t := &health.Tree{Object: ref, State: phase, Phase: health.Progressing}
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
	ref := finding.Ref{APIVersion: cstorVersion, Kind: cstorVolumeKind, Namespace: v.namespace, Name: v.name}
	t := health.Absent(ref, "")
	if v.target != nil {
		t = &health.Tree{Object: ref, State: v.target.Node.Str("status", "phase"), Phase: f.targetPhase(v)}
		t.Note = note(size(v.target.Node.Str("status", "capacity"), v.target.Node.Str("spec", "capacity")), fmt.Sprintf("%d of %s healthy", v.healthy(nil), finding.Count(v.factor(), "replica")))
	}
	for _, r := range v.replicas {
		t.Children = append(t.Children, f.replica(r))
	}
	for i := len(v.replicas); i < v.factor(); i++ {
		t.Children = append(t.Children, health.Absent(finding.Ref{APIVersion: cstorVersion, Kind: cstorVolumeReplicaKind, Namespace: v.namespace, Name: v.name + health.Unnamed}, ""))
	}
	return t
}

// targetPhase judges a CStorVolume. One that is degraded, or that has lost replicas
// and has not noticed, comes right by itself while a replica is being rebuilt.
func (f *forest) targetPhase(v *volumeChain) health.Phase {
	switch phase := v.target.Node.Str("status", "phase"); phase {
	case "", "Init", "Pending":
		return health.Progressing
	case "Healthy", "Degraded":
		if phase == "Healthy" && v.healthy(nil) >= v.factor() {
			return health.OK
		}
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
	if host := o.Annotation(inventory.AnnotationReplicaHost); host != "" {
		why += ", on host " + host
	}
	return under(t, health.Absent(finding.Ref{APIVersion: cstorVersion, Kind: poolInstanceKind, Namespace: instance.Namespace, Name: instance.Name}, why))
}

func (f *forest) replicaAlone(o *krm.Object) *health.Tree {
	return &health.Tree{Object: o.Ref, State: o.Node.Str("status", "phase"), Phase: replicaPhase(o)}
}

// pool is a pool with its disks.
func (f *forest) pool(o *krm.Object) *health.Tree {
	t := f.poolAlone(o)
	for _, name := range disksOf(o) {
		t.Children = append(t.Children, f.device(o.Namespace, name))
	}
	return t
}

func (f *forest) poolAlone(o *krm.Object) *health.Tree {
	p := poolProblem(o)
	t := &health.Tree{Object: o.Ref, State: o.Node.Str("status", "phase"), Phase: p.Phase}
	where, down := f.host(inventory.PoolHost(o))
	if down != "" {
		t.Phase = health.Error // whatever the pool manager said last
	}
	t.Note = note(where, o.Node.Str("spec", "poolConfig", "dataRaidGroupType"), strings.TrimSuffix(p.What+": "+p.Note, ": "), down)
	return t
}

// host says where something is that is on a host, and what is amiss there if the
// facts tell of nodes.
func (f *forest) host(hostname string) (where, down string) {
	nodes := f.facts.Host(hostname)
	switch {
	case len(nodes) == 0 && len(f.facts.Nodes) > 0:
		down = "its node is missing"
	case len(nodes) != 1:
	case isDown(nodes[0]):
		down = "its node is not ready"
		fallthrough
	default:
		return "on node " + nodes[0].Name, down
	}
	return "on host " + hostname, down
}

// isDown reports that a node is said not to be ready. A snapshot need not tell.
func isDown(n *inventory.Node) bool {
	status := condition(n.Object, "Ready").Str("status")
	return status != "" && status != "True"
}

// device is a disk.
func (f *forest) device(namespace, name string) *health.Tree {
	ref := finding.Ref{APIVersion: deviceVersion, Kind: blockDeviceKind, Namespace: namespace, Name: name}
	d := f.facts.Device(namespace, name)
	if d == nil {
		return health.Absent(ref, "the pool names it")
	}
	t := &health.Tree{Object: ref, State: note(d.State, d.ClaimState), Phase: health.Progressing}
	switch {
	case d.State == "Inactive":
		t.Phase = health.Error
	case d.Fault != "":
		t.Phase = health.Error
	case d.State == "Active":
		t.Phase = health.OK
	}
	t.Note = note(d.Path, quantity.Size(d.Capacity), d.DriveType, "on node "+d.NodeName, d.Fault)
	if d.NodeName == "" {
		t.Note = note(d.Path, quantity.Size(d.Capacity), d.DriveType, "on host "+d.Hostname, d.Fault)
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
