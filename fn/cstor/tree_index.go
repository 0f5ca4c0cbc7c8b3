package cstor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// forest is the objects around the volumes, indexed by what hangs on what.
type forest struct {
	facts      *inventory.Facts
	clusters   []inventory.Key                 // those that are there, or that pools or volumes name
	instances  map[inventory.Key]*krm.Object   // by namespace and name
	replicasOn map[inventory.Key][]*krm.Object // by pool
	volumes    map[string]*volumeChain         // by the handle, which is the name of all its parts
	sorted     []*volumeChain                  // by namespace and name of the claim
	holders    map[inventory.Key][]*krm.Object // pools by block device
	planned    []plannedPool                   // by pool clusters
	plans      map[inventory.Key][]plannedPool // by block device
	classes    map[string]inventory.Key        // pool clusters by the storage classes of cStor
	waiting    []*krm.Object                   // claims of these classes without a volume
}

// plannedPool is a pool as a pool cluster names it.
type plannedPool struct {
	cluster *krm.Object
	*pool
	made bool
}

// volumeChain is a volume from its claim to its replicas, as far as there is
// anything.
type volumeChain struct {
	namespace, name string // of the cStor objects
	cluster         inventory.Key
	claim, pv       *krm.Object
	config, target  *krm.Object
	replicas        []*krm.Object
}

func newForest(facts *inventory.Facts) *forest {
	f := &forest{
		facts:      facts,
		instances:  map[inventory.Key]*krm.Object{},
		replicasOn: map[inventory.Key][]*krm.Object{},
		volumes:    map[string]*volumeChain{},
		classes:    map[string]inventory.Key{},
		holders:    map[inventory.Key][]*krm.Object{},
		plans:      map[inventory.Key][]plannedPool{},
	}
	clusters := map[inventory.Key]bool{}
	for _, o := range facts.PoolClusters() {
		clusters[key(o)] = true
	}
	for _, o := range facts.Objects(cstorGroup, poolInstanceKind) {
		f.instances[key(o)] = o
		if cluster := clusterOf(o); cluster != (inventory.Key{}) {
			clusters[cluster] = true
		}
		for _, name := range disksOf(o) {
			disk := inventory.Key{Namespace: o.Namespace, Name: name}
			f.holders[disk] = append(f.holders[disk], o)
		}
	}
	f.addPlanned()
	f.addClasses(clusters)
	f.addVolumes()
	for _, v := range f.volumes {
		if v.cluster != (inventory.Key{}) {
			clusters[v.cluster] = true
		}
	}
	compare := func(a, b inventory.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}
	f.clusters = slices.SortedFunc(maps.Keys(clusters), compare)
	f.sorted = slices.SortedFunc(maps.Values(f.volumes), func(a, b *volumeChain) int {
		return cmp.Or(compare(a.user(), b.user()), cmp.Compare(a.name, b.name))
	})
	return f
}

// addPlanned finds the pools that pool clusters name.
func (f *forest) addPlanned() {
	for _, o := range f.facts.PoolClusters() {
		made := map[string]bool{}
		for _, i := range f.facts.PoolInstances(o.Namespace, o.Name) {
			made[i.Hostname] = true
		}
		for _, p := range readPools(o.Node) {
			planned := plannedPool{o, p, made[p.hostname]}
			f.planned = append(f.planned, planned)
			for _, name := range p.devices() {
				disk := inventory.Key{Namespace: o.Namespace, Name: name}
				f.plans[disk] = append(f.plans[disk], planned)
			}
		}
	}
}

// addClasses finds the pool clusters of the storage classes. A class names only
// the cluster; its namespace is known where there is just one of that name.
func (f *forest) addClasses(clusters map[inventory.Key]bool) {
	for _, o := range f.facts.Objects(storageGroup, storageClassKind) {
		if o.Node.Str("provisioner") != cstorDriver {
			continue
		}
		var named []inventory.Key
		for cluster := range clusters {
			if cluster.Name == o.Node.Str("parameters", "cstorPoolCluster") {
				named = append(named, cluster)
			}
		}
		f.classes[o.Name] = inventory.Key{}
		if len(named) == 1 {
			f.classes[o.Name] = named[0]
		}
	}
	for _, o := range f.facts.Objects("", volumeClaimKind) {
		volume := krm.ID{Kind: persistentVolumeKind, Name: o.Node.Str("spec", "volumeName")}
		if _, ours := f.classes[o.Node.Str("spec", "storageClassName")]; ours && f.facts.Object(volume) == nil {
			f.waiting = append(f.waiting, o)
		}
	}
}

