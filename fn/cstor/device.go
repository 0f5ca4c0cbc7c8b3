package cstor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

func (c *cluster) deviceRef(name string) finding.Ref {
	return finding.Ref{APIVersion: "openebs.io/v1alpha1", Kind: blockDeviceKind, Namespace: c.namespace(), Name: name}
}

// cannotSupply says why a node cannot supply a new pool, or "".
func (c *cluster) cannotSupply(n *inventory.Node) string {
	s := c.offer(n.Hostname, n)
	_, reason := c.pick(n.Name, s)
	if reason != "" {
		c.refuse(n.Name, s)
	}
	return reason
}

// placeDevices gives a member its local disks.
func (c *cluster) placeDevices(m *member) {
	s := c.offer(m.hostname, m.node)
	spares := named(s.data, c.before.reserved(m.name, spare))
	rest := s
	rest.remove(spares)
	lack := ""
	if m.before == nil {
		_, lack = c.pick(m.name, rest)
	}
	if lack == "" {
		s = rest
	} else {
		spares = nil // a pool that is not built yet needs them more
	}
	if m.before != nil {
		m.data, m.cache = m.before.data, m.before.cache
		c.keepDevices(m.name, data, flatten(m.data))
		c.keepDevices(m.name, cache, flatten(m.cache))
		c.checkCacheUnchanged(m)
		c.growPool(m, &s)
	} else {
		c.newPool(m, &s)
	}
	if !m.waiting {
		c.placeSpares(m, &s, spares)
	}
	c.refuse(m.name, s)
	for _, d := range s.data {
		c.choose(c.deviceRef(d.Name), m.name, "", place.Free, "not needed: "+describe(d))
	}
	for _, d := range without(s.fast, s.data) {
		c.choose(c.deviceRef(d.Name), m.name, "", place.Free, "not needed for the write cache: "+describe(d))
	}
}

// newPool chooses the disks of a pool.
func (c *cluster) newPool(m *member, s *supply) {
	p, reason := c.pick(m.name, *s)
	if m.node == nil {
		reason = "it is missing from the inventory"
	}
	if reason != "" {
		m.waiting = true
		c.report(finding.Warning, "awaiting-devices", "", "awaiting disks on node %s: %s", m.name, reason)
		// What was reserved is held until all of it is there again.
		m.data, m.cache = [][]string{c.before.reserved(m.name, data)}, [][]string{c.before.reserved(m.name, cache)}
		m.spare = c.before.reserved(m.name, spare)
		c.await(m, s, data, flatten(m.data))
		c.await(m, s, cache, flatten(m.cache))
		return
	}
	m.data = c.regroup(c.take(m.name, data, p.data))
	m.cache = c.regroupCache(c.take(m.name, cache, p.cache))
	s.remove(p.data)
	s.remove(p.cache)
	c.reportNoCache(m.name, p)
}

// await says of the disks that are reserved for a pool that they wait for others.
func (c *cluster) await(m *member, s *supply, r role, reserved []string) {
	usable := slices.Concat(named(s.data, reserved), named(without(s.fast, s.data), reserved))
	for _, d := range usable {
		c.choose(c.deviceRef(d.Name), m.name, r, place.Awaited, "it is reserved, and its pool waits: "+describe(d))
	}
	s.remove(usable)
}

func (c *cluster) reportNoCache(node string, p picked) {
	if p.noCache != "" {
		c.report(finding.Info, "no-write-cache", "spec.poolConfig.writeCache", "node %s gets no write cache: %s", node, p.noCache)
	}
}

// growPool adds the disks by which minCount was raised.
func (c *cluster) growPool(m *member, s *supply) {
	disk := &c.cfg.Spec.DiskConfig
	have := len(flatten(m.data))
	switch missing := disk.MinCount - have; {
	case missing < 0:
		c.report(finding.Warning, "count-lowered", "spec.diskConfig.minCount",
			"is %d, and the pool on node %s keeps its %s: disks cannot be taken out of a pool", disk.MinCount, m.name, finding.Count(have, "disk"))
	case missing > 0:
		groups, size := missing/disk.GroupSize, disk.GroupSize
		if c.cfg.Spec.PoolConfig.RAIDType == stripe {
			groups, size = 1, missing
		}
		added := c.pickData(*s, groups, size)
		if added == nil || m.node == nil {
			c.report(finding.Warning, "awaiting-devices", "spec.diskConfig.minCount",
				"awaiting %s more, of %s or more, on node %s, which has %d that can be used; the pool stays as it is",
				finding.Count(missing, "disk"), quantity.Size(c.cfg.minCapacity), m.name, len(s.data))
			break
		}
		m.data = c.regroup(append(flatten(m.data), c.take(m.name, data, added)...))
		s.remove(added)
	}
}

