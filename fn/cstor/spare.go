package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// keepSpares frees the spares of a member that are not wanted any more.
func (l *localDisks) keepSpares(m *member) {
	if l.settings(m.name).external() || len(l.standing.Reserved(m.name, record.Spare)) == 0 {
		return
	}
	var groups pool.Groups
	if m.before != nil {
		groups = m.before.Data
	}
	largest, _ := l.largest(groups)
	s := l.offer(m.name, m.hostname, m.node)
	_, rest := l.sortSpares(m, named(s.data, l.standing.Reserved(m.name, record.Spare)), largest)
	l.giveUp(m.name, rest)
}

// keepReserved frees the disks that are reserved for a pool which waits, under a name that
// they do not have any more where the other is reserved, too. Where no pool may live it also
// frees those that cannot be used any more. What is missing is held.
func (l *localDisks) keepReserved(m *member, planOnly bool) {
	if l.settings(m.name).external() || m.before != nil {
		return
	}
	s := l.offer(m.name, m.hostname, m.node)
	reserved := slices.Concat(l.standing.Reserved(m.name, record.Data), l.standing.Reserved(m.name, record.Cache))
	l.giveUp(m.name, slices.DeleteFunc(slices.Clone(reserved), func(name string) bool {
		if again := l.calledNow(name); slices.Contains(reserved, again) {
			return false
		}
		return !planOnly || l.unseen(name) || len(named(slices.Concat(s.data, s.fast), []string{name})) > 0
	}))
}

// calledNow is the name that a missing disk has now, or "".
func (e *existing) calledNow(name string) string {
	d := e.disk(name)
	for _, other := range d.Others() {
		if known := other.Name(); d.Missing() && !other.Missing() && known.Namespace == e.namespace {
			return known.Name
		}
	}
	return ""
}

// freeReplaced frees the disks that were reserved for a pool and are not in it: a person has
// put others in their place. Those that are shown to live in a pool stay its own.
func (l *localDisks) freeReplaced(m *member) {
	if m.before == nil || l.settings(m.name).external() {
		return
	}
	for _, name := range slices.Concat(l.standing.Reserved(m.name, record.Data), l.standing.Reserved(m.name, record.Cache)) {
		if !l.standing.Pooled(name) && !l.live.shows(name) {
			l.ledger.Release(l.disk(name), l.owner)
		}
	}
}

// mayBeBack reports whether any disk may be one of the pool that is missing, since the
// lock does not know that by its identity.
func (l *localDisks) mayBeBack(m *member) bool {
	return m.before != nil && slices.ContainsFunc(m.before.Disks(), func(name string) bool {
		return l.disk(name).Missing() && l.standing.SetOf(m.name).Known[name].Empty()
	})
}

// largest is the capacity of the largest disk, in bytes, and the types of all.
func (l *localDisks) largest(groups pool.Groups) (largest int64, types map[inventory.Type]bool) {
	types = map[inventory.Type]bool{}
	for _, name := range groups.Disks() {
		if d := l.facts.Device(l.namespace, name); d != nil {
			largest = max(largest, d.Capacity)
			types[d.Type()] = true
		}
	}
	return largest, types
}

// sortSpares tells the reserved spares that stay from the rest. What is missing is held;
// usable are those that can be used.
func (l *localDisks) sortSpares(m *member, usable []*inventory.BlockDevice, largest int64) (kept, rest []string) {
	for _, name := range l.standing.Reserved(m.name, record.Spare) {
		missing := l.facts.Device(l.namespace, name) == nil
		fits := slices.ContainsFunc(usable, func(d *inventory.BlockDevice) bool { return d.Name == name && d.Capacity >= largest })
		if len(kept) < l.settings(m.name).spare && (missing || fits) {
			kept = append(kept, name)
		} else {
			rest = append(rest, name)
		}
	}
	return kept, rest
}

// fitting lists the disks that could be a spare, best first.
func (l *localDisks) fitting(m *member, s *supply, largest int64, types map[inventory.Type]bool) []*inventory.BlockDevice {
	if l.mayBeBack(m) {
		return nil
	}
	fitting := slices.DeleteFunc(slices.Clone(s.data), func(d *inventory.BlockDevice) bool { return d.Capacity < largest })
	slices.SortStableFunc(fitting, func(a, b *inventory.BlockDevice) int {
		switch {
		case types[a.Type()] == types[b.Type()]:
			return l.order(a, b)
		case types[a.Type()]:
			return -1
		}
		return 1
	})
	return fitting
}

// wantedSpares are the disks that a pool does not grow by, since it has fewer spares than
// it is to have.
func (l *localDisks) wantedSpares(m *member, left *leftover) []*inventory.BlockDevice {
	largest, types := l.largest(m.data)
	kept, _ := l.sortSpares(m, left.spares, largest)
	fitting := l.fitting(m, &left.supply, largest, types)
	return fitting[:max(0, min(len(fitting), l.settings(m.name).spare-len(kept)))]
}

// placeSpares reserves disks that can replace any data disk of the pool.
func (l *localDisks) placeSpares(m *member, s *supply, reserved []*inventory.BlockDevice) {
	count := l.settings(m.name).spare
	if count == 0 {
		m.spare = nil
		return
	}
	largest, types := l.largest(m.data)
	m.spare, _ = l.sortSpares(m, reserved, largest)
	keepDevices(l.input, m.name, record.Spare, m.spare)
	fitting := l.fitting(m, s, largest, types)
	added := fitting[:min(len(fitting), count-len(m.spare))]
	m.spare = append(m.spare, l.takeAll(m.name, record.Spare, added)...)
	s.remove(added)
	if len(m.spare) < count {
		l.report(finding.Warning, "awaiting-spare", l.settings(m.name).field("spare"),
			"node %s has %s, wanted %d of %s or more; the pool is rendered without", m.name, finding.Count(len(m.spare), "spare disk"), count, quantity.Size(max(largest, l.settings(m.name).minCapacity)))
	}
}
