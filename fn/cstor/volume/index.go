package volume

import (
	"cmp"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// Index is the volumes of cStor among the facts.
type Index struct {
	Sorted  []*Chain      // by namespace and name of the claim
	Waiting []*krm.Object // claims of cStor's classes without a volume
	Strays  []*krm.Object // CStorVolumeAttachments of volumes that are gone

	pools    *pool.Live
	byHandle map[string]*Chain
	on       map[inventory.Key][]*krm.Object // replicas by pool instance
	classes  map[string]inventory.Key        // pool clusters by storage class
}

type indexKey struct{}

// IndexOf is the volumes of cStor among some facts, put together once. Nobody changes it.
func IndexOf(facts *inventory.Facts) *Index { return inventory.Once(facts, indexKey{}, newIndex) }

// newIndex puts the parts of each volume together.
func newIndex(facts *inventory.Facts) *Index {
	x := &Index{
		pools:    pool.LiveOf(facts),
		byHandle: map[string]*Chain{},
		on:       map[inventory.Key][]*krm.Object{},
		classes:  map[string]inventory.Key{},
	}
	x.addClasses(facts)
	x.addConfigs(facts)
	x.addReplicas(facts)
	x.addVolumes(facts)
	x.addAttachments(facts)
	x.Sorted = slices.SortedFunc(maps.Values(x.byHandle), func(a, b *Chain) int {
		return cmp.Or(a.User().Compare(b.User()), cmp.Compare(a.Name, b.Name))
	})
	return x
}

// Handle returns the volume with this handle, or nil.
func (x *Index) Handle(name string) *Chain { return x.byHandle[name] }

// Of returns the volume that a PersistentVolume is, nil if it is not of cStor.
func (x *Index) Of(volume *krm.Object) *Chain {
	if volume.Node.Str("spec", "csi", "driver") != Driver {
		return nil
	}
	return x.byHandle[volume.Node.Str("spec", "csi", "volumeHandle")]
}

// OfReplica returns the volume that a replica is of.
func (x *Index) OfReplica(replica *krm.Object) *Chain { return x.byHandle[Of(replica)] }

// ReplicasOn lists the replicas on a pool instance.
func (x *Index) ReplicasOn(instance inventory.Key) []*krm.Object { return x.on[instance] }

// ClusterOfClass is the pool cluster that a storage class names, if that is one.
func (x *Index) ClusterOfClass(class string) inventory.Key { return x.classes[class] }

// addClasses finds the pool clusters of the storage classes. A class names only the
// cluster; its namespace is known where there is just one of that name.
func (x *Index) addClasses(facts *inventory.Facts) {
	for _, o := range facts.Objects("storage.k8s.io", "StorageClass") {
		if o.Node.Str("provisioner") != Driver {
			continue
		}
		var named []inventory.Key
		for _, cluster := range x.pools.Named() {
			if cluster.Name == o.Node.Str("parameters", "cstorPoolCluster") {
				named = append(named, cluster)
			}
		}
		x.classes[o.Name] = inventory.Key{}
		if len(named) == 1 {
			x.classes[o.Name] = named[0]
		}
	}
	for _, o := range facts.Objects("", "PersistentVolumeClaim") {
		volume := krm.ID{Kind: "PersistentVolume", Name: o.Node.Str("spec", "volumeName")}
		if _, ours := x.classes[o.Node.Str("spec", "storageClassName")]; ours && facts.Object(volume) == nil {
			x.Waiting = append(x.Waiting, o)
		}
	}
}

// chain returns the volume with a handle, made if it is not there.
func (x *Index) chain(namespace, handle string) *Chain {
	c := x.byHandle[handle]
	if c == nil {
		c = &Chain{Name: handle, pools: x.pools}
		x.byHandle[handle] = c
	}
	c.Namespace = cmp.Or(c.Namespace, namespace)
	return c
}

func (x *Index) addConfigs(facts *inventory.Facts) {
	for _, o := range facts.Objects(pool.APIGroup, ConfigKind) {
		c := x.chain(o.Namespace, o.Name)
		c.Config = o
		if name := o.Label(inventory.LabelPoolCluster); name != "" {
			c.Cluster = inventory.Key{Namespace: o.Namespace, Name: name}
		}
	}
	for _, o := range facts.Objects(pool.APIGroup, TargetKind) {
		x.chain(o.Namespace, o.Name).Target = o
	}
}

func (x *Index) addReplicas(facts *inventory.Facts) {
	for _, o := range facts.Objects(pool.APIGroup, pool.ReplicaKind) {
		c := x.chain(o.Namespace, Of(o))
		c.Replicas = append(c.Replicas, o)
		instance := inventory.Key{Namespace: o.Namespace, Name: InstanceOf(o)}
		x.on[instance] = append(x.on[instance], o)
		if i := x.pools.Instance(instance); i != nil && c.Cluster == (inventory.Key{}) {
			c.Cluster = i.Cluster()
		}
	}
}

// addAttachments adds where volumes are used to those that exist.
func (x *Index) addAttachments(facts *inventory.Facts) {
	for _, o := range facts.Objects(pool.APIGroup, AttachmentKind) {
		if c := x.byHandle[attachmentVolume(o)]; c != nil {
			c.Attachments = append(c.Attachments, o)
		} else {
			x.Strays = append(x.Strays, o)
		}
	}
}

func (x *Index) addVolumes(facts *inventory.Facts) {
	for _, o := range facts.Objects("", "PersistentVolume") {
		if o.Node.Str("spec", "csi", "driver") != Driver {
			continue
		}
		c := x.chain("", o.Node.Str("spec", "csi", "volumeHandle"))
		ref := o.Node.Get("spec", "claimRef")
		c.Volume = o
		c.Claim = facts.Object(krm.ID{Kind: "PersistentVolumeClaim", Namespace: ref.Str("namespace"), Name: ref.Str("name")})
		if c.Cluster != (inventory.Key{}) {
			continue
		}
		class := o.Node.Str("spec", "storageClassName")
		if class == "" && c.Claim != nil {
			class = c.Claim.Node.Str("spec", "storageClassName")
		}
		c.Cluster = x.classes[class]
	}
}