// addVolumes puts the parts of each volume together. All are named after the
// handle of the volume.
func (f *forest) addVolumes() {
	of := func(namespace, name string) *volumeChain {
		v := f.volumes[name]
		if v == nil {
			v = &volumeChain{namespace: namespace, name: name}
			f.volumes[name] = v
		}
		v.namespace = cmp.Or(v.namespace, namespace)
		return v
	}
	for _, o := range f.facts.Objects(cstorGroup, cstorVolumeConfigKind) {
		v := of(o.Namespace, o.Name)
		v.config, v.cluster = o, clusterOf(o)
	}
	for _, o := range f.facts.Objects(cstorGroup, cstorVolumeKind) {
		of(o.Namespace, o.Name).target = o
	}
	for _, o := range f.facts.Objects(cstorGroup, cstorVolumeReplicaKind) {
		v := of(o.Namespace, o.Label(labelReplicaVolume))
		v.replicas = append(v.replicas, o)
		instance := inventory.Key{Namespace: o.Namespace, Name: o.Label(inventory.LabelPoolInstance)}
		f.replicasOn[instance] = append(f.replicasOn[instance], o)
		if pool := f.instances[instance]; pool != nil && v.cluster == (inventory.Key{}) {
			v.cluster = clusterOf(pool)
		}
	}
	for _, o := range f.facts.Objects("", persistentVolumeKind) {
		if o.Node.Str("spec", "csi", "driver") != cstorDriver {
			continue
		}
		v := of("", o.Node.Str("spec", "csi", "volumeHandle"))
		ref := o.Node.Get("spec", "claimRef")
		v.pv = o
		v.claim = f.facts.Object(krm.ID{Kind: volumeClaimKind, Namespace: ref.Str("namespace"), Name: ref.Str("name")})
		if v.cluster == (inventory.Key{}) {
			v.cluster = f.classes[cmp.Or(o.Node.Str("spec", "storageClassName"), field(v.claim, "spec", "storageClassName").Str())]
		}
	}
}

// user names the claim of a volume, for sorting.
func (v *volumeChain) user() inventory.Key {
	switch {
	case v.claim != nil:
		return key(v.claim)
	case v.pv != nil:
		ref := v.pv.Node.Get("spec", "claimRef")
		return inventory.Key{Namespace: ref.Str("namespace"), Name: ref.Str("name")}
	}
	return inventory.Key{Namespace: v.namespace, Name: v.name}
}

// factor is how many replicas a volume is to have.
func (v *volumeChain) factor() int {
	if n, ok := field(v.target, "spec", "desiredReplicationFactor").Int(); ok && n > 0 {
		return int(n)
	}
	if n, ok := field(v.target, "spec", "replicationFactor").Int(); ok && n > 0 {
		return int(n)
	}
	return len(v.replicas)
}

// healthy counts the healthy replicas outside of some pools.
func (v *volumeChain) healthy(without []string) int {
	n := 0
	for _, r := range v.replicas {
		if replicaPhase(r) == health.OK && !slices.Contains(without, r.Label(inventory.LabelPoolInstance)) {
			n++
		}
	}
	return n
}

// quorum is how many healthy replicas a volume needs to go on: more than half,
// unless it says otherwise.
func (v *volumeChain) quorum() int {
	if n, ok := field(v.target, "spec", "consistencyFactor").Int(); ok && n > 0 {
		return int(n)
	}
	return v.factor()/2 + 1
}

// chainOf is the volume that a PersistentVolume is, nil if it is not of cStor.
func (f *forest) chainOf(pv *krm.Object) *volumeChain {
	if pv.Node.Str("spec", "csi", "driver") != cstorDriver {
		return nil
	}
	return f.volumes[pv.Node.Str("spec", "csi", "volumeHandle")]
}

func (f *forest) volumeOf(replica *krm.Object) *volumeChain {
	return f.volumes[replica.Label(labelReplicaVolume)]
}

// poolAndVolumes is a pool with its disks, and the volumes that it serves. lost
// are the replicas that would be gone if what the tree starts at failed.
func (f *forest) poolAndVolumes(o *krm.Object, lost []*krm.Object, ifWhat string) *health.Tree {
	return f.addHit(f.pool(o), o, lost, ifWhat)
}

// addHit hangs the replicas on a pool, each with the volume that it is of.
func (f *forest) addHit(t *health.Tree, pool *krm.Object, lost []*krm.Object, ifWhat string) *health.Tree {
	for _, r := range f.replicasOn[key(pool)] {
		under(t, under(f.replicaAlone(r), f.hit(f.volumeOf(r), lost, ifWhat)))
	}
	return t
}

// hit is a volume upwards, with what the loss of some replicas means to it.
func (f *forest) hit(v *volumeChain, lost []*krm.Object, ifWhat string) *health.Tree {
	ref := finding.Ref{APIVersion: cstorVersion, Kind: cstorVolumeKind, Namespace: v.namespace, Name: v.name}
	t := health.Absent(ref, "")
	if v.target != nil {
		t = &health.Tree{Object: ref, State: v.target.Node.Str("status", "phase"), Phase: f.targetPhase(v)}
	}
	if ifWhat != "" {
		var pools []string
		for _, r := range lost {
			pools = append(pools, r.Label(inventory.LabelPoolInstance))
		}
		left, fate := v.healthy(pools), "goes on"
		if left < v.quorum() {
			fate = "stops"
		}
		t.Note = note(t.Note, fmt.Sprintf("%s: %d of %s left, it %s", ifWhat, left, finding.Count(v.factor(), "replica"), fate))
	}
	user := v.user()
	switch {
	case v.claim != nil:
		claim := f.claim(v.claim)
		claim.Children = nil
		return under(t, claim)
	case v.pv != nil && user.Name != "":
		return under(t, health.Absent(finding.Ref{APIVersion: "v1", Kind: volumeClaimKind, Namespace: user.Namespace, Name: user.Name}, "its volume "+v.pv.Name+" is "+v.pv.Node.Str("status", "phase")))
	}
	return t
}

