package cstor

import (
	"cmp"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// poolChoice decides which pools a CStorPoolCluster has by now.
type poolChoice struct {
	*input
	of      *standing.Cluster
	members []*member // of it
	lacking bool      // fewer nodes than wanted can supply their disks

	mayEmpty bool            // it may go with its last pool
	released map[krm.ID]bool // what may go
}

// edit is a CStorPoolCluster as it is to be by now, nil for none, and the members that have a
// pool in it.
type edit struct {
	wanted  *pool.Cluster
	members []*member
}

// edit takes the steps that come next. There is none if no pool is left, or if one would be lost.
func (c *poolChoice) edit() edit {
	old, added := c.pooled()
	if !c.keepsPools(old) {
		return edit{}
	}
	from := &pool.Cluster{Namespace: c.namespace, Name: c.of.Name, AllowedTags: c.spec.Object.Annotation(pool.AnnotationAllowedTags)}
	if c.of.Before == nil {
		c.cfg.setShared(from)
	} else {
		was := c.of.Before
		from.Resources, from.AuxResources, from.Tolerations, from.PriorityClassName = was.Resources, was.AuxResources, was.Tolerations, was.PriorityClassName
	}
	for _, m := range old {
		kept := *m.before.Pool
		kept.Hostname = m.hostname
		if len(kept.Cache) == 0 {
			kept.CacheType = ""
		}
		from.Pools = append(from.Pools, &kept)
	}
	c.askForPools(added)
	askForSettings(c.steps(c.of), from)
	cluster := c.steps(c.of).next(from)
	if len(cluster.Pools) == 0 {
		c.removeAll()
		return edit{}
	}
	e := edit{wanted: cluster}
	for _, p := range cluster.Pools {
		i := slices.IndexFunc(c.members, func(m *member) bool { return m.hostname == p.Hostname })
		c.members[i].data, c.members[i].cache = p.Data, p.Cache
		e.members = append(e.members, c.members[i])
	}
	return e
}

// askForPools asks for the pools of new members, once all of them have their disks.
func (c *poolChoice) askForPools(added []*member) {
	ready := !c.lacking && !slices.ContainsFunc(added, func(m *member) bool { return m.waiting })
	for _, m := range added {
		s := step{kind: stepAdd, disks: len(m.data.Disks()) + len(m.cache.Disks()), what: poolComes(m.name), edit: func(cluster *pool.Cluster) {
			cluster.Pools = append(cluster.Pools, c.newPool(m))
		}}
		if !ready {
			s.wait = "until the disks of all new pools are there"
		}
		c.steps(c.of).ask(s)
	}
}

// removeAll lets the CStorPoolCluster go, which cannot be empty, where nothing of it lives
// or all of it may be lost. No volume is on it: a pool goes only once none is.
func (c *poolChoice) removeAll() {
	if c.of.Before == nil || c.standing.IsAdopted() {
		return // nothing is rendered that could go
	}
	gone := c.live.knows && c.of.Current == nil && len(c.state.Live.Instances(c.namespace, c.of.Name)) == 0
	if gone || c.mayEmpty {
		c.released[c.of.Before.Object.ID()] = true
	}
}

// volumesOn lists the volumes with a replica on any of some pools, by name.
func (e *existing) volumesOn(pools []*pool.Instance) []string {
	instances, volumes := map[string]bool{}, map[string]bool{}
	for _, i := range pools {
		instances[i.Name] = true
	}
	for _, o := range e.facts.Objects(cstorGroup, cstorVolumeReplicaKind) {
		if o.Namespace == e.namespace && instances[o.Label(pool.LabelInstance)] {
			volumes[cmp.Or(o.Label(volume.LabelVolume), o.Name)] = true
		}
	}
	return slices.Sorted(maps.Keys(volumes))
}

// keepsPools makes sure that no pool goes without consent.
func (c *poolChoice) keepsPools(members []*member) bool {
	kept := make(map[*standing.Pool]bool, len(members))
	for _, m := range members {
		kept[m.before] = true
	}
	for _, p := range c.standing.PoolsOf(c.of) {
		if !kept[p] && !c.consent.allows(p.Node) {
			c.report(finding.Error, "would-destroy", "", "the pool on node %s is no longer wanted, and would be lost; annotate the config with %s", p.Node, c.consent.annotation(p.Node))
			return false
		}
	}
	return true
}

// pooled lists the members that have a pool, in the order of the pools, and the others.
func (c *poolChoice) pooled() (old, added []*member) {
	for _, m := range c.members {
		if m.before != nil {
			old = append(old, m)
		} else {
			added = append(added, m)
		}
	}
	place := make(map[*standing.Pool]int, len(c.standing.Pools()))
	for i, p := range c.standing.Pools() {
		place[p] = i
	}
	slices.SortFunc(old, func(a, b *member) int { return cmp.Compare(place[a.before], place[b.before]) })
	return old, added
}

// newPool is the first pool of a member.
func (c *poolChoice) newPool(m *member) *pool.Pool {
	wanted := c.settings(m.name)
	p := &pool.Pool{Hostname: m.hostname, Data: m.data, Cache: m.cache, Config: pool.Config{RAIDType: wanted.raidType}}
	if w := wanted.writeCache; w != nil && len(p.Cache) > 0 {
		p.CacheType = w.RAIDType
	}
	wanted.set(p)
	return p
}
