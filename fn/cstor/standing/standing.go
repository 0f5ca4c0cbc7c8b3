// Package standing is what stands of a CStorClusterConfig during a render: its nodes, pools and the
// disks that they reserve. It begins with the record of what was rendered, or else with what is
// running, and changes only by the verbs of this package: a pool is restored, goes back to what is
// running, moves or goes.
//
// Source: Poolwright.
package standing

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// Reasons why a node holds a pool that was not chosen, one word each.
const (
	Adopted = "adopted" // its pool was running
	Moved   = "moved"   // its pool followed its disks
)

// Standing is the nodes and pools of a config as they stand.
type Standing struct {
	*record.Record
	adopted  bool       // the pools come from the running clusters
	clusters []*Cluster // the first is called like the config

	nodes    []string            // by name, in order
	known    map[string]bool     // the same
	hosts    map[string]string   // hostname labels of nodes
	called   map[string][]string // names that nodes of a host have, the same the other way round
	uids     map[string]string   // of nodes
	reasons  map[string]string   // why nodes were chosen, one word each
	listed   map[string]string   // by what spec.pools listed nodes
	cameFrom map[string]string   // of nodes to which this run moves a pool, where it was
	planned  map[string]*Cluster // by node, of pools that are in a further one, or are to be
	sets     map[string]record.Set

	pools  []*Pool // of all clusters, in order
	poolOf map[string]*Pool
	pooled map[string]bool // block devices of the pools

	objects  map[krm.ID]*krm.Object
	volumes  map[string][]*krm.Object // rendered claims and attachments, by node
	restored []*krm.Object            // those that the output had lost
}

// Pool is a pool, its node, and the CStorPoolCluster that it is in for good.
type Pool struct {
	Node string
	Of   *Cluster
	*pool.Pool
}

// New begins with what was rendered of some CStorPoolClusters, or else is running.
func New(r *record.Record, clusters []*Cluster, facts *inventory.Facts) *Standing {
	s := &Standing{
		Record: r, clusters: clusters,
		known: map[string]bool{}, hosts: map[string]string{}, called: map[string][]string{}, uids: map[string]string{}, reasons: map[string]string{},
		listed: map[string]string{}, cameFrom: map[string]string{}, planned: map[string]*Cluster{}, sets: r.Sets(),
		poolOf: map[string]*Pool{}, pooled: map[string]bool{}, objects: r.Objects(), volumes: r.Volumes(),
	}
	for _, n := range r.Nodes() {
		s.addNode(n.Name)
		s.uids[n.Name], s.reasons[n.Name] = n.UID, n.Reason
		if n.Listed != "" {
			s.listed[n.Name] = n.Listed
		}
		if c := s.Cluster(n.Cluster); c != nil {
			s.planned[n.Name] = c
		}
	}
	for node, set := range s.sets {
		s.hosts[node] = set.Hostname
	}
	for _, step := range r.Steps() {
		c := clusters[0]
		if step.Cluster != "" {
			c = s.Cluster(step.Cluster)
		}
		if c != nil {
			c.begun, c.ends = append(c.begun, step.Step), step.Ends
		}
	}
	for _, c := range clusters {
		switch was := r.Cluster(c.Name); {
		case was != nil:
			c.Before = was.Clone()
		case c.Current == nil:
		case r.Blank():
			c.Before, s.adopted = c.Current.Clone(), true
		default: // the output has lost it: its settings are those that are running, and its pools are restored
			lost := *c.Current
			lost.Pools = nil
			c.Before = &lost
		}
	}
	s.nameHosts(facts)
	if !s.IsRendered() {
		return s
	}
	for _, c := range clusters {
		if c.Before == nil {
			continue
		}
		for _, p := range c.Before.Pools {
			node := s.NodeOn(p.Hostname, facts)
			if !s.known[node] {
				s.reasons[node] = Adopted
			}
			s.addNode(node)
			s.addPool(&Pool{node, c, p})
		}
	}
	s.forgetOldNames(facts)
	return s
}