// deviceAndVolumes is a disk, its pool, and the volumes that the pool serves.
func (f *forest) deviceAndVolumes(d *inventory.BlockDevice) *health.Tree {
	t := f.device(d.Namespace, d.Name)
	for _, pool := range f.holders[keyOf(d)] {
		p := f.poolAlone(pool)
		lost := f.replicasOn[key(pool)]
		spec := readPool(pool.Node.Get("spec"))
		switch phase := strings.ToUpper(pool.Node.Str("status", "phase")); {
		case !survives(f.facts, pool.Namespace, spec, d.Name):
			p.Note = note(p.Note, "without this disk: it stops")
			under(t, f.addHit(p, pool, lost, "without this disk"))
		case rebuilds(pool), phase != "ONLINE" && !(phase == "DEGRADED" && explained(f.facts, pool.Namespace, spec, d.Name)):
			// It may need this disk for another, and the block devices need not show
			// which.
			p.Note = note(p.Note, "without this disk: it may stop")
			under(t, f.addHit(p, pool, lost, "without this pool"))
		default:
			p.Note = note(p.Note, "without this disk: it goes on")
			under(t, f.addHit(p, pool, nil, ""))
		}
	}
	if len(t.Children) > 0 {
		return t
	}
	for _, p := range f.plans[keyOf(d)] {
		if p.made {
			under(t, &health.Tree{Object: p.cluster.Ref, Phase: health.Progressing, Note: "names it, and the pool on host " + p.hostname + " does not use it yet"})
			continue
		}
		missing := f.missingPool(p)
		missing.Children = nil
		under(t, missing)
	}
	if len(t.Children) == 0 {
		t.Note = note(t.Note, "in no pool")
	}
	return t
}

// node is a node with its pools and what they serve, then its other disks.
func (f *forest) node(n *inventory.Node) *health.Tree {
	t := &health.Tree{Object: n.Object.Ref}
	switch ready := condition(n.Object, "Ready"); {
	case isDown(n):
		t.Phase, t.State, t.Note = health.Error, "NotReady", ready.Str("reason")
	case ready != nil:
		t.Phase, t.State = health.OK, "Ready"
	}
	if n.Unschedulable {
		t.Note = note(t.Note, "cordoned")
	}
	return f.onHost(t, n.Hostname)
}

// missingNode is a node that is gone, nil if nothing was on it.
func (f *forest) missingNode(name string) *health.Tree {
	hostname := name // unless its disks know better
	for _, d := range f.facts.Devices {
		if d.NodeName == name {
			hostname = d.Hostname
		}
	}
	if len(f.facts.Host(hostname)) > 0 {
		return nil // it has another name now
	}
	t := f.onHost(health.Absent(finding.Ref{APIVersion: "v1", Kind: nodeKind, Name: name}, "its pools or disks name it"), hostname)
	if len(t.Children) == 0 {
		return nil
	}
	return t
}

// onHost hangs on a node what is on its host: pools, those that are not there, too,
// and the disks that are in none of them.
func (f *forest) onHost(t *health.Tree, hostname string) *health.Tree {
	if hostname == "" {
		return t
	}
	var pools, lost []*krm.Object
	for _, o := range f.facts.Objects(cstorGroup, poolInstanceKind) {
		if inventory.PoolHost(o) == hostname {
			pools = append(pools, o)
			lost = append(lost, f.replicasOn[key(o)]...)
		}
	}
	pooled := map[inventory.Key]bool{}
	for _, o := range pools {
		under(t, f.poolAndVolumes(o, lost, "without this node"))
		for _, name := range disksOf(o) {
			pooled[inventory.Key{Namespace: o.Namespace, Name: name}] = true
		}
	}
	for _, p := range f.planned {
		if p.made || p.hostname != hostname {
			continue
		}
		under(t, f.missingPool(p))
		for _, name := range p.devices() {
			pooled[inventory.Key{Namespace: p.cluster.Namespace, Name: name}] = true
		}
	}
	for _, d := range f.facts.DevicesOn(hostname) {
		if !pooled[keyOf(d)] {
			under(t, f.deviceAndVolumes(d))
		}
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

func key(o *krm.Object) inventory.Key { return inventory.Key{Namespace: o.Namespace, Name: o.Name} }

func keyOf(d *inventory.BlockDevice) inventory.Key {
	return inventory.Key{Namespace: d.Namespace, Name: d.Name}
}

// clusterOf is the pool cluster that the label of a pool or a volume names.
func clusterOf(o *krm.Object) inventory.Key {
	if name := o.Label(inventory.LabelPoolCluster); name != "" {
		return inventory.Key{Namespace: o.Namespace, Name: name}
	}
	return inventory.Key{}
}
