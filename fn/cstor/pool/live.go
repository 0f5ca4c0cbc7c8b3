package pool

import (
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
)

// Live is what the facts show of all cStor pools.
type Live struct {
	Clusters  []*Cluster // by namespace and name
	facts     *inventory.Facts
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
		facts:     facts,
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

// Named lists the clusters that are there, or that instances name, by namespace and name.
func (l *Live) Named() []inventory.Key {
	var keys []inventory.Key
	for key := range l.clusters {
		keys = append(keys, key)
	}
	for key := range l.instances {
		if l.clusters[key] == nil && key != (inventory.Key{}) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, inventory.Key.Compare)
	return keys
}

// Down says why a pool serves no volume, as a clause, or "" where it may. Who writes the
// phase of a replica runs with its pool: with that gone, the phase stays as it was. A
// degraded pool serves, and facts that tell of no instance or no node say nothing.
//
// Source: openebs/api, pkg/apis/cstor/v1 (CStorPoolInstancePhase), 3.6.0.
func (l *Live) Down(instance inventory.Key) string {
	i := l.instance[instance]
	if i == nil {
		if l.facts.Tells(APIGroup, InstanceKind, instance.Namespace) {
			return "its pool " + instance.Name + " is gone"
		}
		return ""
	}
	if !i.Serves() {
		return "its pool " + i.Name + " is " + i.Phase
	}
	if down := l.HostDown(i.RunsOn); down != "" {
		return "its pool " + i.Name + " is down: " + down
	}
	return ""
}

// HostDown says why nothing runs on a host, as a clause, or "" where it may.
func (l *Live) HostDown(hostname string) string {
	switch nodes := l.facts.Host(hostname); {
	case len(nodes) == 0 && len(l.facts.Nodes) > 0:
		return "its node is missing"
	case len(nodes) == 1 && nodes[0].Down():
		return "its node is not ready"
	}
	return ""
}
