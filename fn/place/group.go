package place

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
)

// Groups picks groups*size devices, group after group. Within a group it wants
// one type and one size, then the smallest that are sufficient, then the first by
// order, which compares by size and then by what stays the same when a node is
// rebooted. The first group is of a type that can fill all of them, if there is one,
// and the others follow it as long as they can. It returns nil if there are too few
// devices.
func Groups(candidates []*inventory.BlockDevice, groups, size int, order Order) []*inventory.BlockDevice {
	if len(candidates) < groups*size || groups*size == 0 {
		return nil
	}
	left := newShelf(candidates, order)
	picked := make([]*inventory.BlockDevice, 0, groups*size)
	prefer := func(_ inventory.Type, devices int) bool { return devices >= groups*size }
	for i := range groups {
		picked = left.take(picked, size, prefer)
		if i == 0 {
			first := picked[0].Type()
			prefer = func(t inventory.Type, _ int) bool { return t == first }
		}
	}
	return picked
}

// Order compares two devices, the smaller first; 0 is for a device and itself alone.
type Order func(a, b *inventory.BlockDevice) int

// shelf is devices by type, in the order of the types.
type shelf struct {
	rows  []row
	order Order
}

// row is the devices of one type, the smallest first.
type row struct {
	of      inventory.Type
	devices []*inventory.BlockDevice
}

func newShelf(devices []*inventory.BlockDevice, order Order) *shelf {
	s := &shelf{order: order}
	sorted := slices.SortedFunc(slices.Values(devices), func(a, b *inventory.BlockDevice) int {
		if by := a.Type().Compare(b.Type()); by != 0 {
			return by
		}
		return order(a, b)
	})
	for len(sorted) > 0 {
		r := row{of: sorted[0].Type()}
		end := slices.IndexFunc(sorted, func(d *inventory.BlockDevice) bool { return d.Type() != r.of })
		if end < 0 {
			end = len(sorted)
		}
		r.devices, sorted = sorted[:end:end], sorted[end:]
		s.rows = append(s.rows, r)
	}
	return s
}

// take moves to picked the window of sorted devices with the least spread of sizes,
// among devices of one type if any type has enough; a preferred one goes first.
func (s *shelf) take(picked []*inventory.BlockDevice, size int, prefer func(t inventory.Type, devices int) bool) []*inventory.BlockDevice {
	best, at := -1, 0
	var least cost
	for i, r := range s.rows {
		rank := int64(1)
		if prefer(r.of, len(r.devices)) {
			rank = 0
		}
		if from, c := tightest(r.devices, size, rank); from >= 0 && (best < 0 || c.compare(least) < 0) {
			best, at, least = i, from, c
		}
	}
	if best >= 0 {
		r := &s.rows[best]
		picked = append(picked, r.devices[at:at+size]...)
		r.devices = slices.Delete(r.devices, at, at+size)
		return picked
	}
	var mixed []*inventory.BlockDevice
	for _, r := range s.rows {
		mixed = append(mixed, r.devices...)
	}
	slices.SortFunc(mixed, s.order)
	at, _ = tightest(mixed, size, 0)
	group := mixed[at : at+size]
	for i := range s.rows {
		r := &s.rows[i]
		r.devices = slices.DeleteFunc(r.devices, func(d *inventory.BlockDevice) bool { return slices.Contains(group, d) })
	}
	return append(picked, group...)
}

// cost is what makes one window of devices worse than another: its rank, how far its
// sizes spread, and its largest size, in bytes.
type cost struct{ rank, spread, largest int64 }

func (c cost) compare(other cost) int {
	return cmp.Or(cmp.Compare(c.rank, other.rank), cmp.Compare(c.spread, other.spread), cmp.Compare(c.largest, other.largest))
}

// tightest finds the cheapest window of a sorted list; -1 if the list is too short.
func tightest(sorted []*inventory.BlockDevice, size int, rank int64) (at int, least cost) {
	at = -1
	for i := 0; i+size <= len(sorted); i++ {
		last := sorted[i+size-1].Capacity
		if c := (cost{rank, last - sorted[i].Capacity, last}); at < 0 || c.compare(least) < 0 {
			at, least = i, c
		}
	}
	return at, least
}
