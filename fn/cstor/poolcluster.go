package cstor

import (
	"slices"
	"strconv"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/krm"
)

// poolCluster is one CStorPoolCluster of a config, as it was rendered and as it lives. Its
// edits go by themselves, whatever those of the others wait for; nodes, disks and consent
// are the config's.
type poolCluster struct {
	name    string
	number  int           // from 1, for the one that is called like the config
	before  *pool.Cluster // as it was rendered, or else lives; nil if there is none yet
	current *pool.Cluster // that lives, or nil
	begun   []begun       // the steps of its transition, the one that was rendered last at the end
	ends    bool          // none was to come after them

	// Of a render:
	steps *steps
	drain *draining
	disks int // that its pools have, but for those that go, and are to get in this run
}

// live is the object that lives, or nil.
func (c *poolCluster) live() *krm.Object {
	if c.current == nil {
		return nil
	}
	return c.current.Object
}

// maxLabel is the longest value of a label, as which the operators use the name of a
// CStorPoolCluster.
//
// Source: Kubernetes, Labels and Selectors, 1.36.
const maxLabel = 63

// poolCluster is the name of the CStorPoolCluster of a number.
func (n names) poolCluster(number int) string {
	if number == 1 {
		return n.name
	}
	return joinWithin(maxLabel, n.name, strconv.Itoa(number))
}

// findPoolClusters finds the CStorPoolClusters of a config: the first, which is there in any
// case, and those that were rendered, that the plan remembers, or that live and are its own.
func findPoolClusters(n names, owner string, before []*krm.Object, state admission.State) []*poolCluster {
	known := map[string]bool{}
	for _, o := range before {
		switch o.Kind {
		case poolClusterKind:
			known[o.Name] = true
		case clusterPlanKind:
			for _, c := range o.Node.Seq("spec", "clusters") {
				known[c.Str("name")] = true
			}
		}
	}
	for _, c := range state.Live.Clusters {
		known[c.Name] = known[c.Name] || c.Namespace == n.namespace && c.Object.Owner() == owner
	}
	clusters := []*poolCluster{newPoolCluster(n, 1, state)}
	found := 0
	for name := range known {
		if known[name] && name != n.name {
			found++
		}
	}
	for number := 2; found > 0 && number <= maxPoolClusters; number++ {
		if known[n.poolCluster(number)] {
			clusters = append(clusters, newPoolCluster(n, number, state))
			found--
		}
	}
	return clusters
}

// maxPoolClusters is more than any config can have: as many as it may have pools.
//
// Source: Poolwright.
const maxPoolClusters = 10000

func newPoolCluster(n names, number int, state admission.State) *poolCluster {
	name := n.poolCluster(number)
	return &poolCluster{name: name, number: number, current: state.Resolve(state.Live.Cluster(n.namespace, name))}
}

// clusterNamed is the CStorPoolCluster of a name, or nil.
func (l *lock) clusterNamed(name string) *poolCluster {
	if i := slices.IndexFunc(l.clusters, func(c *poolCluster) bool { return c.name == name }); i >= 0 {
		return l.clusters[i]
	}
	return nil
}

// clusterOf is the CStorPoolCluster that a node has its pool in, or is to have it in; the
// first for a node of which nothing is decided.
func (l *lock) clusterOf(node string) *poolCluster {
	if p := l.pool(node); p != nil {
		return p.of
	}
	if c := l.planned[node]; c != nil {
		return c
	}
	return l.clusters[0]
}

// poolsOf lists the pools of a CStorPoolCluster, in order.
func (l *lock) poolsOf(c *poolCluster) []*nodePool {
	return slices.DeleteFunc(slices.Clone(l.pools), func(p *nodePool) bool { return p.of != c })
}

// rendered reports whether there is any CStorPoolCluster yet.
func (l *lock) rendered() bool {
	return slices.ContainsFunc(l.clusters, func(c *poolCluster) bool { return c.before != nil })
}

// lives reports whether any CStorPoolCluster lives.
func (l *lock) lives() bool {
	return slices.ContainsFunc(l.clusters, func(c *poolCluster) bool { return c.current != nil })
}

// busy reports whether a step of any CStorPoolCluster is under way, taken or asked for.
func (l *lock) busy() bool {
	return slices.ContainsFunc(l.clusters, func(c *poolCluster) bool { return c.steps.busy() })
}

// isSplit reports whether there are, or may be, several CStorPoolClusters.
func (in *input) isSplit() bool {
	return len(in.lock.clusters) > 1 || in.cfg.Spec.PoolConfig.MaxDisksPerCluster > 0
}
