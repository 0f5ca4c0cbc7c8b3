package cstor

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
)

// before is what was decided earlier, from the lock or else from the live
// CStorPoolCluster.
type before struct {
	adopted bool              // the pools come from the live cluster
	nodes   []string          // by name, in order
	known   map[string]bool   // the same
	uids    map[string]string // of nodes, as the lock knows them
	pools   []*pool           // in order
	poolOf  map[string]*pool  // by node
	sets    map[string]*document.Node
	cluster *krm.Object // the CStorPoolCluster, nil if there is none yet
	objects map[krm.ID]*krm.Object
}

// pool is one pool of a CStorPoolCluster.
type pool struct {
	node      string
	hostname  string
	raidType  string
	data      [][]string // block device names by group
	cacheType string
	cache     [][]string
}

func (p *pool) devices() []string { return append(flatten(p.data), flatten(p.cache)...) }

// sameDisks reports whether two pools have the same disks in the same groups.
func sameDisks(a, b *pool) bool {
	joined := func(groups [][]string) []string {
		var names []string
		for _, group := range groups {
			names = append(names, strings.Join(slices.Sorted(slices.Values(group)), ","))
		}
		return names
	}
	return sameNames(joined(a.data), joined(b.data)) && sameNames(joined(a.cache), joined(b.cache))
}

// sameNames compares names in any order.
func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func flatten(groups [][]string) []string { return slices.Concat(groups...) }

func readBefore(objects []*krm.Object, live *krm.Object, facts *inventory.Facts) before {
	b := before{
		known:   map[string]bool{},
		uids:    map[string]string{},
		poolOf:  map[string]*pool{},
		sets:    map[string]*document.Node{},
		objects: make(map[krm.ID]*krm.Object, len(objects)),
	}
	nodeOf := map[string]string{} // hostname -> node
	for _, o := range objects {
		b.objects[o.ID()] = o
		switch o.Kind {
		case clusterPlanKind:
			for _, n := range o.Node.Seq("spec", "nodes") {
				b.addNode(n.Str("name"))
				b.uids[n.Str("name")] = n.Str("uid")
			}
		case storageSetKind:
			node := o.Node.Get("spec", "node")
			b.sets[node.Str("name")] = o.Node
			nodeOf[node.Str("hostname")] = node.Str("name")
		case poolClusterKind:
			b.cluster = o
		}
	}
	if b.cluster == nil && live != nil {
		b.cluster, b.adopted = live, true
	}
	if b.cluster == nil {
		return b
	}
	for _, p := range readPools(b.cluster.Node) {
		p.node = nodeOf[p.hostname]
		if nodes := facts.Host(p.hostname); p.node == "" && len(nodes) == 1 {
			p.node = nodes[0].Name
		}
		if p.node == "" {
			p.node = p.hostname
		}
		b.addNode(p.node)
		b.pools = append(b.pools, p)
		b.poolOf[p.node] = p
	}
	return b
}

func (b *before) addNode(name string) {
	if name != "" && !b.known[name] {
		b.known[name] = true
		b.nodes = append(b.nodes, name)
	}
}

// pool returns the pool of a node, or nil.
func (b *before) pool(node string) *pool { return b.poolOf[node] }

// reserved returns the devices of a role that the storage set of a node holds.
func (b *before) reserved(node string, r role) []string {
	var names []string
	for _, d := range b.sets[node].Seq("spec", "blockDevices") {
		if d.Str("role") == string(r) {
			names = append(names, d.Str("name"))
		}
	}
	return names
}

// readPools reads the pools of a CStorPoolCluster.
func readPools(cluster *document.Node) []*pool {
	var pools []*pool
	items := cluster.Seq("spec", "pools")
	for i := range items {
		pools = append(pools, readPool(&items[i]))
	}
	return pools
}

func readPool(n *document.Node) *pool {
	return &pool{
		hostname:  n.Str("nodeSelector", inventory.LabelHostname),
		raidType:  n.Str("poolConfig", "dataRaidGroupType"),
		data:      readGroups(n.Seq("dataRaidGroups")),
		cacheType: n.Str("poolConfig", "writeCacheGroupType"),
		cache:     readGroups(n.Seq("writeCacheRaidGroups")),
	}
}

// byHost indexes pools by the host that they select.
func byHost(pools []*pool) map[string]*pool {
	index := make(map[string]*pool, len(pools))
	for _, p := range pools {
		index[p.hostname] = p
	}
	return index
}

func readGroups(items []document.Node) [][]string {
	var groups [][]string
	for i := range items {
		var group []string
		for _, d := range items[i].Seq("blockDevices") {
			group = append(group, d.Str("blockDeviceName"))
		}
		groups = append(groups, group)
	}
	return groups
}

// otherPools lists the CStorPoolClusters that are not our own, live or held by others,
// and the instances of such.
func otherPools(facts *inventory.Facts, own func(inventory.Key) bool, held []*krm.Object) []*krm.Object {
	others := slices.DeleteFunc(append(facts.PoolClusters(), held...), func(o *krm.Object) bool {
		return o.Kind == poolClusterKind && own(key(o))
	})
	for _, i := range facts.OtherPoolInstances(own) {
		others = append(others, i.Object)
	}
	return others
}

// ownPools tells the CStorPoolClusters of the specs.
func ownPools(specs []*system.Spec) func(inventory.Key) bool {
	own := map[inventory.Key]bool{}
	for _, s := range specs {
		own[key(s.Object)] = true
	}
	return func(cluster inventory.Key) bool { return own[cluster] }
}

// takeHeld takes the block devices that the pools and storage sets of others hold.
func takeHeld(disks *place.Disks, held []*krm.Object) {
	for _, o := range held {
		for _, name := range disksOf(o) {
			disks.Take(o.Namespace, name, o.Ref.String())
		}
	}
}

// disksOf lists the block devices that a CStorPoolCluster, one of its instances or a
// storage set names.
func disksOf(o *krm.Object) []string {
	var names []string
	switch o.Kind {
	case poolClusterKind:
		for _, p := range readPools(o.Node) {
			names = append(names, p.devices()...)
		}
	case poolInstanceKind:
		return readPool(o.Node.Get("spec")).devices()
	case storageSetKind:
		for _, d := range o.Node.Seq("spec", "blockDevices") {
			names = append(names, d.Str("name"))
		}
	}
	return names
}
