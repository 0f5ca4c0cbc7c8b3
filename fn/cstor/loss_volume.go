package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/cstorvolume/chain"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// volumeLoss is what a volume can lose.
type volumeLoss struct {
	*volume.Chain
	losses      *losses
	want, need  int // replicas: replicationFactor and consistencyFactor
	replicas    []replicaLoss
	knownParts  bool     // the facts have replicas and instances
	targetNodes []string // on which its target may run; nil for any
	rule        *resilience.Rule
}

// replicaLoss is a replica with its pool.
type replicaLoss struct {
	pool        *poolLoss // nil if it is gone
	best, worst part      // what the phase allows
}

// part is what a replica is to its volume.
type part struct{ data, connected, healthy bool }

// none is a replica without data.
func (p part) none() bool { return !p.data }

// partOf is what a replica on a serving pool is by its phase, at best and at worst.
//
// Source: cstor istgt, src/replication.c (update_volstate; IsReplicaNonQuorum), 2.12; openebs/api, pkg/apis/cstor/v1 (CStorVolumeReplicaPhase), 3.6.0.
func partOf(phase string) (best, worst part) {
	switch phase {
	case "Healthy":
		best = part{data: true, connected: true, healthy: true}
	case "Degraded", "Rebuilding":
		best = part{data: true, connected: true}
	case "Offline":
		best = part{data: true}
	case "Recreate", "NewReplicaDegraded", "ReconstructingNewReplica":
	default:
		return part{data: true, connected: true, healthy: true}, part{}
	}
	return best, best
}

// on is what a replica is that is on a pool of a state.
func (p part) on(pool resilience.State) part {
	switch pool {
	case resilience.Lost:
		return part{}
	case resilience.Stops:
		return part{data: p.data}
	}
	return p
}

func (l *losses) newVolume(c *volume.Chain) *volumeLoss {
	if c.Config == nil {
		return nil
	}
	v := &volumeLoss{
		Chain: c, losses: l,
		knownParts: l.facts.Tells(cstorGroup, cstorVolumeReplicaKind, c.Namespace) && l.facts.Tells(cstorGroup, poolInstanceKind, c.Namespace),
	}
	v.want, v.need = v.factors()
	v.rule = &resilience.Rule{Judge: v.judge}
	for _, o := range c.Replicas {
		r := replicaLoss{pool: l.pools[inventory.Key{Namespace: o.Namespace, Name: volume.InstanceOf(o)}]}
		r.best, r.worst = partOf(o.Node.Str("status", "phase"))
		if r.pool != nil {
			v.rule.On = append(v.rule.On, r.pool.rule)
		}
		v.replicas = append(v.replicas, r)
	}
	v.targetNodes = l.targetNodes(c)
	v.rule.Nodes = v.targetNodes
	return v
}

// factors are the replicas that the volume has, and those that must be connected.
//
// Source: cstor-operators, pkg/controllers/cstorvolumeconfig (consistencyFactor of a new CStorVolume), 3.6.0.
func (v *volumeLoss) factors() (want, need int) {
	count := func(o *krm.Object, path ...string) int {
		if o == nil {
			return 0
		}
		n, _ := o.Node.Get(path...).Int()
		return int(n)
	}
	want, need = count(v.Target, "spec", "replicationFactor"), count(v.Target, "spec", "consistencyFactor")
	if want <= 0 {
		want = count(v.Config, "spec", "provision", "replicaCount")
	}
	if want <= 0 {
		want = len(v.Replicas)
	}
	if need <= 0 {
		need = want/2 + 1
	}
	return want, need
}

// targetNodes lists the nodes that the policy of a volume selects for its target; nil if it selects none. An empty list
// is a selector that matches no node.
//
// Source: cstor-operators, pkg/controllers/cstorvolumeconfig (Deployment of the target, nodeSelector), 3.6.0.
func (l *losses) targetNodes(c *volume.Chain) []string {
	selector := c.Config.Node.StrMap("spec", "policy", "target", "nodeSelector")
	if name := c.Config.Annotation("openebs.io/volume-policy"); len(selector) == 0 && name != "" {
		if o := l.facts.Object(krm.ID{Group: cstorGroup, Kind: chain.PolicyKind, Namespace: c.Namespace, Name: name}); o != nil {
			selector = o.Node.StrMap("spec", "target", "nodeSelector")
		}
	}
	if len(selector) == 0 || len(l.facts.Nodes) == 0 {
		return nil
	}
	nodes := []string{}
	for _, n := range l.facts.Nodes {
		matches := true
		for label, value := range selector {
			matches = matches && n.Object.Label(label) == value
		}
		if matches {
			nodes = append(nodes, n.Name)
		}
	}
	return nodes
}

// isEmpty reports whether the operators have not made the volume yet, or could not.
//
// Source: openebs/api, pkg/apis/cstor/v1 (CStorVolumeConfigPhase), 3.6.0.
func (v *volumeLoss) isEmpty() bool {
	phase := v.Config.Node.Str("status", "phase")
	return v.knownParts && len(v.replicas) == 0 && (phase == "Pending" || phase == "Failed")
}

// judge is the state of the volume.
func (v *volumeLoss) judge(at *resilience.Situation) resilience.Verdict {
	if !v.knownParts || v.want == 0 {
		return resilience.Unclear()
	}
	best, most := v.stateOf(at, true)
	worst, least := v.stateOf(at, false)
	return resilience.Between(best, worst, most, least)
}

