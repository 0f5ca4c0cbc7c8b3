package cstor

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// poolChoice decides which pools the CStorPoolCluster has by now.
type poolChoice struct {
	*input
	members []*member
	lacking bool // fewer nodes than wanted can supply their disks

	everyMissing bool            // no node of the cluster is in the snapshot, and all may go
	released     map[krm.ID]bool // what may go
}

// cluster is the CStorPoolCluster once every new pool has its disks; until then the
// pools that exist, and the members that have a pool in it. It is nil if there are none,
// or if one would be lost.
func (c *poolChoice) cluster() (*pool.Cluster, []*member) {
	members := c.pooled()
	if !c.keepsPools(members) {
		return nil, nil
	}
	if len(members) == 0 {
		c.removeAll()
		return nil, nil
	}
	spec := &c.cfg.Spec.PoolConfig
	cluster := &pool.Cluster{
		Namespace: c.namespace, Name: c.name,
		AllowedTags: c.spec.Object.Annotation(pool.AnnotationAllowedTags),
		Resources:   c.cfg.resources, AuxResources: c.cfg.auxResources, Tolerations: c.cfg.podTolerations,
		PriorityClassName: spec.PriorityClassName,
	}
	for _, m := range members {
		cluster.Pools = append(cluster.Pools, c.pool(m))
	}
	return cluster, members
}

// removeAll lets the CStorPoolCluster go, which cannot be empty, where nothing of it lives
// or all of it may be lost.
func (c *poolChoice) removeAll() {
	if c.lock.cluster == nil || c.lock.adopted {
		return // nothing is rendered that could go
	}
	gone := c.live.knows && c.live.cluster == nil && len(c.live.all) == 0
	if !gone && !c.consent.allowsWhole() && !c.everyMissing {
		if len(c.lock.pools) > 0 {
			c.report(finding.Error, "no-pools", "", "the last pool would go before a new one has its disks, and a CStorPoolCluster cannot be empty; keep one node until then")
		}
		return
	}
	for _, i := range c.live.all {
		if n := c.state.Live.Replicas(c.namespace, i.Name); n > 0 {
			c.report(finding.Error, "pool-in-use", "",
				"the pool on %s (CStorPoolInstance %s) cannot go: it holds %s, to be moved first", i.Hostname, i.Name, finding.Count(n, "volume replica"))
		}
	}
	c.released[c.lock.cluster.Object.ID()] = true
}

// keepsPools makes sure that no pool goes without consent.
func (c *poolChoice) keepsPools(members []*member) bool {
	kept := make(map[*nodePool]bool, len(members))
	for _, m := range members {
		kept[m.before] = true
	}
	for _, p := range c.lock.pools {
		if !kept[p] && !c.consent.allows(p.node) {
			c.report(finding.Error, "would-destroy", "", "the pool on node %s is no longer wanted, and would be lost; annotate the config with %s", p.node, c.consent.annotation(p.node))
			return false
		}
	}
	return true
}

// pooled lists the members whose pools are rendered: those that have one, in the order
// they have, then the new ones if all of them are ready.
func (c *poolChoice) pooled() []*member {
	var old, added []*member
	ready := !c.lacking
	for _, m := range c.members {
		switch {
		case m.before != nil:
			old = append(old, m)
		default:
			added = append(added, m)
			ready = ready && !m.waiting
		}
	}
	place := make(map[*nodePool]int, len(c.lock.pools))
	for i, p := range c.lock.pools {
		place[p] = i
	}
	slices.SortFunc(old, func(a, b *member) int { return cmp.Compare(place[a.before], place[b.before]) })
	if !ready {
		return old
	}
	if moving := stillMoving(c.input, c.members); moving != "" && len(added) > 0 {
		c.report(finding.Warning, "pools-wait", "", "new pools wait until %s; apply, refresh the inventory, render again", moving)
		return old
	}
	if removed := stillLive(c.input, c.members); len(removed) > 0 && len(added) > 0 {
		c.report(finding.Warning, "two-steps", "",
			"new pools wait until %s is gone from the live cluster: the cStor operator ignores an addition until a removal is done; apply, refresh the inventory, render again", removed[0])
		return old
	}
	if why := c.ailing(); why != "" && len(added) > 0 {
		c.report(finding.Warning, "pools-wait", "",
			"new pools wait while %s: the cStor webhook refuses every edit of the CStorPoolCluster until then", why)
		return old
	}
	return append(old, added...)
}

// pool is the pool of a member, with the settings of the spec.
func (c *poolChoice) pool(m *member) *pool.Pool {
	spec := &c.cfg.Spec.PoolConfig
	p := &pool.Pool{
		Hostname: m.hostname, Data: m.data, Cache: m.cache,
		Config: pool.Config{RAIDType: spec.RAIDType, Compression: spec.Compression, ThickProvision: spec.ThickProvision},
	}
	if limit := spec.ROThresholdLimit; limit != nil {
		percent := int64(*limit)
		p.ROThresholdLimit = &percent
	}
	switch {
	case len(p.Cache) == 0:
	case m.before != nil:
		p.CacheType = m.before.CacheType
	case spec.WriteCache != nil:
		p.CacheType = spec.WriteCache.RAIDType
	}
	return p
}
