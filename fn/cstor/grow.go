package cstor

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// growPool asks for the disks by which minCount was raised, or by which a pool grows that is
// too full. s is what it may take, of what its node has left.
func (l *localDisks) growPool(m *member, s *supply, left *leftover) {
	wanted := l.settings(m.name)
	want, have := wanted.minCount, len(m.data.Disks())
	missing := want - have
	switch {
	case m.leaving != "":
		return // what comes into it would go with it
	case missing < 0 && m.grown.Count == 0 && m.full == "":
		l.report(finding.Warning, "count-lowered", wanted.field("minCount"),
			"is %d, and the pool on node %s keeps its %s: disks cannot be taken out of a pool", want, m.name, finding.Count(have, "disk"))
		return
	case missing <= 0 && m.full == "":
		return
	case missing <= 0:
		missing = wanted.expansionDisks()
	}
	if !l.hasRoom(m.of, missing) {
		l.tellNoRoom(m)
		return
	}
	added := l.pickGrowth(m.name, *s, missing)
	if m.node == nil {
		added = nil
	}
	switch {
	case added == nil && want <= have:
		l.tellFull(m, s)
		return
	case added == nil:
		l.report(finding.Warning, awaitingDevices, wanted.field("minCount"),
			"awaiting %s more, of %s or more, on node %s, which has %d that can be used; the pool stays as it is",
			finding.Count(missing, "disk"), quantity.Size(wanted.minCapacity), m.name, len(s.data))
		return
	}
	l.works[m.of].disks += missing
	for group := range slices.Chunk(added, wanted.growthSize(missing)) {
		g := growth(m, deviceNames(group), func(wait string) { l.grow(m, left, group, wait) })
		if want <= have {
			g.what += m.whyFull()
		}
		l.steps(m.of).ask(g)
	}
}

// tellNoRoom says of a pool that is to grow that its CStorPoolCluster has as many disks as it
// may have.
func (in *input) tellNoRoom(m *member) {
	if m.full == "" {
		in.report(finding.Warning, "cluster-full", in.settings(m.name).field("minCount"),
			"is %d, and the pool on node %s keeps its %s: %s; raise that as far as the time of the webhook allows, or move what is on it to pools of another CStorPoolCluster",
			in.settings(m.name).minCount, m.name, finding.Count(len(m.before.Data.Disks()), "disk"), in.full(m.of))
		return
	}
	in.report(finding.Warning, rulePoolFull, "spec.poolConfig.poolExpansion",
		"the pool on node %s (CStorPoolInstance %s) is %d percent full, which is not below the threshold of %.0f percent, and cannot grow: %s; pools of a further CStorPoolCluster can take what comes",
		m.name, m.full, m.grows.Level, in.cfg.Spec.PoolConfig.PoolExpansion.Threshold.Used*100, in.full(m.of))
}

// whyFull says why a pool grows by itself.
func (m *member) whyFull() string {
	return fmt.Sprintf(", since it is %d percent full", m.grows.Level)
}

// growthSize is how many of the missing disks come in one step.
func (s *settings) growthSize(missing int) int {
	if s.raidType == pool.Stripe {
		return missing
	}
	return s.groupSize
}

// pickGrowth chooses so many disks more for the pool of a node, in whole groups, or nil.
func (st *stock) pickGrowth(node string, s supply, missing int) []*inventory.BlockDevice {
	size := st.settings(node).growthSize(missing)
	return st.pickData(s, missing/size, size)
}

// grow takes the disks of a step of growth, unless it waits.
func (l *localDisks) grow(m *member, left *leftover, group []*inventory.BlockDevice, wait string) {
	if wait != "" {
		for _, d := range group {
			left.growth[d.Name] = wait
		}
		return
	}
	if m.full != "" {
		m.grown = m.grows
	}
	l.takeAll(m.name, record.Data, group)
	left.remove(group)
}

// setWants decides how many cloud disks a member has for data: claims come before their disks.
// Of a pool that is too full those of one RAID group more.
func (c *cloudDisks) setWants(m *member) {
	count := c.settings(m.name).minCount
	if m.wants = count; m.before == nil {
		return
	}
	have := len(m.before.Data.Disks())
	known := max(have, m.grown.Disks) // which its CStorPoolCluster has room for
	if m.leaving != "" {
		m.wants = known // what comes into it would go with it
		return
	}
	if m.full != "" && count <= have && c.steps(m.of).refusal(stepGrow, false) == "" && c.hasRoom(m.of, m.grows.Disks-known) {
		m.grown = m.grows
	}
	m.wants = max(count, m.grown.Disks)
	switch more := m.wants - known; {
	case more > 0 && c.hasRoom(m.of, more):
		c.works[m.of].disks += more
	case more > 0:
		m.wants = known
		c.tellNoRoom(m)
	case m.full != "" && !c.hasRoom(m.of, m.grows.Disks-known):
		c.tellNoRoom(m)
	}
}

// growPool asks for the volumes that follow the pool's own, by which minCount was raised, or
// which it gets since it is too full.
func (c *cloudDisks) growPool(m *member, devices []string, complete bool) {
	have, wanted := len(m.before.Data.Disks()), c.settings(m.name)
	missing := m.wants - have
	if missing <= 0 {
		return
	}
	if !complete {
		s := growth(m, nil, nil)
		s.what, s.wait, s.comes = "the pool on node "+m.name+" gets "+finding.Count(missing, "disk"), "until the new volumes of node "+m.name+" are there", true
		c.steps(m.of).ask(s)
		return
	}
	for group := range slices.Chunk(devices[len(devices)-missing:], wanted.growthSize(missing)) {
		c.steps(m.of).ask(growth(m, group, nil))
	}
}

// growth is the step by which the pool of a member gets one RAID group, or a stripe disks.
func growth(m *member, disks []string, settle func(wait string)) step {
	return step{
		kind: stepGrow, disks: len(disks), what: poolGets(m.name, disks), settle: settle,
		edit: func(c *pool.Cluster) {
			p := c.Host(m.hostname)
			if p.RAIDType == pool.Stripe && len(p.Data) > 0 {
				p.Data = pool.Groups{slices.Concat(p.Data[0], disks)}
				return
			}
			p.Data = append(p.Data, disks)
		},
	}
}

func deviceNames(devices []*inventory.BlockDevice) []string {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = d.Name
	}
	return names
}
