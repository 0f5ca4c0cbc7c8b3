package pool

import "github.com/poolwright/poolwright/fn/inventory"

// Live is what the facts show of all cStor pools.
type Live struct {
	Clusters  []*Cluster // by namespace and name
	all       []*Instance
	clusters  map[inventory.Key]*Cluster
	instance  map[inventory.Key]*Instance
	instances map[inventory.Key][]*Instance              // by cluster
	replicas  map[inventory.Key]int                      // by instance
	claimed   map[inventory.Key][]*inventory.BlockDevice // by cluster
}

type liveKey struct{}

// LiveOf is what some facts show of all cStor pools, decoded once. Nobody changes it.
func LiveOf(facts *inventory.Facts) *Live { return inventory.Once(facts, liveKey{}, readLive) }

// readLive decodes the pools among the facts.
func readLive(facts *inventory.Facts) *Live {
	l := &Live{
		clusters:  map[inventory.Key]*Cluster{},
		instance:  map[inventory.Key]*Instance{},
		instances: map[inventory.Key][]*Instance{},
		replicas:  map[inventory.Key]int{},
		claimed:   map[inventory.Key][]*inventory.BlockDevice{},
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
		l.replicas[inventory.Key{Namespace: o.Namespace, Name: o.Label(LabelInstance)}]++
	}
	for _, d := range facts.Devices {
		if claim := facts.ClaimOf(d); claim != nil && claim.PoolCluster != "" {
			cluster := inventory.Key{Namespace: d.Namespace, Name: claim.PoolCluster}
			l.claimed[cluster] = append(l.claimed[cluster], d)
		}
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

// ClaimedBy lists the block devices that are claimed for a cluster, by name.
func (l *Live) ClaimedBy(namespace, cluster string) []*inventory.BlockDevice {
	return l.claimed[inventory.Key{Namespace: namespace, Name: cluster}]
}
