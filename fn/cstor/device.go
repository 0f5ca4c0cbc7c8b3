package cstor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
)

func (c *cluster) deviceRef(name string) finding.Ref {
	return finding.Ref{APIVersion: "openebs.io/v1alpha1", Kind: "BlockDevice", Namespace: c.namespace(), Name: name}
}

// supply is what a node has to offer, with the reason for what it has not.
type supply struct {
	data    []*inventory.BlockDevice // may hold data
	fast    []*inventory.BlockDevice // may be the write cache
	refused []refusal
}

// remove takes devices out of what is on offer.
func (s *supply) remove(devices []*inventory.BlockDevice) {
	s.data, s.fast = without(s.data, devices), without(s.fast, devices)
}

type refusal struct {
	device *inventory.BlockDevice
	reason string
}

// offer sorts the devices of a node into what may be used for what.
func (c *cluster) offer(hostname string, node *inventory.Node) supply {
	var s supply
	wanted := place.Wanted{
		Namespace: c.namespace(), Cluster: c.name(), Holder: c.Object.Ref.String(),
		MinCapacity: c.cfg.minCapacity, AllowedTags: c.cfg.allowedTags,
	}
	anySize := wanted
	anySize.MinCapacity = 0
	for _, d := range c.facts.DevicesOn(hostname) {
		if c.pooled[d.Name] && d.Namespace == c.namespace() {
			continue
		}
		if reason := elsewhere(d, node); reason != "" {
			s.refused = append(s.refused, refusal{d, reason})
			continue
		}
		reason := c.disks.Refuse(d, wanted)
		if !place.MatchesAny(c.cfg.Spec.DiskConfig.Local.BlockDeviceSelector.SelectorTerms, d.Object) {
			reason = "it is not selected by spec.diskConfig.local.blockDeviceSelector"
		}
		isCache := c.cacheSelects(d) && c.disks.Refuse(d, anySize) == ""
		if isCache {
			s.fast = append(s.fast, d)
		}
		switch {
		case reason == "":
			s.data = append(s.data, d)
		case !isCache:
			s.refused = append(s.refused, refusal{d, reason})
		}
	}
	return s
}

// elsewhere refuses a device whose two statements of its node disagree.
func elsewhere(d *inventory.BlockDevice, node *inventory.Node) string {
	if node == nil || d.NodeName == "" || d.NodeName == node.Name || d.NodeName == node.Hostname {
		return ""
	}
	return fmt.Sprintf("its hostname label says node %s and spec.nodeAttributes.nodeName says %s", node.Name, d.NodeName)
}

// cacheSelects reports whether the write cache asks for such a device.
func (c *cluster) cacheSelects(d *inventory.BlockDevice) bool {
	switch w := c.cfg.Spec.PoolConfig.WriteCache; {
	case w == nil:
		return false
	case w.Auto:
		return d.Fast()
	case w.Local != nil:
		return place.MatchesAny(w.Local.BlockDeviceSelector.SelectorTerms, d.Object)
	}
	return false
}

// picked is a whole choice of devices for a new pool.
type picked struct {
	data, cache []*inventory.BlockDevice
	noCache     string // why an automatic cache is left out
}

// pick chooses the devices of a new pool, or says why the node cannot supply them.
func (c *cluster) pick(s supply) (picked, string) {
	var p picked
	disk := &c.cfg.Spec.DiskConfig
	p.data = c.pickData(s, c.cfg.groupCount(), disk.GroupSize)
	if p.data == nil {
		return p, fmt.Sprintf("it has %d usable disks of %s or more, wanted %d", len(s.data), place.Size(c.cfg.minCapacity), disk.MinCount)
	}
	w := c.cfg.Spec.PoolConfig.WriteCache
	if w == nil {
		return p, ""
	}
	if w.Auto && slices.ContainsFunc(p.data, (*inventory.BlockDevice).Fast) {
		p.noCache = "its data disks are SSD or NVMe already"
		return p, ""
	}
	p.cache = place.Groups(without(s.fast, p.data), w.Count/w.groupSize(), w.groupSize())
	if p.cache == nil {
		lack := fmt.Sprintf("it has %d usable disks for the write cache, wanted %d", len(without(s.fast, p.data)), w.Count)
		if !w.Auto {
			return p, lack
		}
		p.noCache = lack
	}
	return p, ""
}

// pickData leaves the disks that the write cache could take, as long as the
// others suffice.
func (c *cluster) pickData(s supply, groups, size int) []*inventory.BlockDevice {
	if devices := place.Groups(without(s.data, s.fast), groups, size); devices != nil {
		return devices
	}
	return place.Groups(s.data, groups, size)
}

// cannotSupply says why a node cannot supply a new pool, or "".
func (c *cluster) cannotSupply(n *inventory.Node) string {
	s := c.offer(n.Hostname, n)
	_, reason := c.pick(s)
	if reason != "" {
		c.refuseAll(n.Name, s)
	}
	return reason
}

