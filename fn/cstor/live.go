package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// reserveLive takes what its live pools have and the lock does not know: whatever the
// lock says, data is there. Cloud disks are known by their claims, and so come back to
// their places.
func (c *cluster) reserveLive() {
	var live []*krm.Object
	if cluster := c.facts.PoolCluster(c.namespace(), c.name()); cluster != nil {
		live = append(live, cluster)
	}
	for _, i := range c.facts.PoolInstances(c.namespace(), c.name()) {
		live = append(live, i.Object)
	}
	for _, o := range live {
		for _, name := range disksOf(o) {
			if !c.pooled[name] {
				by := "the live " + o.Ref.String()
				if c.cfg.external() {
					by = c.Object.Ref.String()
				}
				c.ownLive[by] = true
				c.disks.Take(o.Namespace, name, by)
			}
		}
	}
}

// compareLive warns where the cluster has what the lock does not know. What the
// lock has more is only not applied yet.
func (c *cluster) compareLive() {
	live := c.facts.PoolCluster(c.namespace(), c.name())
	if live == nil || c.before.adopted || c.before.cluster == nil {
		return
	}
	rendered := byHost(c.before.pools)
	for _, p := range readPools(live.Node) {
		mine := rendered[p.hostname]
		if mine == nil {
			c.report(finding.Warning, "lock-differs", "",
				"the live CStorPoolCluster has a pool on %s that the rendered one lacks; the rendered one stands, apply it or restore the pool there", p.hostname)
			continue
		}
		known := mine.devices()
		for _, name := range p.devices() {
			if !slices.Contains(known, name) {
				c.report(finding.Warning, "lock-differs", "",
					"the live CStorPoolCluster has block device %s in the pool on %s and the rendered one has not; the rendered one stands, apply it or restore the device there", name, p.hostname)
			}
		}
	}
	if host := regrouped(c.before.cluster, live); host != "" {
		c.report(finding.Warning, "lock-differs", "",
			"the live CStorPoolCluster has the disks of the pool on %s in other RAID groups than the rendered one, and no pool can follow that; restore the groups there", host)
	}
}

// livePools are the pools of the live CStorPoolCluster by host.
func (c *cluster) livePools() map[string]*pool {
	if c.live == nil {
		c.live = map[string]*pool{}
		if live := c.facts.PoolCluster(c.namespace(), c.name()); live != nil {
			c.live = byHost(readPools(live.Node))
		}
	}
	return c.live
}

// livePool is the pool that lives on a host: of the live CStorPoolCluster, or, where
// nothing is known of that, of an instance.
func (c *cluster) livePool(hostname string) *pool {
	if p := c.livePools()[hostname]; p != nil {
		return p
	}
	i := c.poolInstance(hostname)
	if i == nil || i.Object.Deleting() || c.facts.PoolCluster(c.namespace(), c.name()) != nil {
		return nil
	}
	p := readPool(i.Object.Node.Get("spec"))
	p.hostname = hostname
	return p
}

// poolInstance is the instance of the cluster on a host, or nil.
func (c *cluster) poolInstance(hostname string) *inventory.PoolInstance {
	if c.instanceOf == nil {
		c.instanceOf = map[string]*inventory.PoolInstance{}
		for _, i := range c.facts.PoolInstances(c.namespace(), c.name()) {
			c.instanceOf[i.Hostname] = i
		}
	}
	return c.instanceOf[hostname]
}

// refuseHost refuses a host for a new pool where one of this cluster is already that
// cannot be taken back.
func (c *cluster) refuseHost(n *inventory.Node, pools map[string]*pool) string {
	if p := pools[n.Hostname]; p != nil {
		return "the pool of node " + p.node + " is on its host"
	}
	if live := c.livePool(n.Hostname); live != nil {
		if why := c.keptOut(n.Name, live); why != "" {
			return "a pool of the cluster lives on it that the rendered one lacks, and cannot be taken back: " + why
		}
		return ""
	}
	if i := c.poolInstance(n.Hostname); i != nil {
		return "CStorPoolInstance " + i.Name + " of a pool that goes is still on it"
	}
	return ""
}

// keptOut says why a live pool cannot be taken back for a node, or "" if it can: it must
// be what the spec would have made, of disks that are there and nobody else's.
func (c *cluster) keptOut(node string, p *pool) string {
	if c.consents(node) {
		return "its removal is allowed"
	}
	disk := &c.cfg.Spec.DiskConfig
	unlike := func(group []string) bool { return p.raidType != stripe && len(group) != disk.GroupSize }
	if p.raidType != c.cfg.Spec.PoolConfig.RAIDType || len(flatten(p.data)) == 0 || slices.ContainsFunc(p.data, unlike) ||
		c.cfg.external() && len(flatten(p.data)) > disk.MinCount {
		return "it is not as the spec wants it"
	}
	for _, name := range p.devices() {
		d := c.facts.Device(c.namespace(), name)
		switch {
		case d == nil:
			return "its block device " + name + " is missing from the inventory"
		case c.pooled[name]:
			return "its block device " + name + " is in another pool of the cluster"
		case c.disks.Holder(d) != c.Object.Ref.String() && !c.ownLive[c.disks.Holder(d)]:
			return "its block device " + name + " is taken by " + c.disks.Holder(d)
		case !c.cfg.external() && len(c.facts.VolumesOn(d)) > 0:
			return "its block device " + name + ": " + isVolume(c.facts.VolumesOn(d))
		}
	}
	cloud := map[role]int{}
	if c.cfg.external() {
		cloud[data] = len(flatten(p.data))
	}
	if c.cfg.cacheExternal() {
		cloud[cache] = len(flatten(p.cache))
	}
	for _, r := range []role{data, cache} {
		for i := range cloud[r] {
			name := storageName(c.name(), node, r, i)
			if c.before.objects[c.claimID(name)] == nil && c.facts.VolumeClaim(c.namespace(), name) == nil {
				return "nobody knows its PersistentVolumeClaim " + name
			}
		}
	}
	return ""
}

// takeBack makes a live pool, of which the lock has lost track, that of its node again.
func (c *cluster) takeBack(m *member, p *pool) {
	m.before, p.node = p, m.name
	c.before.pools = append(c.before.pools, p)
	c.before.poolOf[m.name] = p
	for _, name := range p.devices() {
		c.pooled[name] = true
	}
	c.report(finding.Warning, "pool-taken-back", "",
		"the pool that lives on node %s is taken back: the rendered CStorPoolCluster had lost it; to have it removed, annotate the config with %s", m.name, c.consentFor(m.name))
}

// restore takes back the live pool of a node of the plan that has none in the lock.
func (c *cluster) restore(m *member) {
	p := c.livePool(m.hostname)
	if p == nil || m.before != nil || m.node == nil || c.consents(m.name) {
		return
	}
	if why := c.keptOut(m.name, p); why != "" {
		c.report(finding.Error, "pool-lost", "", "a pool lives on node %s that the rendered CStorPoolCluster has lost, and cannot be taken back: %s; restore it in rendered/ from Git", m.name, why)
		return
	}
	c.takeBack(m, p)
}
