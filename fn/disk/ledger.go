package disk

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// Ledger is the account of all disks.
type Ledger struct {
	facts   *inventory.Facts
	reports []Disk                  // of the BlockDevices, in the order of the facts
	disks   []*Disk                 // as reported, BlockDevices first, by namespace and name
	missed  map[inventory.Key]*Disk // by the BlockDevices that nobody reports
	absent  map[inventory.Key]*Disk // by the host and path at which nobody reports any
	known   registry
	sites   sites
	filters []filter // of nodes that are not among the facts
}

// naming is an object that names the path of a disk, and means another disk.
type naming struct {
	path string // of the disk, or of a partition of it
	by   Holder
}

// filter is a hold on what a filter matches.
type filter struct {
	Hold
	by Holder
}

// NewLedger opens the account with the disks that the facts report.
func NewLedger(facts *inventory.Facts) *Ledger {
	l := &Ledger{
		facts:   facts,
		reports: make([]Disk, len(facts.Devices)),
		disks:   make([]*Disk, 0, len(facts.Devices)),
		missed:  map[inventory.Key]*Disk{},
		absent:  map[inventory.Key]*Disk{},
		known:   newRegistry(len(facts.Devices)),
		sites:   sites{byHost: make(map[string]*site, len(facts.Nodes)), known: make(map[string]spot, len(facts.Nodes)), homeless: map[string][]*Disk{}, luns: map[string][]*Disk{}},
	}
	for i, device := range facts.Devices {
		d := &l.reports[i]
		*d = Disk{Identity: identify(device), Device: device, name: inventory.Key{Namespace: device.Namespace, Name: device.Name}}
		l.report(d)
	}
	agent := inventory.NodeInventoryKind()
	for _, o := range facts.Objects(agent.Group, agent.Kind) {
		for _, d := range readEntries(o) {
			l.reportEntry(d)
		}
	}
	for _, d := range l.disks {
		l.settle(d)
	}
	l.enterVolumes()
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
	l.known.join(d, &d.Identity)
}

// reportEntry is report for a disk of a NodeInventory, which may be a BlockDevice of the
// same node seen a second time.
func (l *Ledger) reportEntry(d *Disk) {
	if known := l.deviceOf(d); known != nil {
		known.Entry = d.Entry
		l.known.join(known, &d.Identity)
		return
	}
	l.report(d)
}

// deviceOf is the BlockDevice that an entry of a NodeInventory reports once more, or nil: the one
// of the same node that shares a WWN, serial number or link with it, or else has its path, and
// that differs in nothing that is known of both. A clone shares its WWN with another disk.
func (l *Ledger) deviceOf(d *Disk) *Disk {
	var room [8]string
	var candidates []*Disk
	hosts := l.hosts(d.Node)
	free := func(known *Disk) bool {
		return known.Device != nil && known.Entry == nil && known.Device.Whole() && slices.ContainsFunc(l.hosts(known.Node), func(host string) bool { return slices.Contains(hosts, host) })
	}
	for _, c := range l.known.find(d.Identity.keys(room[:0])) {
		for _, known := range c.disks {
			if free(known) && !contradict(c.wwns, digitsOf(d.WWN)) && !known.evidence().differs(d.evidence()) {
				candidates = append(candidates, known)
			}
		}
	}
	if i := slices.IndexFunc(candidates, func(known *Disk) bool { return known.Path == d.Path }); i >= 0 {
		return candidates[i]
	}
	if len(candidates) > 0 {
		return candidates[0]
	}
	var known *Disk
	for _, host := range hosts {
		for _, device := range l.devicesAt(host) {
			if device.Path != d.Path || !free(l.Of(device)) || l.Of(device).Inactive() || l.Of(device).evidence().differs(d.evidence()) {
				continue
			}
			if known != nil {
				return nil // which of the two it is cannot be said
			}
			known = l.Of(device)
		}
	}
	return known
}

// devicesAt lists the BlockDevices of a node, or of a host that is none.
func (l *Ledger) devicesAt(node string) []*inventory.BlockDevice {
	if n := l.facts.Node(node); n != nil {
		return l.facts.DevicesOn(n.Hostname)
	}
	return l.facts.DevicesOn(node)
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
	l.settle(d)
	return d
}

// Disks lists what is reported: BlockDevices by namespace and name, then what only
// NodeInventories report, by node, in their order.
func (l *Ledger) Disks() []*Disk { return l.disks }

