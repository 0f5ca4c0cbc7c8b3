package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/krm"
)

// poolCluster is one CStorPoolCluster of a config, as it was rendered and as it lives. Its
// edits go by themselves, whatever those of the others wait for; nodes, disks and consent
// are the config's.
type poolCluster struct {
	name    string
	before  *pool.Cluster // as it was rendered, or else lives; nil if there is none yet
	current *pool.Cluster // that lives, or nil
	begun   []begun       // the steps of its transition, the one that was rendered last at the end

	// Of a render:
	steps *steps
	drain *draining
}

// live is the object that lives, or nil.
func (c *poolCluster) live() *krm.Object {
	if c.current == nil {
		return nil
	}
	return c.current.Object
}

// findPoolClusters finds the CStorPoolClusters of a config.
func findPoolClusters(n names, live *pool.Live) []*poolCluster {
	return []*poolCluster{{name: n.name, current: live.Cluster(n.namespace, n.name)}}
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