// placeSpares reserves disks that can replace any data disk of the pool.
func (c *cluster) placeSpares(m *member, s *supply, reserved []*inventory.BlockDevice) {
	count := c.cfg.Spec.PoolConfig.Spare
	var largest int64
	types := map[string]bool{}
	for _, name := range flatten(m.data) {
		if d := c.facts.Device(c.namespace(), name); d != nil {
			largest = max(largest, d.Capacity)
			types[d.Type()] = true
		}
	}
	for _, name := range c.before.reserved(m.name, spare) {
		missing := c.facts.Device(c.namespace(), name) == nil
		usable := slices.ContainsFunc(reserved, func(d *inventory.BlockDevice) bool { return d.Name == name && d.Capacity >= largest })
		if len(m.spare) < count && (missing || usable) {
			m.spare = append(m.spare, name)
		}
	}
	c.keepDevices(m.name, spare, m.spare)
	fitting := slices.DeleteFunc(slices.Clone(s.data), func(d *inventory.BlockDevice) bool { return d.Capacity < largest })
	slices.SortStableFunc(fitting, func(a, b *inventory.BlockDevice) int {
		switch {
		case types[a.Type()] == types[b.Type()]:
			return place.Smallest(a, b)
		case types[a.Type()]:
			return -1
		}
		return 1
	})
	added := fitting[:min(len(fitting), count-len(m.spare))]
	m.spare = append(m.spare, c.take(m.name, spare, added)...)
	s.remove(added)
	if len(m.spare) < count {
		c.report(finding.Warning, "awaiting-spare", "spec.poolConfig.spare",
			"node %s has %s, wanted %d of %s or more; the pool is rendered without", m.name, finding.Count(len(m.spare), "spare disk"), count, quantity.Size(max(largest, c.cfg.minCapacity)))
	}
}

// take reserves newly chosen devices.
func (c *cluster) take(node string, r role, devices []*inventory.BlockDevice) []string {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = d.Name
		c.disks.Take(d.Namespace, d.Name, c.Object.Ref.String())
		if slices.Contains(c.before.reserved(node, r), d.Name) {
			c.choose(c.deviceRef(d.Name), node, r, place.Kept, "it was reserved earlier: "+describe(d))
			continue
		}
		c.choose(c.deviceRef(d.Name), node, r, place.Chosen, "the best fit on its node: "+describe(d))
	}
	return names
}

// describe names a device as a person knows it.
func describe(d *inventory.BlockDevice) string {
	return strings.TrimLeft(fmt.Sprintf("%s %s %s", d.Path, quantity.Size(d.Capacity), d.Type()), " ")
}

// keepDevices records what stays, and warns of what is not well.
func (c *cluster) keepDevices(node string, r role, names []string) {
	for _, name := range names {
		d, pool := c.facts.Device(c.namespace(), name), c.before.pool(node)
		doubt := ""
		if d != nil {
			doubt = c.disks.Doubt(d, c.wanted())
		}
		switch {
		case d == nil:
			c.choose(c.deviceRef(name), node, r, place.Held, "it is missing from the inventory")
			c.report(finding.Warning, "device-missing", "", "block device %s of node %s is missing from the inventory; it is held in its place", name, node)
		case pool != nil && d.Hostname != pool.hostname:
			c.choose(c.deviceRef(name), node, r, place.Held, "it is on host "+d.Hostname+" now")
			c.report(finding.Warning, "device-moved", "", "block device %s of node %s is on host %q now; it keeps its place, put the disk back", name, node, d.Hostname)
		case d.State != "Active":
			c.choose(c.deviceRef(name), node, r, place.Held, "it is "+d.State)
			c.report(finding.Warning, "device-inactive", "", "block device %s of node %s is %s; it keeps its place, look at the disk", name, node, d.State)
		case doubt != "":
			c.choose(c.deviceRef(name), node, r, place.Held, doubt)
			c.report(finding.Warning, "device-doubtful", "", "block device %s of node %s keeps its place, but %s; if the pool is not made yet, do not apply this: look at the disk", name, node, doubt)
		default:
			c.choose(c.deviceRef(name), node, r, place.Kept, "it is in its place already: "+describe(d))
		}
	}
}

