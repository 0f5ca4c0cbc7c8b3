package cstor

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/schema/finding"
)

// makeRoom plans a pool on another node where one is too full and none of the cluster can
// grow, and reports whether it has. It comes when every cluster has the disks that it takes in
// this render: the same facts, rendered again, must not give another answer. It is a step of
// its own.
func (c *cluster) makeRoom() bool {
	if c.failed() || c.old || c.busy() {
		return false
	}
	why := c.full.room(c.nodes.members)
	if why == "" {
		return false
	}
	added := c.nodes.addForRoom(why)
	if len(added) == 0 || c.failed() {
		return false
	}
	c.takeDisks(added...)
	for _, of := range c.standing.Clusters() {
		if slices.ContainsFunc(added, func(m *member) bool { return m.of == of }) {
			c.takeSteps(of)
		}
	}
	c.finish(added...)
	return true
}

// busy reports whether a step is under way, taken, asked for, or refused until a pool is mended,
// but for removals that wait, since the volumes of a pool that goes may need the room, and
// volumes that are to grow, for which no other step waits.
func (s *steps) busy() bool {
	edits := func(a step) bool { return a.kind != stepEnlarge }
	comes := func(a step) bool { return edits(a) && a.kind != stepRemove }
	return s.last.wait != "" || !s.free() && s.ailing() != "" || slices.ContainsFunc(s.taken, edits) || slices.ContainsFunc(s.asked, comes)
}

// room says why a pool on another node is to be added: a pool is too full, and none of the
// cluster can grow. Those that come are to be there first, and the one that was added for that
// last is to be used first.
func (f *fullPools) room(members []*member) string {
	var full *member
	for _, m := range members {
		switch {
		case m.before == nil, f.steps(m.of).free(), m.reason == reasonRoom && m.full == "" && m.grown.Count == 0:
			return ""
		case m.full != "" && full == nil:
			full = m
		}
	}
	if full == nil || slices.ContainsFunc(members, f.canGrow) {
		return ""
	}
	return fmt.Sprintf("the pool on node %s is %d percent full, and no pool of the cluster can grow", full.name, full.grows.Level)
}

// canGrow reports whether a pool could grow once: its CStorPoolCluster has room, and its node
// the disks, if a cloud does not make them.
func (f *fullPools) canGrow(m *member) bool {
	wanted := f.settings(m.name)
	if fits := f.hasRoom(m.of, wanted.expansionDisks()); !fits || wanted.external() {
		return fits
	}
	s := f.offer(m.name, m.hostname, m.node)
	s.remove(named(s.data, m.spare))
	return f.pickGrowth(m.name, s, wanted.expansionDisks()) != nil
}

// addForRoom adds one member more than are wanted, or those by which a further
// CStorPoolCluster begins; none where there is none to add.
func (c *nodeChoice) addForRoom(why string) []*member {
	if c.missing > 0 || c.staying() >= c.maximum {
		return nil
	}
	added := c.pick(c.suppliers(c.able), min(c.maximum-c.staying(), c.clusters.atOnce()))
	for _, m := range added {
		m.reason = reasonRoom
		c.report(finding.Info, "pool-for-room", "spec.poolConfig.poolExpansion", "a pool comes on node %s: %s", m.name, why)
	}
	return added
}
