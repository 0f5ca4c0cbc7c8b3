package cstor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// forest is what hangs on what, around the pools and the volumes.
type forest struct {
	facts    *inventory.Facts
	pools    *pool.Live
	volumes  *volume.Index
	clusters []inventory.Key                    // those that are there, or that pools or volumes name
	users    map[inventory.Key][]*pool.Instance // of a block device
	planned  []plannedPool                      // by pool clusters
	plans    map[inventory.Key][]plannedPool    // by block device
}

// plannedPool is a pool as a pool cluster names it.
type plannedPool struct {
	cluster *pool.Cluster
	*pool.Pool
	made bool
}

func newForest(facts *inventory.Facts) *forest {
	f := &forest{
		facts: facts, pools: pool.LiveOf(facts),
		users: map[inventory.Key][]*pool.Instance{}, plans: map[inventory.Key][]plannedPool{},
	}
	clusters := map[inventory.Key]bool{}
	for _, cluster := range f.pools.Named() {
		clusters[cluster] = true
	}
	state := admission.NewState(facts, f.pools)
	for _, c := range f.pools.Clusters {
		f.addPlanned(state.Resolve(c))
	}
	for _, i := range f.pools.All() {
		for _, name := range i.Pool.Disks() {
			disk := inventory.Key{Namespace: i.Object.Namespace, Name: name}
			f.users[disk] = append(f.users[disk], i)
		}
	}
	f.volumes = volume.IndexOf(facts)
	for _, v := range f.volumes.Sorted {
		if v.Cluster != (inventory.Key{}) {
			clusters[v.Cluster] = true
		}
	}
	f.clusters = slices.SortedFunc(maps.Keys(clusters), inventory.Key.Compare)
	return f
}

// addPlanned finds the pools that a pool cluster names.
func (f *forest) addPlanned(c *pool.Cluster) {
	made := map[string]bool{}
	for _, i := range f.pools.Instances(c.Namespace, c.Name) {
		made[i.RunsOn] = true
	}
	for _, p := range c.Pools {
		planned := plannedPool{c, p, made[p.Hostname]}
		f.planned = append(f.planned, planned)
		for _, name := range p.Disks() {
			disk := inventory.Key{Namespace: c.Namespace, Name: name}
			f.plans[disk] = append(f.plans[disk], planned)
		}
	}
}

// Tree implements system.Mapper. Downwards it goes from the class over claim, volume,
// replicas and pools to the disks. From a disk, a pool or a node it goes the other
// way, too: to every volume that would be hit if it failed.
func (System) Tree(facts *inventory.Facts, _ *disk.Ledger, root krm.ID) []*health.Tree {
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
	case o == nil, o.Kind == storageClassKind && o.Node.Str("provisioner") != cstorDriver:
		return nil
	}
	return []*health.Tree{f.from(o)}
}

// from is the tree of one object.
func (f *forest) from(o *krm.Object) *health.Tree {
	switch o.Kind {
	case storageClassKind:
		return f.class(o)
	case volumeClaimKind:
		return f.claim(o)
	case persistentVolumeKind:
		t := f.persistentVolume(o)
		if v := f.volumes.Of(o); v != nil {
			under(t, f.config(v))
		}
		return t
	case cstorVolumeConfigKind:
		return f.config(f.volumes.Handle(o.Name))
	case cstorVolumeKind:
		return f.target(f.volumes.Handle(o.Name))
	case cstorVolumeReplicaKind:
		t := f.replica(o)
		return under(t, f.hit(f.volumes.OfReplica(o), nil, ""))
	case poolInstanceKind:
		return f.poolAndVolumes(f.pools.Instance(key(o)), f.volumes.ReplicasOn(key(o)), "without this pool")
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
	for _, i := range f.pools.All() {
		if i.Cluster() == (inventory.Key{}) {
			trees = append(trees, f.pool(i))
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
		return len(f.users[keyOf(d)]) > 0 || len(f.plans[keyOf(d)]) > 0
	})
}

// cluster is a pool cluster with its pools, then its volumes.
func (f *forest) cluster(cluster inventory.Key) *health.Tree {
	ref := finding.Ref{APIVersion: cstorVersion, Kind: poolClusterKind, Namespace: cluster.Namespace, Name: cluster.Name}
	t := &health.Tree{Object: ref}
	c := f.pools.Cluster(cluster.Namespace, cluster.Name)
	healthy := 0
	for _, i := range f.pools.Instances(cluster.Namespace, cluster.Name) {
		p := f.pool(i)
		t.Children = append(t.Children, p)
		if p.Phase == health.OK {
			healthy++
		}
	}
	if c == nil {
		*t = health.Tree{Object: ref, Phase: health.Error, State: health.Missing, Note: "its pools and volumes name it", Children: t.Children}
	} else {
		for _, p := range f.planned {
			if p.cluster == c && !p.made {
				under(t, f.missingPool(p))
			}
		}
		t.Phase = health.OK
		if c.Object.Deleting() {
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
