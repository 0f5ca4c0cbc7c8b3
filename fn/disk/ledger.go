package disk

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// Ledger is the account of all disks.
type Ledger struct {
	facts    *inventory.Facts
	reports  []Disk                  // of the BlockDevices, in the order of the facts
	disks    []*Disk                 // as reported, BlockDevices first, by namespace and name
	missed   map[inventory.Key]*Disk // by the BlockDevices that nobody reports
	byWWN    map[string]*class
	bySerial map[string]*class
	byLink   map[string]*class
	byPath   map[inventory.Key]*Disk // node and path, see At

	byNode       map[string][]*Disk             // see On
	byVolumePath map[string][]*inventory.Volume // see volumesOn
}

// NewLedger opens the account with the disks that the facts report.
func NewLedger(facts *inventory.Facts) *Ledger {
	l := &Ledger{
		facts:    facts,
		reports:  make([]Disk, len(facts.Devices)),
		disks:    make([]*Disk, 0, len(facts.Devices)),
		missed:   map[inventory.Key]*Disk{},
		byWWN:    make(map[string]*class, len(facts.Devices)),
		bySerial: make(map[string]*class, len(facts.Devices)),
		byLink:   make(map[string]*class, 2*len(facts.Devices)),
	}
	for i, device := range facts.Devices {
		d := &l.reports[i]
		*d = Disk{Identity: identify(device), Device: device, name: inventory.Key{Namespace: device.Namespace, Name: device.Name}}
		l.report(d)
	}
	for _, o := range facts.Objects("poolwright.io", "NodeInventory") {
		for _, d := range readEntries(o) {
			l.reportEntry(d)
		}
	}
	return l
}

// identify reads the identity of a BlockDevice. A part of a disk shares the serial number
// of the whole, and has no identity of its own.
func identify(d *inventory.BlockDevice) Identity {
	id := Identity{Node: d.Hostname, Path: d.Path}
	if d.Whole() {
		id.Serial, id.Links = d.Serial, wholeLinks(d.ByID)
		id.WWN = wwnOf(id.Links)
	}
	return id
}

// report opens the account of a disk.
func (l *Ledger) report(d *Disk) {
	l.disks = append(l.disks, d)
	d.class = &d.alone
	d.alone.disks = l.disks[len(l.disks)-1 : len(l.disks) : len(l.disks)]
	l.join(d, d.Identity)
}

// reportEntry is report for a disk of a NodeInventory, which may be a BlockDevice of the
// same node seen a second time.
func (l *Ledger) reportEntry(d *Disk) {
	hostname := d.Node
	if n := l.facts.Node(d.Node); n != nil {
		hostname = n.Hostname
	}
	for _, c := range l.classes(d.Identity) {
		for _, known := range c.disks {
			if known.Device != nil && known.Entry == nil && known.Device.Hostname == hostname {
				known.Entry = d.Entry
				l.know(known, d.Identity)
				return
			}
		}
	}
	l.report(d)
}

// classes lists the accounts that an identity belongs to.
func (l *Ledger) classes(id Identity) []*class {
	var found []*class
	add := func(c *class) {
		if c != nil && !slices.Contains(found, c) {
			found = append(found, c)
		}
	}
	if id.WWN != "" {
		add(l.byWWN[id.WWN])
	}
	if id.Serial != "" {
		add(l.bySerial[id.Serial])
	}
	for _, link := range id.Links {
		add(l.byLink[link])
	}
	return found
}

// know adds to what a disk is known by.
func (l *Ledger) know(d *Disk, id Identity) {
	if id.WWN == d.WWN && id.Serial == d.Serial && slices.Equal(id.Links, d.Links) {
		return // as most locks say of most disks
	}
	l.join(d, id)
	d.class.more = append(d.class.more, id)
}

// join puts a disk into the class of an identity; what that connects becomes one.
func (l *Ledger) join(d *Disk, id Identity) {
	for _, c := range l.classes(id) {
		if c == d.class {
			continue
		}
		from, into := d.class, c
		if len(from.disks) > len(into.disks) {
			from, into = into, from
		}
		for _, known := range from.more {
			l.index(known, into)
		}
		into.more = append(into.more, from.more...)
		for _, moved := range from.disks {
			moved.class = into
			l.index(moved.Identity, into)
		}
		into.disks = append(into.disks, from.disks...)
		slices.SortFunc(into.disks, func(a, b *Disk) int { return strings.Compare(a.called(), b.called()) })
	}
	l.index(id, d.class)
}

func (l *Ledger) index(id Identity, c *class) {
	if id.WWN != "" {
		l.byWWN[id.WWN] = c
	}
	if id.Serial != "" {
		l.bySerial[id.Serial] = c
	}
	for _, link := range id.Links {
		l.byLink[link] = c
	}
}

// Of returns the disk that a BlockDevice of the facts is.
func (l *Ledger) Of(device *inventory.BlockDevice) *Disk { return &l.reports[device.Index] }