// stateOf is the state of the volume, and how many replicas are healthy, at best or at worst. It serves if enough replicas are
// connected and one of them is healthy, or if so many are connected that one of them has every write.
//
// Source: cstor istgt, src/replication.c (update_volstate), 2.12.
func (v *volumeLoss) stateOf(at *resilience.Situation, best bool) (state resilience.State, healthy int) {
	data, connected := 0, 0
	for _, r := range v.replicas {
		p := r.at(at, best)
		if p.data {
			data++
		}
		if p.connected {
			connected++
		}
		if p.healthy {
			healthy++
		}
	}
	serves := connected >= v.need && healthy >= 1 || connected >= max(v.want-v.need+1, v.need)
	switch {
	case data == 0:
		return resilience.Lost, healthy
	case !serves, v.targetNodes != nil && !slices.ContainsFunc(v.targetNodes, func(name string) bool { return at.Node(name) == resilience.Up }):
		return resilience.Stops, healthy
	case healthy < v.want:
		return resilience.Degraded, healthy
	}
	return resilience.Safe, healthy
}

// at is what the replica is in a situation, at best or at worst.
func (r *replicaLoss) at(at *resilience.Situation, best bool) part {
	switch {
	case r.pool == nil:
		return part{}
	case best:
		return r.best.on(at.Of(r.pool.rule).Best())
	}
	return r.worst.on(at.Of(r.pool.rule).Worst)
}

// item is the volume in a table of losses.
func (v *volumeLoss) item() resilience.Item {
	return resilience.Item{System: lossSystem, Object: v.Config.Ref, Want: v.want, Need: v.need, Rule: v.rule, Advise: v.advise}
}

// advise is what to do about the volume. cStor rebuilds nothing of a volume below its quorum.
//
// Source: cstor-operators and istgt, observed: a volume that is Offline rebuilds no replica, 3.6.0.
func (v *volumeLoss) advise(at *resilience.Situation, verdict resilience.Verdict) resilience.Advice {
	var down []string
	gone := 0
	for i := range v.replicas {
		r := &v.replicas[i]
		switch p := r.at(at, false); {
		case p.none():
			gone++
		case r.pool != nil && at.Of(r.pool.rule).State == resilience.Stops:
			down = append(down, r.pool.node)
		}
	}
	gone += max(0, v.want-len(v.replicas))
	slices.Sort(down)
	down = slices.Compact(down)
	bytes := int64(resilience.None)
	if size := quantity.Bytes(v.Config.Node.Str("spec", "capacity", "storage")); size > 0 && verdict.Left != resilience.None {
		bytes = size * int64(max(0, v.want-verdict.Left))
	}
	switch {
	case verdict.State == resilience.Lost:
		return resilience.Advice{Remedy: "restore it from a backup", Rebuild: resilience.Nothing()}
	case verdict.State == resilience.Unknown && slices.ContainsFunc(v.replicas, func(r replicaLoss) bool { return r.pool != nil && !r.pool.known }):
		return resilience.Advice{Remedy: "add blockdevices to the inventory", Rebuild: resilience.Unsure()}
	case verdict.State == resilience.Unknown && !v.knownParts:
		return resilience.Advice{Remedy: "add cstorvolumereplicas and cstorpoolinstances to the inventory", Rebuild: resilience.Unsure()}
	case verdict.State == resilience.Unknown:
		return resilience.Advice{Remedy: "take the inventory again once its replicas have a phase that is known", Rebuild: resilience.Unsure()}
	case len(down) > 0:
		return resilience.Advice{Remedy: "bring back " + nodesText(down), Rebuild: resilience.Rebuild{Where: resilience.Here, Bytes: bytes}}
	case verdict.State == resilience.Stops && gone > 0:
		return resilience.Advice{Remedy: "copy its data from the replica that is left, or restore it from a backup: cStor rebuilds nothing below the consistency factor", Rebuild: resilience.Nothing()}
	case verdict.State == resilience.Stops:
		return resilience.Advice{Remedy: "make its replicas connect: kubectl -n " + v.Namespace + " describe cstorvolume " + v.Name, Rebuild: resilience.Rebuild{Where: resilience.Here, Bytes: bytes}}
	case gone > 0 && v.hasPlace(at):
		return resilience.Advice{Remedy: "give up the lost pool: poolwright render names the consent, and then moves the replica", Rebuild: resilience.Rebuild{Where: resilience.Elsewhere, Bytes: bytes}}
	case gone > 0:
		return resilience.Advice{Remedy: "add a node with disks for a pool: no other pool of the cluster can take a replica", Rebuild: resilience.Nothing()}
	}
	return resilience.Advice{Remedy: "wait until cStor has filled its replicas", Rebuild: resilience.Rebuild{Where: resilience.Here, Bytes: bytes}}
}

// hasPlace reports whether a pool of the cluster serves that has no replica of the volume.
func (v *volumeLoss) hasPlace(at *resilience.Situation) bool {
	for _, i := range v.losses.live.Instances(v.Cluster.Namespace, v.Cluster.Name) {
		p := v.losses.pools[key(i.Object)]
		has := slices.ContainsFunc(v.replicas, func(r replicaLoss) bool { return r.pool == p })
		if s := at.Of(p.rule).State; !has && (s == resilience.Safe || s == resilience.Degraded) {
			return true
		}
	}
	return false
}

// nodesText names nodes in a remedy.
func nodesText(names []string) string {
	return finding.Agree(len(names), "node ", "nodes ") + finding.Names(names)
}