// placeDevices gives a member its local disks.
func (c *cluster) placeDevices(m *member) {
	s := c.offer(m.hostname, m.node)
	spares := named(s.data, c.before.reserved(m.name, spare))
	s.data = without(s.data, spares)
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
	c.refuseAll(m.name, s)
}

// newPool chooses the disks of a pool, or takes those that were reserved for it
// earlier, as long as they can all still be used.
func (c *cluster) newPool(m *member, s *supply) {
	p, reason := picked{
		data:  named(s.data, c.before.reserved(m.name, data)),
		cache: named(s.fast, c.before.reserved(m.name, cache)),
	}, ""
	if len(p.data) != c.cfg.Spec.DiskConfig.MinCount || len(p.cache) != len(c.before.reserved(m.name, cache)) {
		p, reason = c.pick(*s)
	}
	if reason != "" {
		m.waiting = true
		c.report(finding.Warning, "awaiting-devices", "", "awaiting disks on node %s: %s", m.name, reason)
		return
	}
	m.data = c.regroup(c.take(m.name, data, p.data))
	m.cache = c.regroupCache(c.take(m.name, cache, p.cache))
	s.remove(p.data)
	s.remove(p.cache)
	if p.noCache != "" {
		c.report(finding.Info, "no-write-cache", "spec.poolConfig.writeCache", "node %s gets no write cache: %s", m.name, p.noCache)
	}
}

// growPool adds the disks by which minCount was raised.
func (c *cluster) growPool(m *member, s *supply) {
	disk := &c.cfg.Spec.DiskConfig
	have := len(flatten(m.data))
	switch missing := disk.MinCount - have; {
	case missing < 0:
		c.report(finding.Warning, "count-lowered", "spec.diskConfig.minCount",
			"is %d, and the pool on node %s keeps its %d disks: disks cannot be taken out of a pool", disk.MinCount, m.name, have)
	case missing > 0:
		groups, size := missing/disk.GroupSize, disk.GroupSize
		if c.cfg.Spec.PoolConfig.RAIDType == stripe {
			groups, size = 1, missing
		}
		added := c.pickData(*s, groups, size)
		if added == nil || m.node == nil {
			c.report(finding.Warning, "awaiting-devices", "spec.diskConfig.minCount",
				"awaiting %d more disks of %s or more on node %s, which has %d usable ones; the pool stays as it is", missing, place.Size(c.cfg.minCapacity), m.name, len(s.data))
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
			"node %s has %d spare disks, wanted %d of %s or more; the pool is rendered without", m.name, len(m.spare), count, place.Size(max(largest, c.cfg.minCapacity)))
	}
}

// take reserves newly chosen devices.
func (c *cluster) take(node string, r role, devices []*inventory.BlockDevice) []string {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = d.Name
		c.disks.Take(d.Namespace, d.Name, c.Object.Ref.String())
		c.choose(c.deviceRef(d.Name), node, r, place.Chosen, "the best fit on its node: "+describe(d))
	}
	return names
}

// describe names a device as a person knows it.
func describe(d *inventory.BlockDevice) string {
	return strings.TrimLeft(fmt.Sprintf("%s %s %s", d.Path, place.Size(d.Capacity), d.Type()), " ")
}

// keepDevices records what stays, and warns of what is not well.
func (c *cluster) keepDevices(node string, r role, names []string) {
	for _, name := range names {
		d := c.facts.Device(c.namespace(), name)
		switch {
		case d == nil:
			c.choose(c.deviceRef(name), node, r, place.Held, "it is missing from the inventory")
			c.report(finding.Warning, "device-missing", "", "block device %s of node %s is missing from the inventory; it is held in its place", name, node)
		case d.State != "Active":
			c.choose(c.deviceRef(name), node, r, place.Held, "it is "+d.State)
			c.report(finding.Warning, "device-inactive", "", "block device %s of node %s is %s; it keeps its place, look at the disk", name, node, d.State)
		default:
			c.choose(c.deviceRef(name), node, r, place.Kept, "it is in its place already: "+describe(d))
		}
	}
}

func (c *cluster) refuseAll(node string, s supply) {
	for _, r := range s.refused {
		c.choose(c.deviceRef(r.device.Name), node, "", place.Refused, r.reason)
	}
	for _, d := range s.data {
		c.choose(c.deviceRef(d.Name), node, "", place.Free, "not needed: "+describe(d))
	}
	for _, d := range without(s.fast, s.data) {
		c.choose(c.deviceRef(d.Name), node, "", place.Free, "not needed for the write cache: "+describe(d))
	}
}

// checkCacheUnchanged warns of an edit that the operator accepts and never
// carries out (reference: cstor.md, section 7).
func (c *cluster) checkCacheUnchanged(m *member) {
	w, have := c.cfg.Spec.PoolConfig.WriteCache, len(flatten(m.before.cache))
	switch {
	case w == nil && have == 0, w != nil && w.Auto,
		w != nil && w.Count == have && w.RAIDType == m.before.cacheType:
		return
	}
	c.report(finding.Warning, "write-cache-changed", "spec.poolConfig.writeCache",
		"the pool on node %s keeps its write cache of %d disks: the cStor operator accepts a change of it and does not carry it out", m.name, have)
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