// Device returns the disk that a BlockDevice is; a missing one if nobody reports it.
func (l *Ledger) Device(namespace, name string) *Disk {
	if device := l.facts.Device(namespace, name); device != nil {
		return l.Of(device)
	}
	key := inventory.Key{Namespace: namespace, Name: name}
	if d := l.missed[key]; d != nil {
		return d
	}
	return l.miss(&Disk{name: key})
}

// miss opens the account of a disk that is named and not reported.
func (l *Ledger) miss(d *Disk) *Disk {
	d.class, d.alone.disks = &d.alone, []*Disk{d}
	if d.name.Name != "" {
		l.missed[d.name] = d
	}
	return d
}

// Disks lists what is reported: BlockDevices by namespace and name, then what only
// NodeInventories tell of, by node, in their order.
func (l *Ledger) Disks() []*Disk { return l.disks }

// On lists the disks that are reported of a node, the smallest first.
func (l *Ledger) On(n *inventory.Node) []*Disk {
	if l.byNode == nil {
		l.byNode = map[string][]*Disk{}
		for _, d := range l.disks {
			if node := l.NodeOf(d); node != "" {
				l.byNode[node] = append(l.byNode[node], d)
			}
		}
		for _, disks := range l.byNode {
			slices.SortFunc(disks, Rank)
		}
	}
	return l.byNode[n.Name]
}

// NodeOf is the name of the node that a disk is on, "" where that is not known.
func (l *Ledger) NodeOf(d *Disk) string {
	if d.Device == nil {
		return d.Node
	}
	if nodes := l.facts.Host(d.Device.Hostname); len(nodes) == 1 {
		return nodes[0].Name
	}
	return ""
}

// Add records what an object holds.
func (l *Ledger) Add(h Holder, holds []Hold) {
	for _, hold := range holds {
		for _, d := range l.Named(hold) {
			h.Role = hold.Role
			d.hold(h)
		}
	}
}

// Named lists the disks that a hold means, missing ones among them.
func (l *Ledger) Named(hold Hold) []*Disk {
	switch {
	case hold.Matches != nil:
		var found []*Disk
		hosts := l.hosts(hold.Node)
		for _, d := range l.disks {
			if (hold.Node == "" || slices.Contains(hosts, d.Node)) && hold.Matches(d) {
				found = append(found, d)
			}
		}
		return found
	case hold.Device.Name != "":
		d := l.Device(hold.Device.Namespace, hold.Device.Name)
		if !hold.Identity.Empty() {
			l.know(d, hold.Identity)
			if d.Missing() && d.Empty() {
				d.Identity = hold.Identity
			}
		}
		return []*Disk{d}
	}
	var found []*Disk
	for _, c := range l.classes(hold.Identity) {
		found = append(found, c.disks...)
	}
	if len(found) == 0 {
		if d := l.At(hold.Identity.Node, hold.Identity.Path); d != nil {
			return []*Disk{d}
		}
		d := l.miss(&Disk{Identity: hold.Identity})
		l.join(d, hold.Identity)
		return []*Disk{d}
	}
	return found
}

// At finds the disk on which a path of a node, given by name or hostname label, lies
// now, or nil.
func (l *Ledger) At(node, path string) *Disk {
	if path == "" {
		return nil
	}
	if l.byPath == nil {
		l.byPath = map[inventory.Key]*Disk{}
		for _, d := range l.disks {
			paths := []string{d.Path}
			if d.Device != nil {
				paths = append(paths, d.Device.Links...)
			}
			for _, host := range l.hosts(d.Node) {
				for _, p := range append(paths, d.Links...) {
					l.byPath[inventory.Key{Namespace: host, Name: p}] = d
				}
			}
		}
	}
	if d := l.byPath[inventory.Key{Namespace: node, Name: path}]; d != nil {
		return d
	}
	return l.byPath[inventory.Key{Namespace: node, Name: wholeDisk(path)}]
}

// hosts are the names of the node that has a name or a hostname label.
func (l *Ledger) hosts(node string) []string {
	hosts := []string{node}
	for _, n := range l.facts.Host(node) {
		hosts = append(hosts, n.Name)
	}
	if n := l.facts.Node(node); n != nil && n.Hostname != "" {
		hosts = append(hosts, n.Hostname)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

func (d *Disk) hold(h Holder) {
	if !slices.Contains(d.holders, h) {
		d.holders = append(d.holders, h)
	}
}

// Take records that a spec has chosen a disk, unless somebody who is not it holds that
// already: then that is returned.
func (l *Ledger) Take(d *Disk, spec finding.Ref, owner string) *Holder {
	for _, h := range d.Holders() {
		if h.Owner != owner {
			return &h
		}
	}
	d.hold(Holder{Object: spec, Owner: owner, Source: Chosen})
	return nil
}

// Release gives up what the lock of a spec holds of a disk. What lives stays.
func (l *Ledger) Release(d *Disk, owner string) {
	d.holders = slices.DeleteFunc(d.holders, func(h Holder) bool {
		return h.Owner == owner && (h.Source == Lock || h.Source == Chosen)
	})
}