// On lists the disks that are reported of a node, the smallest first.
func (l *Ledger) On(n *inventory.Node) []*Disk {
	s := l.sites.byHost[n.Name]
	if s == nil {
		return nil
	}
	if s.ranked == nil {
		s.ranked = slices.DeleteFunc(slices.Clone(s.disks), func(d *Disk) bool { return l.NodeOf(d) != n.Name })
		slices.SortFunc(s.ranked, Rank)
	}
	return s.ranked
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

// Add records what an object holds. A path that the object names holds what is there now, too,
// though only in so far as nobody else is to choose it: the disk that is meant may be elsewhere.
func (l *Ledger) Add(h Holder, holds []Hold) {
	by := &h
	for _, hold := range holds {
		if hold.Role != by.Role {
			other := *by
			other.Role = hold.Role
			by = &other
		}
		if hold.Matches != nil && l.spot(hold.Node).stray {
			l.filters = append(l.filters, filter{hold, *by})
		}
		meant := l.Named(hold)
		for _, d := range meant {
			d.hold(by)
		}
		if hold.Identity.Path == "" {
			continue
		}
		for _, d := range l.at(hold.Identity.Node, hold.Identity.Path) {
			if !slices.Contains(meant, d) {
				d.naming = append(d.naming, naming{hold.Identity.Path, *by})
			}
		}
	}
}

// Named lists the disks that a hold means, missing ones among them: what has the identity, and
// else what is at the path.
func (l *Ledger) Named(hold Hold) []*Disk {
	if hold.Matches != nil {
		if found := l.matching(hold); len(found) > 0 || hold.Identity.Path == "" {
			return found
		}
	}
	if hold.Device.Name != "" {
		return l.namedDevice(hold)
	}
	var found []*Disk
	var room [8]string
	keys := hold.Identity.keys(room[:0])
	for _, c := range l.known.find(keys) {
		if c.canBe(&hold.Identity) {
			found = append(found, c.disks...)
		}
	}
	if len(found) > 0 {
		l.known.learn(found[0].class.whole(), keys)
		return found
	}
	for _, d := range l.at(hold.Identity.Node, hold.Identity.Path) {
		if d.class.whole().canBe(&hold.Identity) {
			found = append(found, d)
		}
	}
	if len(found) > 0 {
		return found
	}
	key := inventory.Key{Namespace: hold.Identity.Node, Name: hold.Identity.Path}
	if d := l.absent[key]; d != nil && hold.Identity.Empty() {
		return []*Disk{d}
	}
	d := l.miss(&Disk{Identity: hold.Identity})
	l.known.join(d, &hold.Identity)
	if hold.Identity.Empty() {
		l.absent[key] = d
	}
	return []*Disk{d}
}

// Meant is the disk that a hold means; nil where none is found, or its name is that of several. Of those
// at one path, one that is Inactive does not count beside others.
func (l *Ledger) Meant(hold Hold) *Disk {
	var meant *Disk
	several := false
	for _, d := range l.Named(hold) {
		switch {
		case meant == nil || meant.Inactive() && !d.Inactive():
			meant, several = d, false
		case d.class.whole() != meant.class.whole() && (meant.Inactive() || !d.Inactive()):
			several = true
		}
	}
	if several {
		return nil
	}
	return meant
}

// matching lists what a filter matches.
func (l *Ledger) matching(hold Hold) []*Disk {
	var found []*Disk
	hosts := l.hosts(hold.Node)
	for _, d := range l.disks {
		if (hold.Node == "" || slices.ContainsFunc(d.sites, func(s *site) bool { return slices.Contains(hosts, s.host) })) && hold.Matches(d) {
			found = append(found, d)
		}
	}
	return found
}

// namedDevice is the BlockDevice of a hold, and what has the identity that is remembered of it where
// that BlockDevice is another disk by now.
func (l *Ledger) namedDevice(hold Hold) []*Disk {
	d := l.Device(hold.Device.Namespace, hold.Device.Name)
	found := []*Disk{d}
	if d.Device != nil {
		found = l.disks[d.Device.Index:][:1:1]
	}
	if hold.Identity.Empty() || hold.Identity.names(&d.Identity) || l.known.join(d, &hold.Identity) {
		if d.Missing() && d.Empty() && !hold.Identity.Empty() {
			d.Identity = hold.Identity
		}
		return found
	}
	var room [8]string
	for _, c := range l.known.find(hold.Identity.keys(room[:0])) {
		for _, other := range c.disks {
			if !slices.Contains(found, other) {
				found = append(found, other)
			}
		}
	}
	return found
}

// digitsOf are those of a WWN, none for "".
func digitsOf(wwn string) []string {
	if wwn == "" {
		return nil
	}
	return []string{strings.TrimPrefix(wwn, "0x")}
}

// At finds the disk on which a path of a node, given by name or hostname label, lies
// now, or nil.
func (l *Ledger) At(node, path string) *Disk {
	if found := l.at(node, path); len(found) > 0 {
		return found[0]
	}
	return nil
}

func (d *Disk) hold(h *Holder) {
	if !d.isHeldBy(h) {
		d.holders = append(d.holders, h)
	}
}

// isHeldBy reports whether somebody holds this very report.
func (d *Disk) isHeldBy(h *Holder) bool {
	return slices.ContainsFunc(d.holders, func(o *Holder) bool { return o == h || *o == *h })
}

// Take records that a spec has chosen a disk, unless somebody who is not it holds that
// already: then that is returned.
func (l *Ledger) Take(d *Disk, spec finding.Ref, owner string) *Holder {
	holders := d.Holders()
	for _, s := range l.suspects(d) {
		holders = append(holders[:len(holders):len(holders)], s.Holders()...)
	}
	for _, h := range holders {
		if h.Owner != owner {
			return h
		}
	}
	d.hold(&Holder{Object: spec, Owner: owner, Source: Chosen})
	return nil
}

// Release gives up what the lock of a spec holds of a disk. What is in the cluster stays.
func (l *Ledger) Release(d *Disk, owner string) {
	d.holders = slices.DeleteFunc(d.holders, func(h *Holder) bool {
		return h.Owner == owner && (h.Source == Lock || h.Source == Chosen)
	})
}
