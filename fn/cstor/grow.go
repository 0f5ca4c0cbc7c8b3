package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// growPool asks for the disks by which minCount was raised.
func (l *localDisks) growPool(m *member, s *supply) {
	disk := &l.cfg.Spec.DiskConfig
	have := len(m.data.Disks())
	switch missing := disk.MinCount - have; {
	case missing < 0:
		l.report(finding.Warning, "count-lowered", "spec.diskConfig.minCount",
			"is %d, and the pool on node %s keeps its %s: disks cannot be taken out of a pool", disk.MinCount, m.name, finding.Count(have, "disk"))
	case missing > 0:
		groups, size := missing/disk.GroupSize, disk.GroupSize
		if l.cfg.Spec.PoolConfig.RAIDType == pool.Stripe {
			groups, size = 1, missing
		}
		added := l.pickData(*s, groups, size)
		if added == nil || m.node == nil {
			l.report(finding.Warning, "awaiting-devices", "spec.diskConfig.minCount",
				"awaiting %s more, of %s or more, on node %s, which has %d that can be used; the pool stays as it is",
				finding.Count(missing, "disk"), quantity.Size(l.cfg.minCapacity), m.name, len(s.data))
			break
		}
		s.remove(added)
		for group := range slices.Chunk(added, size) {
			l.steps.ask(growth(m, deviceNames(group), func(wait string) { l.grown(m, group, wait) }))
		}
	}
}

// grown takes the disks of a step of growth, unless it waits.
func (l *localDisks) grown(m *member, group []*inventory.BlockDevice, wait string) {
	if wait == "" {
		l.takeAll(m.name, data, group)
		return
	}
	for _, d := range group {
		l.choose(l.deviceRef(d.Name), m.name, data, place.Free, "the pool is to grow by it, which waits "+wait+": "+describe(d))
	}
}

// growPool asks for the volumes that follow the pool's own, by which minCount was raised.
func (c *cloudDisks) growPool(m *member, devices []string, complete bool) {
	have, size := len(m.before.Data.Disks()), c.cfg.Spec.DiskConfig.GroupSize
	missing := c.cfg.Spec.DiskConfig.MinCount - have
	if missing <= 0 {
		return
	}
	if !complete {
		s := growth(m, nil, nil)
		s.what, s.wait = "the pool on node "+m.name+" gets "+finding.Count(missing, "disk"), "until its new volumes are there"
		c.steps.ask(s)
		return
	}
	if c.cfg.Spec.PoolConfig.RAIDType == pool.Stripe {
		size = missing
	}
	for group := range slices.Chunk(devices[len(devices)-missing:], size) {
		c.steps.ask(growth(m, group, nil))
	}
}

// growth is the step by which the pool of a member gets one RAID group, or a stripe disks.
func growth(m *member, disks []string, settle func(wait string)) step {
	return step{
		kind: stepGrow, what: "the pool on node " + m.name + " gets " + finding.Names(disks), settle: settle,
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
