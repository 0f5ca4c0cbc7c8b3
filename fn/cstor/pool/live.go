package pool

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// Live is what the facts show of all cStor pools, decoded once.
type Live struct {
	Clusters  []*Cluster // by namespace and name
	clusters  map[inventory.Key]*Cluster
	instances map[inventory.Key][]*Instance // by cluster
	replicas  map[inventory.Key]int         // by instance
	orphans   []*Instance                   // of a cluster that is not among the facts
}

// NewLive decodes the pools among the facts.
func NewLive(facts *inventory.Facts) *Live {
	l := &Live{
		clusters:  map[inventory.Key]*Cluster{},
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
		cluster := clusterOf(o)
		l.instances[cluster] = append(l.instances[cluster], i)
		if l.clusters[cluster] == nil {
			l.orphans = append(l.orphans, i)
		}
	}
	for _, instances := range l.instances {
		slices.SortFunc(instances, func(a, b *Instance) int { return cmp.Compare(a.Name, b.Name) })
	}
	for _, o := range facts.Objects(APIGroup, ReplicaKind) {
		l.replicas[inventory.Key{Namespace: o.Namespace, Name: o.Label(inventory.LabelPoolInstance)}]++
	}
	return l
}

func clusterOf(instance *krm.Object) inventory.Key {
	return inventory.Key{Namespace: instance.Namespace, Name: instance.Label(inventory.LabelPoolCluster)}
}

// Cluster returns a live CStorPoolCluster, or nil.
func (l *Live) Cluster(namespace, name string) *Cluster {
	return l.clusters[inventory.Key{Namespace: namespace, Name: name}]
}

// Instances lists the instances of a cluster by name.
func (l *Live) Instances(namespace, cluster string) []*Instance {
	return l.instances[inventory.Key{Namespace: namespace, Name: cluster}]
}

// Orphans lists the instances whose cluster is not among the facts.
func (l *Live) Orphans() []*Instance { return l.orphans }

// Replicas counts the volume replicas on an instance.
func (l *Live) Replicas(namespace, instance string) int {
	return l.replicas[inventory.Key{Namespace: namespace, Name: instance}]
}