// nameHosts finds the hostname label of each node.
func (s *Standing) nameHosts(facts *inventory.Facts) {
	for _, name := range s.nodes {
		if s.hosts[name] == "" {
			s.hosts[name] = name // which the label is where nobody says otherwise
			if n := facts.Node(name); n != nil && n.Hostname != "" {
				s.hosts[name] = n.Hostname
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		s.called[s.hosts[name]] = append(s.called[s.hosts[name]], name)
	}
}

// forgetOldNames takes out of the plan the nodes whose host has the pool of another node:
// they are one machine under two names. What has volumes stays.
func (s *Standing) forgetOldNames(facts *inventory.Facts) {
	s.nodes = slices.DeleteFunc(s.nodes, func(name string) bool {
		host := s.hosts[name]
		if n := facts.Node(name); n != nil && n.Hostname != "" {
			host = n.Hostname // the record may have guessed it while the node was missing
		}
		p := s.OnHost(host)
		if p == nil || p.Node == name || s.Pool(name) != nil || len(s.volumes[name]) > 0 {
			return false
		}
		delete(s.known, name)
		return true
	})
}

// IsAdopted reports whether the pools come from the running clusters, since nothing was rendered.
func (s *Standing) IsAdopted() bool { return s.adopted }

// Clusters are the CStorPoolClusters, by number.
func (s *Standing) Clusters() []*Cluster { return s.clusters }

// Cluster is the CStorPoolCluster of a name, or nil.
func (s *Standing) Cluster(name string) *Cluster {
	if i := slices.IndexFunc(s.clusters, func(c *Cluster) bool { return c.Name == name }); i >= 0 {
		return s.clusters[i]
	}
	return nil
}

// ClusterOf is the CStorPoolCluster that a node has its pool in, or is to have it in; the
// first for a node of which nothing is decided.
func (s *Standing) ClusterOf(node string) *Cluster {
	if p := s.Pool(node); p != nil {
		return p.Of
	}
	if c := s.planned[node]; c != nil {
		return c
	}
	return s.clusters[0]
}

// IsRendered reports whether there is any CStorPoolCluster yet.
func (s *Standing) IsRendered() bool {
	return slices.ContainsFunc(s.clusters, func(c *Cluster) bool { return c.Before != nil })
}

// IsRunning reports whether any CStorPoolCluster is running.
func (s *Standing) IsRunning() bool {
	return slices.ContainsFunc(s.clusters, func(c *Cluster) bool { return c.Current != nil })
}

// IsBegun reports whether anything was rendered or is running.
func (s *Standing) IsBegun() bool { return s.IsRendered() || len(s.objects) > 0 }

// Nodes are the names of the nodes, in the order of the plan.
func (s *Standing) Nodes() []string { return s.nodes }

// Knows reports whether a node is in the plan.
func (s *Standing) Knows(node string) bool { return s.known[node] }

// Hostname is the hostname label of a node, as far as it is known.
func (s *Standing) Hostname(node string) string { return s.hosts[node] }

// Called lists the names that nodes of a host have.
func (s *Standing) Called(host string) []string { return s.called[host] }

// UID is that of a node when it was chosen, or "".
func (s *Standing) UID(node string) string { return s.uids[node] }

// Reason is why a node was chosen, one word, or "".
func (s *Standing) Reason(node string) string { return s.reasons[node] }

// Listed is by what spec.pools listed a node, or "".
func (s *Standing) Listed(node string) string { return s.listed[node] }

// CameFrom is the node from which this run moves a pool to a node, or "".
func (s *Standing) CameFrom(node string) string { return s.cameFrom[node] }

// NodeOn is the node of a host. Where it has another name by now, it is the earlier one,
// by which its disks, its volumes and consent go.
func (s *Standing) NodeOn(host string, facts *inventory.Facts) string {
	names := s.called[host]
	for _, better := range []func(name string) bool{
		func(name string) bool { return s.sets[name].Hostname == host && facts.Node(name) != nil },
		func(name string) bool { return s.sets[name].Hostname == host && s.known[name] },
		func(name string) bool { return s.sets[name].Hostname == host },
		func(string) bool { return true },
	} {
		if i := slices.IndexFunc(names, better); i >= 0 {
			return names[i]
		}
	}
	if nodes := facts.Host(host); len(nodes) == 1 {
		return nodes[0].Name
	}
	return host
}

// Pools are those of all CStorPoolClusters, in order.
func (s *Standing) Pools() []*Pool { return s.pools }

// PoolsOf lists the pools of a CStorPoolCluster, in order.
func (s *Standing) PoolsOf(c *Cluster) []*Pool {
	return slices.DeleteFunc(slices.Clone(s.pools), func(p *Pool) bool { return p.Of != c })
}

// Pool is the pool of a node, or nil.
func (s *Standing) Pool(node string) *Pool { return s.poolOf[node] }

// OnHost is the pool on a host, or nil.
func (s *Standing) OnHost(hostname string) *Pool {
	for _, p := range s.pools {
		if p.Hostname == hostname {
			return p
		}
	}
	return nil
}

// Pooled reports whether a block device is in a pool.
func (s *Standing) Pooled(device string) bool { return s.pooled[device] }

// Set is the storage set of a node; an empty one where it has none.
func (s *Standing) Set(node string) (set record.Set, found bool) {
	set, found = s.sets[node]
	return set, found
}

// SetOf is the storage set of a node; an empty one where it has none.
func (s *Standing) SetOf(node string) record.Set { return s.sets[node] }

// Sets are the storage sets by node.
func (s *Standing) Sets() iter.Seq2[string, record.Set] { return maps.All(s.sets) }

// Reserved returns the devices of a role that the storage set of a node holds.
func (s *Standing) Reserved(node string, r record.Role) []string { return s.sets[node].Devices[r] }

// Reserves reports whether the storage set of any node holds a disk.
func (s *Standing) Reserves(disk string) bool {
	for _, set := range s.sets {
		for _, names := range set.Devices {
			if slices.Contains(names, disk) {
				return true
			}
		}
	}
	return false
}

// Object is an object of the output, or nil.
func (s *Standing) Object(id krm.ID) *krm.Object { return s.objects[id] }

// Objects are those of the output, in no order.
func (s *Standing) Objects() iter.Seq2[krm.ID, *krm.Object] { return maps.All(s.objects) }

// IDs are the identities of the objects of the output, in no order.
func (s *Standing) IDs() iter.Seq[krm.ID] { return maps.Keys(s.objects) }

// Volumes are the claims and attachments of a node.
func (s *Standing) Volumes(node string) []*krm.Object { return s.volumes[node] }

// VolumeNodes are the nodes that have claims or attachments, in no order.
func (s *Standing) VolumeNodes() iter.Seq[string] { return maps.Keys(s.volumes) }

// Restored are the claims and attachments that the output had lost.
func (s *Standing) Restored() []*krm.Object { return s.restored }

// VolumeObject is a claim or an attachment as it was rendered last, or as what is left to a person;
// or nil.
func (s *Standing) VolumeObject(id krm.ID) *krm.Object {
	if o := s.objects[id]; o != nil {
		return o
	}
	if i := slices.IndexFunc(s.Retained(), func(o *krm.Object) bool { return o.ID() == id }); i >= 0 {
		return s.Retained()[i]
	}
	return nil
}

// VolumesOf is the node by whose name the volumes of a node are called.
func (s *Standing) VolumesOf(node string) string { return cmp.Or(s.sets[node].VolumesOf, node) }

// AttachmentID is the attachment of a volume to a node.
func (s *Standing) AttachmentID(namespace, storage, node string) krm.ID {
	id := krm.ID{Group: "storage.k8s.io", Kind: record.AttachmentKind, Name: record.AttachmentName(namespace, storage)}
	if s.VolumesOf(node) != node {
		id.Name = record.JoinName(namespace, storage, node)
	}
	return id
}
