package hypercloud

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/resilience"
)

// clusterLoss is what a CephCluster can lose: OSDs and monitors.
type clusterLoss struct {
	devices []cephDevice
	known   bool // where its OSDs are
	classes bool // the classes of its disks are those that Rook gives them
	mons    *resilience.Rule
	facts   *inventory.Facts
}

// cephDevice is a disk of the cluster, or all disks of a host of which none is reported.
type cephDevice struct {
	node  string // its name, or the hostname of one that the facts lack
	disk  *disk.Disk
	class string
}

// cluster is the CephCluster of a namespace, or nil.
func (l *losses) cluster(namespace string) *clusterLoss {
	if c, known := l.clusters[namespace]; known {
		return c
	}
	l.clusters[namespace] = nil
	for _, o := range l.facts.Objects(cephGroup, clusterKind) {
		if o.Namespace == namespace {
			l.clusters[namespace] = l.newCluster(o)
		}
	}
	return l.clusters[namespace]
}

func (l *losses) newCluster(o *krm.Object) *clusterLoss {
	storage := o.Node.Get("spec", "storage")
	c := &clusterLoss{facts: l.facts, known: len(storage.Seq("storageClassDeviceSets")) == 0, classes: true}
	nodes := storage.Seq("nodes")
	for i := range nodes {
		c.classes = c.classes && nodes[i].Str("config", "deviceClass") == ""
		for _, d := range nodes[i].Seq("devices") {
			c.classes = c.classes && d.Str("config", "deviceClass") == ""
		}
	}
	seen := map[*disk.Disk]bool{}
	for _, hold := range (System{}).Holds(o) {
		for _, d := range l.disks.Named(hold) {
			node := l.nodeOf(cmp.Or(hold.Node, hold.Identity.Node))
			if at := l.disks.NodeOf(d); at != "" {
				node = at
			}
			if node != "" && !seen[d] {
				seen[d] = true
				c.devices = append(c.devices, cephDevice{node, d, (&device{disk: d}).class()})
			}
		}
	}
	for i := range nodes {
		name := l.nodeOf(nodes[i].Str("name"))
		if name != "" && !slices.ContainsFunc(c.devices, func(o cephDevice) bool { return o.node == name }) {
			c.devices = append(c.devices, cephDevice{node: name})
		}
	}
	c.known = c.known && len(c.devices) > 0
	c.mons = newMons(l.facts, o)
	return c
}

// nodeOf is the name of the node with a hostname label; the hostname if there is none.
func (l *losses) nodeOf(hostname string) string {
	if nodes := l.facts.Host(hostname); len(nodes) > 0 {
		return nodes[0].Name
	}
	return hostname
}

