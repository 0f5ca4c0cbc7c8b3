package diskpool

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/resilience"
)

// lossSystem is what a table of losses calls the system.
const lossSystem = "mayastor"

// Storage implements system.Survivor: the DiskPools, and the volumes of the classes of Mayastor.
func (System) Storage(facts *inventory.Facts, disks *disk.Ledger) resilience.Storage {
	f := newForest(facts, disks)
	s := resilience.Storage{VolumeKind: krm.GroupKind{Kind: volumeKind}}
	pools := map[*krm.Object]*poolLoss{}
	for _, o := range f.pools {
		p := f.newPoolLoss(o)
		pools[o] = p
		s.Pools = append(s.Pools, p.item())
	}
	groups := map[string]*placement{} // by class
	for _, v := range facts.Volumes() {
		if v.Driver != driver {
			continue
		}
		o := facts.Object(krm.ID{Kind: volumeKind, Name: v.Name})
		name := o.Node.Str("spec", "storageClassName")
		if groups[name] == nil {
			groups[name] = f.newPlacement(facts.Object(class.ID(name)), pools)
		}
		s.Volumes = append(s.Volumes, groups[name].item(o, resilience.ClaimedBytes(facts, v)))
		s.Covered = append(s.Covered, v.Name)
	}
	return s
}

// poolLoss is what a pool can lose: it has one disk, on one node.
//
// Source: mayastor-control-plane, k8s/operators/src/pool (a DiskPool has one disk), 2.12.
type poolLoss struct {
	object *krm.Object
	node   string
	disk   *disk.Disk // nil if nobody reports it
	serves bool
	state  state
	rule   *resilience.Rule
}

func (f *forest) newPoolLoss(o *krm.Object) *poolLoss {
	p := &poolLoss{object: o, node: o.Node.Str("spec", "node"), disk: f.disk(o), state: stateOf(o)}
	p.serves = p.state.online || p.state.reason == degraded
	p.rule = &resilience.Rule{Nodes: []string{p.node}, Pools: []krm.ID{o.ID()}, Judge: p.judge}
	if p.disk != nil {
		p.rule.Disks = []*disk.Disk{p.disk}
	}
	return p
}

// judge is the state of the pool.
//
// Source: mayastor-control-plane, k8s/operators/src/pool/diskpool/crd/v1beta3.rs (PoolStatus), 2.12.
func (p *poolLoss) judge(at *resilience.Situation) resilience.Verdict {
	node, named := at.Node(p.node), at.Pool(p.object.ID())
	v := resilience.Verdict{State: resilience.Safe, Left: 1}
	switch {
	case node == resilience.Gone, named == resilience.Gone, p.disk != nil && at.IsLost(p.disk):
		v = resilience.Verdict{State: resilience.Lost}
	case node == resilience.Stopped, named == resilience.Stopped, !p.serves:
		v.State = resilience.Stops
	case !p.state.online:
		v.State = resilience.Degraded
	}
	v.Worst = v.State
	return v
}

func (p *poolLoss) item() resilience.Item {
	return resilience.Item{System: lossSystem, Object: p.object.Ref, Want: 1, Need: 1, Rule: p.rule, Advise: p.advise}
}

func (p *poolLoss) advise(at *resilience.Situation, v resilience.Verdict) resilience.Advice {
	advice := resilience.Advice{Rebuild: resilience.Nothing()}
	switch {
	case v.State == resilience.Lost:
		advice.Remedy = "give the pool up, and let the set choose another disk: poolwright render names the consent"
	case at.Node(p.node) != resilience.Up:
		advice.Remedy = "bring back node " + p.node
	default:
		advice.Remedy = "see what the pool reports: kubectl -n " + p.object.Namespace + " describe diskpool " + p.object.Name
	}
	return advice
}

// placement is where the replicas of the volumes of a class may be: on distinct nodes, each on a pool that the class finds. No
// object says on which, so that the best and the worst of all choices count. Any replica serves, without a quorum; the nexus
// moves to another node.
//
// Source: Mayastor, documentation, replicas of a volume are on distinct nodes, 2.12.
// Source: Mayastor, release notes of v2.0.0 (the nexus moves when its node fails), 2.0.
type placement struct {
	replicas int
	nodes    [][]*poolLoss // of each node
	known    bool
	rule     *resilience.Rule
}

