package cstor

import (
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// lock is what was decided earlier: what was rendered, decoded once, or else the live
// CStorPoolClusters.
type lock struct {
	adopted  bool                // the pools come from the live clusters
	clusters []*poolCluster      // the first is called like the config
	nodes    []string            // by name, in order
	known    map[string]bool     // the same
	hosts    map[string]string   // hostname labels of nodes
	called   map[string][]string // names that nodes of a host have, the same the other way round
	uids     map[string]string   // of nodes
	reasons  map[string]string   // why nodes were chosen, one word each
	listed   map[string]string   // by what spec.pools listed nodes
	cameFrom map[string]string   // of nodes to which this run moves a pool, where it was
	short    bool                // pools went, and fewer nodes than minPoolCount may hold one
	removing map[string]string   // hostname labels of nodes whose pools were let go, with consent
	observed []observation       // the CStorPoolClusters when the output last changed
	sets     map[string]storageSet
	planned  map[string]*poolCluster // by node, of pools that are in a further one, or are to be
	pools    []*nodePool             // of all clusters, in order
	poolOf   map[string]*nodePool
	pooled   map[string]bool // block devices of the pools
	objects  map[krm.ID]*krm.Object
	retained []*krm.Object            // what is left to a person, and rendered until that is applied
	restored []*krm.Object            // claims and attachments that it had lost: see restoreClaims
	volumes  map[string][]*krm.Object // rendered claims and attachments, by node
}

// nodePool is a pool, its node, and the CStorPoolCluster that it is in for good.
type nodePool struct {
	node string
	of   *poolCluster
	*pool.Pool
}

// storageSet is a CStorClusterStorageSet: the disks of a node. It is empty for a node
// that has none yet.
type storageSet struct {
	hostname  string
	volumesOf string                // the node by whose name its volumes are called, where that is another
	devices   map[role][]string     // block devices, by name
	known     map[string]remembered // devices by name, also those that this run gives up
	grown     grown                 // how the pool grew by itself

	capacity    string       // the least that a data disk holds
	provisioner *provisioner // of cloud disks, or nil
}

// remembered is what a storage set remembers of a device.
type remembered struct {
	disk.Identity
	role   role   // what it was for
	reason string // why it was chosen, one word
	size   int64  // bytes that it had, 0 where that is not known
}

func readLock(objects []*krm.Object, clusters []*poolCluster, facts *inventory.Facts) *lock {
	l := &lock{
		clusters: clusters,
		known:    map[string]bool{},
		hosts:    map[string]string{},
		called:   map[string][]string{},
		uids:     map[string]string{},
		reasons:  map[string]string{},
		listed:   map[string]string{},
		cameFrom: map[string]string{},
		removing: map[string]string{},
		planned:  map[string]*poolCluster{},
		sets:     map[string]storageSet{},
		poolOf:   map[string]*nodePool{},
		pooled:   map[string]bool{},
		objects:  make(map[krm.ID]*krm.Object, len(objects)),
		volumes:  map[string][]*krm.Object{},
	}
	for _, o := range objects {
		if o.Retained() {
			l.retained = append(l.retained, o)
			continue
		}
		l.objects[o.ID()] = o
		if node := nodeOfVolume(o); node != "" {
			l.volumes[node] = append(l.volumes[node], o)
		}
		switch o.Kind {
		case clusterPlanKind:
			l.readBegun(o.Node.Seq("spec", "steps"))
			l.short, _ = o.Node.Get("spec", "short").Bool()
			l.observed = readObserved(o.Node.Seq("spec", "observed"))
			for _, n := range o.Node.Seq("spec", "removing") {
				l.removing[n.Str("name")] = n.Str("hostname")
			}
			for _, n := range o.Node.Seq("spec", "nodes") {
				l.addNode(n.Str("name"))
				l.uids[n.Str("name")] = n.Str("uid")
				l.reasons[n.Str("name")] = n.Str("reason")
				if listed := n.Str("listed"); listed != "" {
					l.listed[n.Str("name")] = listed
				}
				if c := l.clusterNamed(n.Str("cluster")); c != nil {
					l.planned[n.Str("name")] = c
				}
			}
		case storageSetKind:
			node, set := readStorageSet(o)
			l.sets[node] = set
			l.hosts[node] = set.hostname
		case poolClusterKind:
			if c := l.clusterNamed(o.Name); c != nil {
				c.before = pool.DecodeCluster(o)
			}
		}
	}
	for _, c := range clusters {
		switch {
		case c.before != nil || c.current == nil:
		case len(objects) == 0:
			c.before, l.adopted = c.current, true
		default: // the output has lost it: its settings are those that live, and its pools are taken back
			lost := *c.current
			lost.Pools = nil
			c.before = &lost
		}
	}
	for _, name := range l.nodes {
		if l.hosts[name] == "" {
			l.hosts[name] = name // which the label is where nobody says otherwise
			if n := facts.Node(name); n != nil && n.Hostname != "" {
				l.hosts[name] = n.Hostname
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.hosts)) {
		l.called[l.hosts[name]] = append(l.called[l.hosts[name]], name)
	}
	if !l.rendered() {
		return l
	}
	for _, c := range clusters {
		if c.before == nil {
			continue
		}
		for _, p := range c.before.Pools {
			node := l.nodeOn(p.Hostname, facts)
			if !l.known[node] {
				l.reasons[node] = reasonAdopted
			}
			l.addNode(node)
			l.addPool(&nodePool{node, c, p})
		}
	}
	l.forgetOldNames(facts)
	return l
}

// forgetOldNames takes out of the plan the nodes whose host has the pool of another node:
// they are one machine under two names. What has volumes stays.
func (l *lock) forgetOldNames(facts *inventory.Facts) {
	l.nodes = slices.DeleteFunc(l.nodes, func(name string) bool {
		host := l.hosts[name]
		if n := facts.Node(name); n != nil && n.Hostname != "" {
			host = n.Hostname // the lock may have guessed it while the node was missing
		}
		p := l.host(host)
		if p == nil || p.node == name || l.pool(name) != nil || len(l.volumes[name]) > 0 {
			return false
		}
		delete(l.known, name)
		return true
	})
}

func readStorageSet(o *krm.Object) (node string, s storageSet) {
	devices := o.Node.Seq("spec", "blockDevices")
	s = storageSet{
		hostname: o.Node.Str("spec", "node", "hostname"), volumesOf: o.Node.Str("spec", "node", "volumesOf"),
		devices: map[role][]string{}, known: make(map[string]remembered, len(devices)), grown: readGrown(o.Node.Get("spec", "expansions")),
	}
	for i := range devices {
		d := &devices[i]
		name, was := d.Str("name"), remembered{Identity: identityOf(d), role: role(d.Str("role")), reason: d.Str("reason")}
		if size, known := d.Get("size").Int(); known {
			was.size = size
		}
		s.devices[was.role] = append(s.devices[was.role], name)
		s.known[name] = was
	}
	s.capacity = o.Node.Str("spec", "disk", "capacity")
	if p := o.Node.Get("spec", "externalProvisioner"); p != nil {
		s.provisioner = &provisioner{CSIAttacherName: p.Str("csiAttacherName"), StorageClassName: p.Str("storageClassName")}
	}
	return o.Node.Str("spec", "node", "name"), s
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
	l.hosts[p.node] = p.Hostname
	for _, name := range p.Disks() {
		l.pooled[name] = true
	}
}

// placeAsLive puts the pool that was added last before the next of those that it lives before:
// another order is an edit, too, and the webhook may refuse any.
func (l *lock) placeAsLive(p *nodePool) {
	if p.of.current == nil {
		return
	}
	live := p.of.current.Pools
	at := slices.IndexFunc(live, func(other *pool.Pool) bool { return other.Hostname == p.Hostname })
	if at < 0 {
		return
	}
	for _, next := range live[at+1:] {
		if i := slices.IndexFunc(l.pools, func(known *nodePool) bool { return known.of == p.of && known.Hostname == next.Hostname }); i >= 0 {
			l.pools = slices.Insert(l.pools[:len(l.pools)-1], i, p)
			return
		}
	}
}

// removePool gives a pool up; its node stays.
func (l *lock) removePool(p *nodePool) {
	l.pools = slices.DeleteFunc(l.pools, func(o *nodePool) bool { return o == p })
	delete(l.poolOf, p.node)
	l.unpool(p.Disks())
	for _, other := range l.pools { // a person may have put a disk into two
		for _, name := range other.Disks() {
			l.pooled[name] = true
		}
	}
}

// unpool notes that disks are in no pool any more.
func (l *lock) unpool(disks []string) {
	for _, name := range disks {
		delete(l.pooled, name)
	}
}

// unreserve takes disks out of the storage set of a node.
func (l *lock) unreserve(node string, disks []string) {
	for _, name := range disks {
		for r, reserved := range l.sets[node].devices {
			l.sets[node].devices[r] = slices.DeleteFunc(reserved, func(other string) bool { return other == name })
		}
	}
}

// forgetGivenUp takes out of the storage sets of planned pools what is not held for the
// spec any more: this render has found that it is not wanted.
func (l *lock) forgetGivenUp(in *input) {
	for node, set := range l.sets {
		if l.pool(node) != nil {
			continue
		}
		for _, names := range set.devices {
			l.unreserve(node, slices.DeleteFunc(slices.Clone(names), func(name string) bool {
				return slices.ContainsFunc(in.disk(name).Holders(), func(h *disk.Holder) bool { return h.Owner == in.owner && h.Source == disk.Lock })
			}))
		}
	}
}

// rename calls a disk of a pool by another name.
func (l *lock) rename(from, to string) {
	delete(l.pooled, from)
	l.pooled[to] = true
}

// nodeOn is the node of a host. Where it has another name by now, it is the earlier one,
// by which its disks, its volumes and consent go.
func (l *lock) nodeOn(host string, facts *inventory.Facts) string {
	names := l.called[host]
	for _, better := range []func(name string) bool{
		func(name string) bool { return l.sets[name].hostname == host && facts.Node(name) != nil },
		func(name string) bool { return l.sets[name].hostname == host && l.known[name] },
		func(name string) bool { return l.sets[name].hostname == host },
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

// removesOn reports whether the pool on a host was let go in an earlier run.
func (l *lock) removesOn(host string) bool {
	for _, from := range l.removing {
		if from == host {
			return true
		}
	}
	return false
}

// volumeObject is a claim or an attachment as it was rendered last, be it as what is left to a
// person; or nil.
func (l *lock) volumeObject(id krm.ID) *krm.Object {
	if o := l.objects[id]; o != nil {
		return o
	}
	if i := slices.IndexFunc(l.retained, func(o *krm.Object) bool { return o.ID() == id }); i >= 0 {
		return l.retained[i]
	}
	return nil
}

// volumeObject is the same, or as it lives: as which it is taken over.
func (e *existing) volumeObject(id krm.ID) *krm.Object {
	if o := e.lock.volumeObject(id); o != nil {
		return o
	}
	return e.facts.Object(id)
}

// reserved returns the devices of a role that the storage set of a node holds.
func (l *lock) reserved(node string, r role) []string { return l.sets[node].devices[r] }

// reserves reports whether the storage set of any node holds a disk.
func (l *lock) reserves(disk string) bool {
	for _, set := range l.sets {
		for _, names := range set.devices {
			if slices.Contains(names, disk) {
				return true
			}
		}
	}
	return false
}

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
