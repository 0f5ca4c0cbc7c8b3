package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// lock is what was decided earlier: what was rendered, decoded once, or else the live
// CStorPoolCluster.
type lock struct {
	adopted bool              // the pools come from the live cluster
	nodes   []string          // by name, in order
	known   map[string]bool   // the same
	uids    map[string]string // of nodes
	reasons map[string]string // why nodes were chosen, one word each
	sets    map[string]storageSet
	cluster *pool.Cluster // nil if there is none yet
	pools   []*nodePool   // in order
	poolOf  map[string]*nodePool
	pooled  map[string]bool // block devices of the pools
	objects map[krm.ID]*krm.Object
	volumes map[string][]*krm.Object // rendered claims and attachments, by node
}

// nodePool is a pool and its node.
type nodePool struct {
	node string
	*pool.Pool
}

// storageSet is a CStorClusterStorageSet: the disks of a node. It is empty for a node
// that has none yet.
type storageSet struct {
	hostname string
	devices  map[role][]string // block devices, by name
	known    map[string]disk.Identity
	reasons  map[string]string // why devices were chosen, one word each
}

func readLock(objects []*krm.Object, live *pool.Cluster, facts *inventory.Facts) *lock {
	l := &lock{
		known:   map[string]bool{},
		uids:    map[string]string{},
		reasons: map[string]string{},
		sets:    map[string]storageSet{},
		poolOf:  map[string]*nodePool{},
		pooled:  map[string]bool{},
		objects: make(map[krm.ID]*krm.Object, len(objects)),
		volumes: map[string][]*krm.Object{},
	}
	nodeOf := map[string]string{} // hostname -> node
	for _, o := range objects {
		l.objects[o.ID()] = o
		if node := nodeOfVolume(o); node != "" {
			l.volumes[node] = append(l.volumes[node], o)
		}
		switch o.Kind {
		case clusterPlanKind:
			for _, n := range o.Node.Seq("spec", "nodes") {
				l.addNode(n.Str("name"))
				l.uids[n.Str("name")] = n.Str("uid")
				l.reasons[n.Str("name")] = n.Str("reason")
			}
		case storageSetKind:
			node, set := readStorageSet(o)
			l.sets[node] = set
			nodeOf[set.hostname] = node
		case poolClusterKind:
			l.cluster = pool.DecodeCluster(o)
		}
	}
	if l.cluster == nil && live != nil {
		l.cluster, l.adopted = live, true
	}
	if l.cluster == nil {
		return l
	}
	for _, p := range l.cluster.Pools {
		node := nodeOf[p.Hostname]
		if nodes := facts.Host(p.Hostname); node == "" && len(nodes) == 1 {
			node = nodes[0].Name
		}
		if node == "" {
			node = p.Hostname
		}
		if !l.known[node] {
			l.reasons[node] = reasonAdopted
		}
		l.addNode(node)
		l.addPool(&nodePool{node, p})
	}
	return l
}

func readStorageSet(o *krm.Object) (node string, s storageSet) {
	s = storageSet{hostname: o.Node.Str("spec", "node", "hostname"), devices: map[role][]string{}, known: map[string]disk.Identity{}, reasons: map[string]string{}}
	for _, d := range o.Node.Seq("spec", "blockDevices") {
		r := role(d.Str("role"))
		s.devices[r] = append(s.devices[r], d.Str("name"))
		id := disk.Identity{WWN: disk.WWN(d.Str("wwn")), Serial: d.Str("serial")}
		for _, link := range d.Seq("links") {
			id.Links = append(id.Links, link.Value)
		}
		s.known[d.Str("name")] = id
		s.reasons[d.Str("name")] = d.Str("reason")
	}
	return o.Node.Str("spec", "node", "name"), s
}

// holds lists the disks of a set, each with what it is for.
func (s storageSet) holds(namespace string) []disk.Hold {
	var holds []disk.Hold
	for _, r := range []role{data, cache, spare} {
		for _, name := range s.devices[r] {
			holds = append(holds, disk.Hold{Device: inventory.Key{Namespace: namespace, Name: name}, Identity: s.known[name], Role: string(r)})
		}
	}
	return holds
}

func (l *lock) addNode(name string) {
	if name != "" && !l.known[name] {
		l.known[name] = true
		l.nodes = append(l.nodes, name)
	}
}

// addPool makes a pool that of its node.
func (l *lock) addPool(p *nodePool) {
	l.pools = append(l.pools, p)
	l.poolOf[p.node] = p
	for _, name := range p.Disks() {
		l.pooled[name] = true
	}
}

// removePool gives a pool up; its node stays.
func (l *lock) removePool(p *nodePool) {
	l.pools = slices.DeleteFunc(l.pools, func(o *nodePool) bool { return o == p })
	delete(l.poolOf, p.node)
	for _, name := range p.Disks() {
		delete(l.pooled, name)
	}
}

// giveUp takes disks out of the pool and the storage set of a node.
func (l *lock) giveUp(node string, disks []string) {
	for _, name := range disks {
		delete(l.pooled, name)
		for r, reserved := range l.sets[node].devices {
			l.sets[node].devices[r] = slices.DeleteFunc(reserved, func(other string) bool { return other == name })
		}
	}
}

// rename calls a disk of a pool by another name.
func (l *lock) rename(from, to string) {
	delete(l.pooled, from)
	l.pooled[to] = true
}

// nodeOn is the node that has a host.
func (l *lock) nodeOn(host string, facts *inventory.Facts) string {
	for _, name := range l.nodes {
		if l.sets[name].hostname == host && facts.Node(name) != nil {
			return name
		}
	}
	if nodes := facts.Host(host); len(nodes) == 1 {
		return nodes[0].Name
	}
	return host
}

// pool returns the pool of a node, or nil.
func (l *lock) pool(node string) *nodePool { return l.poolOf[node] }

// host returns the pool on a host, or nil.
func (l *lock) host(hostname string) *nodePool {
	for _, p := range l.pools {
		if p.Hostname == hostname {
			return p
		}
	}
	return nil
}

// reserved returns the devices of a role that the storage set of a node holds.
func (l *lock) reserved(node string, r role) []string { return l.sets[node].devices[r] }

// nodeOfVolume is the node that a claim or an attachment is for, or "".
func nodeOfVolume(o *krm.Object) string {
	switch o.Kind {
	case volumeClaimKind:
		return o.Annotation(inventory.AnnotationSelectedNode)
	case volumeAttachmentKind:
		return o.Node.Str("spec", "nodeName")
	}
	return ""
}