func (c *cluster) refuse(node string, s supply) {
	for _, r := range s.refused {
		ref := c.deviceRef(r.device.Name)
		ref.Namespace = r.device.Namespace
		c.choose(ref, node, "", place.Refused, r.reason)
	}
}

// passOver says of the devices that nothing was decided about why not.
func (c *cluster) passOver() {
	decided := map[string]bool{}
	for i := range c.out.Choices {
		if subject := &c.out.Choices[i].Subject; subject.Kind == blockDeviceKind && subject.Namespace == c.namespace() {
			decided[subject.Name] = true
		}
	}
	for _, d := range c.facts.Devices {
		if d.Namespace != c.namespace() || decided[d.Name] {
			continue
		}
		nodes, holder := c.facts.Host(d.Hostname), c.disks.Holder(d)
		if len(nodes) == 1 && holder != "" && holder != c.Object.Ref.String() {
			c.choose(c.deviceRef(d.Name), nodes[0].Name, "", place.Refused, "it is taken by "+holder)
		} else if len(nodes) == 1 {
			c.choose(c.deviceRef(d.Name), nodes[0].Name, "", place.Free, "its node holds no pool of this cluster")
		} else {
			c.choose(c.deviceRef(d.Name), "", "", place.Refused,
				fmt.Sprintf("%s of the inventory have its %s label %q, wanted 1", finding.Count(len(nodes), "node"), inventory.LabelHostname, d.Hostname))
		}
	}
}

// checkCacheUnchanged warns of an edit that the operator accepts and never
// carries out (reference: cstor.md, section 7).
func (c *cluster) checkCacheUnchanged(m *member) {
	w, have := c.cfg.Spec.PoolConfig.WriteCache, len(flatten(m.before.cache))
	severity, keeps := finding.Warning, "keeps its write cache of "+finding.Count(have, "disk")
	if have == 0 {
		keeps = "stays without a write cache"
	}
	switch {
	case w == nil && have == 0, w != nil && w.Count == have && w.RAIDType == m.before.cacheType:
		return
	case w != nil && w.Auto && have == 0:
		severity = finding.Info // the node had nothing faster then
	}
	c.report(severity, "write-cache-changed", "spec.poolConfig.writeCache",
		"the pool on node %s %s: the cStor operator accepts a change of it and does not carry it out", m.name, keeps)
}

// regroup splits data devices into RAID groups; a stripe is one group.
func (c *cluster) regroup(names []string) [][]string {
	if c.cfg.Spec.PoolConfig.RAIDType == stripe {
		return [][]string{names}
	}
	return slices.Collect(slices.Chunk(names, c.cfg.Spec.DiskConfig.GroupSize))
}

func (c *cluster) regroupCache(names []string) [][]string {
	w := c.cfg.Spec.PoolConfig.WriteCache
	if w == nil || len(names) == 0 {
		return nil
	}
	return slices.Collect(slices.Chunk(names, w.groupSize()))
}

func without(devices, taken []*inventory.BlockDevice) []*inventory.BlockDevice {
	return slices.DeleteFunc(slices.Clone(devices), func(d *inventory.BlockDevice) bool { return slices.Contains(taken, d) })
}

// named picks the devices with these names, in the order of the names.
func named(devices []*inventory.BlockDevice, names []string) []*inventory.BlockDevice {
	var found []*inventory.BlockDevice
	for _, name := range names {
		if i := slices.IndexFunc(devices, func(d *inventory.BlockDevice) bool { return d.Name == name }); i >= 0 {
			found = append(found, devices[i])
		}
	}
	return found
}