// newPlacement makes that of a class, which may be nil.
func (f *forest) newPlacement(sc *krm.Object, pools map[*krm.Object]*poolLoss) *placement {
	p := &placement{replicas: resilience.None, known: f.facts.Tells(group, poolKind, "")}
	p.rule = &resilience.Rule{Judge: p.judge}
	if sc == nil {
		return p
	}
	if n, err := strconv.Atoi(cmp.Or(sc.Node.Str("parameters", "repl"), "1")); err == nil && n > 0 {
		p.replicas = n
	}
	byNode := map[string]int{}
	for _, o := range f.poolsOf(sc) {
		pool := pools[o]
		at, found := byNode[pool.node]
		if !found {
			at = len(p.nodes)
			byNode[pool.node] = at
			p.nodes = append(p.nodes, nil)
		}
		p.nodes[at] = append(p.nodes[at], pool)
		p.rule.On = append(p.rule.On, pool.rule)
	}
	return p
}

func (p *placement) judge(at *resilience.Situation) resilience.Verdict {
	if !p.known || p.replicas == resilience.None {
		return resilience.Unclear()
	}
	var best, worst []resilience.State // the best and the worst pool of each node
	for _, pools := range p.nodes {
		good, bad := resilience.Lost, resilience.Safe
		for _, pool := range pools {
			s := at.Of(pool.rule).State
			if bad = resilience.Worse(bad, s); good.WorseThan(s) {
				good = s
			}
		}
		best, worst = append(best, good), append(worst, bad)
	}
	slices.SortFunc(best, resilience.State.Compare)
	slices.SortFunc(worst, func(a, b resilience.State) int { return b.Compare(a) })
	first, most := p.stateOf(best)
	last, least := p.stateOf(worst)
	return resilience.Between(first, last, most, least)
}

// stateOf is the state of a volume with its replicas on the first of some nodes.
func (p *placement) stateOf(nodes []resilience.State) (s resilience.State, healthy int) {
	kept := 0
	for _, s := range nodes[:min(p.replicas, len(nodes))] {
		switch s {
		case resilience.Safe, resilience.Degraded:
			healthy++
			kept++
		case resilience.Stops:
			kept++
		}
	}
	switch {
	case healthy >= p.replicas:
		return resilience.Safe, healthy
	case healthy > 0:
		return resilience.Degraded, healthy
	case kept > 0:
		return resilience.Stops, healthy
	}
	return resilience.Lost, healthy
}

// item is a volume of the class.
func (p *placement) item(o *krm.Object, size int64) resilience.Item {
	item := resilience.Item{System: lossSystem, Object: o.Ref, Want: p.replicas, Need: 1, Rule: p.rule}
	item.Advise = func(at *resilience.Situation, v resilience.Verdict) resilience.Advice { return p.advise(at, v, size) }
	return item
}

func (p *placement) advise(at *resilience.Situation, v resilience.Verdict, size int64) resilience.Advice {
	serving, down := 0, 0
	for _, pools := range p.nodes {
		is := func(states ...resilience.State) bool {
			return slices.ContainsFunc(pools, func(pool *poolLoss) bool { return slices.Contains(states, at.Of(pool.rule).State) })
		}
		switch {
		case is(resilience.Safe, resilience.Degraded):
			serving++
		case is(resilience.Stops):
			down++
		}
	}
	bytes := size
	if size > 0 && v.Left != resilience.None {
		bytes = size * int64(max(0, p.replicas-v.Left))
	} else if size > 0 {
		bytes = size * int64(p.replicas)
	}
	switch {
	case v.State == resilience.Lost:
		return resilience.Advice{Remedy: "restore it from a backup", Rebuild: resilience.Nothing()}
	case !p.known || p.replicas == resilience.None:
		return resilience.Advice{Remedy: "add diskpools and storageclasses to the inventory", Rebuild: resilience.Unsure()}
	case v.State == resilience.Unknown:
		return resilience.Advice{Remedy: "see where its replicas are: kubectl mayastor get volume-replica-topologies", Rebuild: resilience.Unsure()}
	case serving >= p.replicas:
		return resilience.Advice{Remedy: "wait: Mayastor makes the replica again on another node", Rebuild: resilience.Rebuild{Where: resilience.Elsewhere, Bytes: bytes}}
	case down > 0:
		return resilience.Advice{Remedy: "bring back the nodes and pools that are down", Rebuild: resilience.Rebuild{Where: resilience.Here, Bytes: bytes}}
	}
	return resilience.Advice{Remedy: "add a node with a DiskPool: no other node can take a replica", Rebuild: resilience.Nothing()}
}
