package place

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
)

// Groups picks groups*size devices, group after group. Within a group it wants
// one type and one size, then the smallest that are sufficient, then the order
// of stable identities. The first group is of a type that can fill all of them,
// if there is one, and the others follow it as long as they can. It returns nil
// if there are too few devices.
func Groups(candidates []*inventory.BlockDevice, groups, size int) []*inventory.BlockDevice {
	if len(candidates) < groups*size || groups*size == 0 {
		return nil
	}
	left := newShelf(candidates)
	picked := make([]*inventory.BlockDevice, 0, groups*size)
	prefer := func(_ string, devices int) bool { return devices >= groups*size }
	for range groups {
		group := left.take(size, prefer)
		if len(picked) == 0 {
			first := group[0].kind
			prefer = func(kind string, _ int) bool { return kind == first }
		}
		for _, c := range group {
			picked = append(picked, c.BlockDevice)
		}
	}
	return picked
}

// Smallest orders devices by capacity, then identity.
func Smallest(a, b *inventory.BlockDevice) int {
	return compareCandidates(newCandidate(a), newCandidate(b))
}

// candidate is a device with what it is compared by, worked out once.
type candidate struct {
	*inventory.BlockDevice
	identity string
	kind     string
}

func newCandidate(d *inventory.BlockDevice) candidate { return candidate{d, identity(d), d.Type()} }

func compareCandidates(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.Capacity, b.Capacity), cmp.Compare(a.identity, b.identity), cmp.Compare(a.Name, b.Name))
}

// shelf is devices by type, the smallest first.
type shelf struct {
	kinds  []string // sorted
	byKind map[string][]candidate
}

func newShelf(devices []*inventory.BlockDevice) *shelf {
	s := &shelf{byKind: map[string][]candidate{}}
	for _, d := range devices {
		c := newCandidate(d)
		if s.byKind[c.kind] == nil {
			s.kinds = append(s.kinds, c.kind)
		}
		s.byKind[c.kind] = append(s.byKind[c.kind], c)
	}
	slices.Sort(s.kinds)
	for _, list := range s.byKind {
		slices.SortFunc(list, compareCandidates)
	}
	return s
}

// take takes the window of sorted devices with the least spread of sizes, among devices
// of one type if any type has enough; a preferred one goes first.
func (s *shelf) take(size int, prefer func(kind string, devices int) bool) []candidate {
	var best, bestKind = -1, ""
	var least cost
	for _, kind := range s.kinds {
		list := s.byKind[kind]
		rank := int64(1)
		if prefer(kind, len(list)) {
			rank = 0
		}
		if i, c := tightest(list, size, rank); i >= 0 && (best < 0 || c.compare(least) < 0) {
			best, bestKind, least = i, kind, c
		}
	}
	if best >= 0 {
		list := s.byKind[bestKind]
		group := slices.Clone(list[best : best+size])
		s.byKind[bestKind] = slices.Delete(list, best, best+size)
		return group
	}
	var mixed []candidate
	for _, kind := range s.kinds {
		mixed = append(mixed, s.byKind[kind]...)
	}
	slices.SortFunc(mixed, compareCandidates)
	i, _ := tightest(mixed, size, 0)
	group := mixed[i : i+size]
	for _, c := range group {
		s.byKind[c.kind] = slices.DeleteFunc(s.byKind[c.kind], func(o candidate) bool { return o.BlockDevice == c.BlockDevice })
	}
	return group
}

// cost is what makes one window of devices worse than another: its rank, how far its
// sizes spread, and its largest size, in bytes.
type cost struct{ rank, spread, largest int64 }

func (c cost) compare(other cost) int {
	return cmp.Or(cmp.Compare(c.rank, other.rank), cmp.Compare(c.spread, other.spread), cmp.Compare(c.largest, other.largest))
}

// tightest finds the cheapest window of a sorted list; -1 if the list is too short.
func tightest(sorted []candidate, size int, rank int64) (at int, least cost) {
	at = -1
	for i := 0; i+size <= len(sorted); i++ {
		last := sorted[i+size-1].Capacity
		if c := (cost{rank, last - sorted[i].Capacity, last}); at < 0 || c.compare(least) < 0 {
			at, least = i, c
		}
	}
	return at, least
}

// identity is what stays the same when a node is rebooted and disks are renamed:
// the serial number, else the first by-id link, else the object's name.
func identity(d *inventory.BlockDevice) string {
	if d.Serial != "" {
		return d.Serial
	}
	if len(d.ByID) > 0 {
		return slices.Min(d.ByID)
	}
	return d.Name
}
