package pool

import "github.com/poolwright/poolwright/fn/inventory"

// Live is what the facts show of all cStor pools.
type Live struct {
	Clusters  []*Cluster // by namespace and name
	all       []*Instance
	clusters  map[inventory.Key]*Cluster
	instance  map[inventory.Key]*Instance
	instances map[inventory.Key][]*Instance // by cluster
	replicas  map[inventory.Key]int         // by instance
}

type liveKey struct{}

// LiveOf is what some facts show of all cStor pools.
func LiveOf(facts *inventory.Facts) *Live { return inventory.Once(facts, liveKey{}, NewLive) }

// NewLive decodes the pools among the facts.
func NewLive(facts *inventory.Facts) *Live {
	l := &Live{
		clusters:  map[inventory.Key]*Cluster{},
		instance:  map[inventory.Key]*Instance{},
		instances: map[inventory.Key][]*Instance{},
		replicas:  map[inventory.Key]int{},
	}
	for _, o := range facts.Objects(APIGroup, ClusterKind) {
		c := DecodeCluster(o)
		l.Clusters = append(l.Clusters, c)
		l.clusters[inventory.Key{Namespace: o.Namespace, Name: o.Name}] = c
	}
	for _, o := range facts.Objects(APIGroup, InstanceKind) {
		i := DecodeInstance(o)
		l.all = append(l.all, i)
		l.instance[inventory.Key{Namespace: o.Namespace, Name: o.Name}] = i
		l.instances[i.Cluster()] = append(l.instances[i.Cluster()], i)
	}
	for _, o := range facts.Objects(APIGroup, ReplicaKind) {
		l.replicas[inventory.Key{Namespace: o.Namespace, Name: o.Label(inventory.LabelPoolInstance)}]++
	}
	return l
}

// Cluster returns a live CStorPoolCluster, or nil.
func (l *Live) Cluster(namespace, name string) *Cluster {
	return l.clusters[inventory.Key{Namespace: namespace, Name: name}]
}

// Instances lists the instances of a cluster by name.
func (l *Live) Instances(namespace, cluster string) []*Instance {
	return l.instances[inventory.Key{Namespace: namespace, Name: cluster}]
}

// All lists every instance, by namespace and name.
func (l *Live) All() []*Instance { return l.all }

// Instance returns an instance, or nil.
func (l *Live) Instance(key inventory.Key) *Instance { return l.instance[key] }

// Replicas counts the volume replicas on an instance.
func (l *Live) Replicas(namespace, instance string) int {
	return l.replicas[inventory.Key{Namespace: namespace, Name: instance}]
}
