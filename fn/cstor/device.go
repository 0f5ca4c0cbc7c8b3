package cstor

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
)

// localDisks gives the members the disks of their nodes.
type localDisks struct {
	*stock
	left map[string]*leftover // by node, between place and finish

	replace *replacement
}

// leftover is what a node still has to offer when its pool has its data disks.
type leftover struct {
	supply
	spares []*inventory.BlockDevice // that are reserved
	growth map[string]string        // what disks wait for by which the pool is to grow
}

// cannotSupply says why a node cannot supply a new pool, or "".
func (l *localDisks) cannotSupply(n *inventory.Node) string {
	s := l.offer(n.Name, n.Hostname, n)
	_, reason := l.pick(n.Name, s)
	if reason != "" {
		l.refuse(n.Name, s)
	}
	return reason
}

// place gives a member its disks.
func (l *localDisks) place(m *member) {
	s := l.offer(m.name, m.hostname, m.node)
	spares := named(s.data, l.standing.Reserved(m.name, record.Spare))
	others := s
	others.remove(spares)
	var chosen picked
	lack := ""
	if m.before == nil {
		chosen, lack = l.pick(m.name, others)
	}
	switch {
	case lack == "":
		s = others
	case len(spares) > 0:
		chosen, lack = l.pick(m.name, s)
		spares = nil // a pool that is not built yet needs them more
	}
	rest := &leftover{supply: s, spares: spares, growth: map[string]string{}}
	l.left[m.name] = rest
	if m.before != nil {
		m.data, m.cache = m.before.Data, m.before.Cache
		keepDevices(l.input, m.name, record.Data, m.data.Disks())
		keepDevices(l.input, m.name, record.Cache, m.cache.Disks())
		checkCacheUnchanged(l.input, m)
		l.replaceFailed(m, rest)
		wanted := rest.supply
		wanted.remove(l.wantedSpares(m, rest))
		l.growPool(m, &wanted, rest)
	} else {
		l.newPool(m, &rest.supply, chosen, lack)
	}
}

// replaceFailed asks for the replacement of disks that failed: by a spare, else by the
// smallest free disk of the node that is as large.
func (l *localDisks) replaceFailed(m *member, left *leftover) {
	fromSpares := map[string]bool{}
	pick := func(fits func(*inventory.BlockDevice) bool) *inventory.BlockDevice {
		for _, from := range []*[]*inventory.BlockDevice{&left.spares, &left.data} {
			sorted := slices.SortedStableFunc(slices.Values(*from), l.order)
			i := slices.IndexFunc(sorted, fits)
			if i < 0 {
				continue
			}
			fromSpares[sorted[i].Name] = from == &left.spares
			*from = without(*from, sorted[i:i+1])
			return sorted[i]
		}
		return nil
	}
	l.replace.ask(m, pick, func(old string, d *inventory.BlockDevice, wait string) {
		switch {
		case wait == "":
			l.take(l.ledger.Of(d))
			l.choose(l.deviceRef(d.Name), m.name, record.Data, place.Chosen, "it takes the place of "+old+": "+describe(d))
		case fromSpares[d.Name]:
			left.spares = append(left.spares, d)
		default:
			left.data = append(left.data, d)
			left.growth[d.Name] = wait
		}
	})
}

// finish gives a member its spares, once it is known by which disks its pool grows, and says
// of the others that they are free.
func (l *localDisks) finish(m *member) {
	s := l.left[m.name]
	if !m.waiting {
		l.placeSpares(m, &s.supply, s.spares)
	}
	l.refuse(m.name, s.supply)
	for _, d := range s.data {
		reason := "not needed: "
		if wait := s.growth[d.Name]; wait != "" {
			reason = "its pool is to get it, which waits " + wait + ": "
		}
		l.choose(l.deviceRef(d.Name), m.name, "", place.Free, reason+describe(d))
	}
	for _, d := range without(s.fast, s.data) {
		l.choose(l.deviceRef(d.Name), m.name, "", place.Free, "not needed for the write cache: "+describe(d))
	}
}