func (c *clusterLoss) nodes() []string {
	var names []string
	for _, o := range c.devices {
		names = append(names, o.node)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (c *clusterLoss) disks() []*disk.Disk {
	var disks []*disk.Disk
	for _, o := range c.devices {
		if o.disk != nil {
			disks = append(disks, o.disk)
		}
	}
	return disks
}

// spread is a layout over the failure domains of a cluster.
type spread struct {
	*layout
	all    int                 // failure domains
	ofNode map[string][]string // by the name of a node
	ofDisk map[*disk.Disk]string
	absent []string // nodes that the facts lack
}

// spread is that of the OSDs that a layout uses: those of its class, or of a class that is not known.
func (c *clusterLoss) spread(l *layout) *spread {
	s := &spread{layout: l, ofNode: map[string][]string{}, ofDisk: map[*disk.Disk]string{}}
	seen := map[string]bool{}
	for i := range c.devices {
		o := &c.devices[i]
		if c.classes && l.class != "" && o.class != "" && o.class != l.class {
			continue
		}
		domain := c.domainOf(i, l.domain)
		if seen[domain] = true; !slices.Contains(s.ofNode[o.node], domain) {
			s.ofNode[o.node] = append(s.ofNode[o.node], domain)
		}
		if o.disk != nil {
			s.ofDisk[o.disk] = domain
		}
		if c.facts.Node(o.node) == nil && !slices.Contains(s.absent, o.node) {
			s.absent = append(s.absent, o.node)
		}
	}
	s.all = len(seen)
	return s
}

// domainOf is the failure domain that an OSD is in. A node without the label is one of its own.
//
// Source: Rook, Documentation, CRDs/Cluster (OSD topology: labels of nodes), 1.14 to 1.21.
func (c *clusterLoss) domainOf(at int, domain string) string {
	o := &c.devices[at]
	label := map[string]string{"zone": inventory.LabelZone, "region": "topology.kubernetes.io/region"}[domain]
	switch domain {
	case "osd":
		return strconv.Itoa(at)
	case "host":
		return o.node
	}
	if n := c.facts.Node(o.node); n != nil {
		if value := n.Object.Label(cmp.Or(label, "topology.rook.io/"+domain)); value != "" {
			return domain + "/" + value
		}
	}
	return o.node
}

// hit counts the failure domains in which an OSD serves nothing, and those in which one has lost its data.
func (s *spread) hit(at *resilience.Situation) (down, gone int) {
	hit := map[string]resilience.Condition{}
	node := func(name string) {
		for _, domain := range s.ofNode[name] {
			hit[domain] = max(hit[domain], at.Node(name))
		}
	}
	for name := range at.Damaged() {
		node(name)
	}
	for _, name := range s.absent {
		node(name)
	}
	for d := range at.Disks() {
		if domain, found := s.ofDisk[d]; found {
			hit[domain] = resilience.Gone
		}
	}
	for _, condition := range hit {
		if condition != resilience.Up {
			down++
		}
		if condition == resilience.Gone {
			gone++
		}
	}
	return down, gone
}

// stateOf is the state of the worst placement group, and its copies that serve. It may be in any failure domains, each of them
// one that is hit.
//
// Source: Ceph, documentation, Placement Groups (size, min_size) and CRUSH maps (failure domains), 18.2 to 20.2.
func (s *spread) stateOf(at *resilience.Situation) (state resilience.State, serving int) {
	down, gone := s.hit(at)
	used := min(s.want, s.all)
	serving = max(0, used-down)
	switch kept := max(0, used-gone); {
	case serving >= s.want:
		return resilience.Safe, serving
	case serving >= s.need:
		return resilience.Degraded, serving
	case kept >= s.least:
		return resilience.Stops, serving
	}
	return resilience.Lost, serving
}

// hasPlace reports whether enough failure domains are left for every copy.
func (s *spread) hasPlace(at *resilience.Situation) bool {
	down, _ := s.hit(at)
	return s.all-down >= s.want
}

// newMons is the rule of the monitors: without a majority of them nothing serves, and nothing is lost. They may be on any nodes,
// one on each unless the cluster allows more.
//
// Source: Rook, Documentation, Storage-Configuration/Advanced/ceph-mon-health, 1.14 to 1.21.
func newMons(facts *inventory.Facts, cluster *krm.Object) *resilience.Rule {
	count, _ := cluster.Node.Get("spec", "mon", "count").Int()
	if count <= 0 {
		count = 3
	}
	several, _ := cluster.Node.Get("spec", "mon", "allowMultiplePerNode").Bool()
	return &resilience.Rule{AnyNode: true, Judge: func(at *resilience.Situation) resilience.Verdict {
		all, up, mons := len(facts.Nodes), len(facts.Nodes), int(count)
		for name := range at.Damaged() {
			if facts.Node(name) != nil {
				up--
			}
		}
		least, most := max(0, mons-up), max(mons-up, min(mons, all-up)) // that are down
		if several {
			least, most = 0, 0
			if up == 0 {
				least = mons
			}
			if up < all {
				most = mons
			}
		}
		if all == 0 {
			least, most = 0, 0
		}
		state := func(down int) resilience.State {
			if mons-down < mons/2+1 {
				return resilience.Stops
			}
			return resilience.Safe
		}
		return resilience.Between(state(least), state(most), mons-least, mons-most)
	}}
}