// newPool takes the disks that were chosen for a pool, unless there is a reason why the
// node cannot supply them.
func (l *localDisks) newPool(m *member, s *supply, p picked, reason string) {
	if m.node == nil {
		reason = "it is missing from the inventory"
	}
	if reason != "" {
		m.waiting = true
		l.report(finding.Warning, awaitingDevices, "", "awaiting disks on node %s: %s", m.name, reason)
		// What was reserved is held until all of it is there again.
		m.data, m.cache = pool.Groups{l.standing.Reserved(m.name, record.Data)}, pool.Groups{l.standing.Reserved(m.name, record.Cache)}
		m.spare = l.standing.Reserved(m.name, record.Spare)
		l.await(m, s, record.Data, m.data.Disks())
		l.await(m, s, record.Cache, m.cache.Disks())
		return
	}
	m.data = l.settings(m.name).groups(l.takeAll(m.name, record.Data, p.data))
	m.cache = l.settings(m.name).cacheGroups(l.takeAll(m.name, record.Cache, p.cache))
	s.remove(p.data)
	s.remove(p.cache)
	l.reportNoCache(m.name, p)
}

// await says of the disks that are reserved for a pool that they wait for others.
func (l *localDisks) await(m *member, s *supply, r record.Role, reserved []string) {
	usable := slices.Concat(named(s.data, reserved), named(without(s.fast, s.data), reserved))
	for _, d := range usable {
		l.choose(l.deviceRef(d.Name), m.name, r, place.Awaited, "it is reserved, and its pool waits: "+describe(d))
	}
	s.remove(usable)
}

func (l *localDisks) reportNoCache(node string, p picked) {
	if p.noCache != "" {
		l.report(finding.Info, "no-write-cache", l.settings(node).field("writeCache"), "node %s gets no write cache: %s", node, p.noCache)
	}
}

// takeAll reserves newly chosen devices.
func (l *localDisks) takeAll(node string, r record.Role, devices []*inventory.BlockDevice) []string {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = d.Name
		l.take(l.ledger.Of(d))
		if slices.Contains(l.standing.Reserved(node, r), d.Name) {
			l.choose(l.deviceRef(d.Name), node, r, place.Kept, "it was reserved earlier: "+describe(d))
			continue
		}
		l.choose(l.deviceRef(d.Name), node, r, place.Chosen, "the best fit on its node: "+describe(d))
	}
	return names
}

func (l *localDisks) refuse(node string, s supply) {
	for _, r := range s.refused {
		ref := l.deviceRef(r.device.Name)
		ref.Namespace = r.device.Namespace
		l.choose(ref, node, "", place.Refused, r.reason)
	}
}

// passOver says of the devices that nothing was decided about why not.
func (l *localDisks) passOver() {
	decided := make(map[string]bool, len(l.Choices))
	for i := range l.Choices {
		if subject := &l.Choices[i].Subject; subject.Kind == blockDeviceKind && subject.Namespace == l.namespace {
			decided[subject.Name] = true
		}
	}
	idle := idleNodes{l.stock, map[string]supply{}}
	for _, d := range l.facts.Devices {
		if d.Namespace != l.namespace || decided[d.Name] {
			continue
		}
		nodes, holder := l.facts.Host(d.Hostname), heldBy(l.disk(d.Name), l.unused)
		if len(nodes) == 1 && holder != "" {
			l.choose(l.deviceRef(d.Name), nodes[0].Name, "", place.Refused, "it is taken by "+holder)
		} else if len(nodes) == 1 {
			verdict, reason := idle.judge(d, nodes[0])
			l.choose(l.deviceRef(d.Name), nodes[0].Name, "", verdict, reason)
		} else {
			l.choose(l.deviceRef(d.Name), "", "", place.Refused,
				fmt.Sprintf("%s of the inventory have its %s label %q, wanted 1", finding.Count(len(nodes), "node"), inventory.LabelHostname, d.Hostname))
		}
	}
}

// idleNodes are those without a pool, and what they would offer to one.
type idleNodes struct {
	*stock
	offers map[string]supply // by node
}

// judge says whether a device on such a node could be used.
func (i idleNodes) judge(d *inventory.BlockDevice, node *inventory.Node) (place.Verdict, string) {
	if i.settings(node.Name).external() {
		return place.Free, "its node holds no pool of this cluster"
	}
	s, known := i.offers[node.Name]
	if !known {
		s = i.offer(node.Name, node.Hostname, node)
		i.offers[node.Name] = s
	}
	if at := slices.IndexFunc(s.refused, func(r refusal) bool { return r.device == d }); at >= 0 {
		return place.Refused, s.refused[at].reason
	}
	return place.Free, "its node holds no pool of this cluster"
}

func without(devices, taken []*inventory.BlockDevice) []*inventory.BlockDevice {
	if len(taken) == 0 {
		return devices
	}
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
