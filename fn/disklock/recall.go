package disklock

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// Memory finds what a DiskLock knows of the disks of objects, by the words in which these name them.
type Memory struct{ disks map[word]*Disk }

// word is one of the names of a disk, as an object has it.
type word struct {
	holder     krm.ID
	node, name string
}

// Memory indexes the disks of what is rendered, and those of objects that are not, and that may still exist.
func (l *Lock) Memory() Memory {
	m := Memory{make(map[word]*Disk, 3*(len(l.Disks)+len(l.Released)))}
	for list, disks := range [...][]Disk{l.Disks, l.Released} {
		for i := range disks {
			e := disks[i]
			e.released = list == 1
			for _, w := range words(idOf(e.Holder), &e.Identity) {
				if m.disks[w] == nil {
					m.disks[w] = &e
				}
			}
		}
	}
	return m
}

// words are the names of a disk. The serial number is the last: that of an NVMe controller is one of
// each of its namespaces.
func words(holder krm.ID, id *disk.Identity) []word {
	names := slices.Concat([]string{id.Path}, id.Links, []string{id.WWN, id.Serial})
	words := make([]word, 0, len(names))
	for _, name := range names {
		if name != "" {
			words = append(words, word{holder, id.Node, name})
		}
	}
	return words
}

// Knows reports whether anything is remembered of the disks of an object.
func (m Memory) Knows(holder krm.ID) bool {
	for w := range m.disks {
		if w.holder == holder {
			return true
		}
	}
	return false
}

// Disk is what is remembered of a disk that an object holds, or nil.
func (m Memory) Disk(holder krm.ID, hold disk.Hold) *Disk {
	if len(m.disks) == 0 || hold.Device.Name != "" {
		return nil
	}
	for _, w := range words(holder, &hold.Identity) {
		if e := m.disks[w]; e != nil {
			return e
		}
	}
	return nil
}

// Known is a disk of what is rendered: what is remembered of it stays, and reports add what is not
// known yet. Further links are added only to a disk that nothing else identifies, or that is new here: one
// that was released is, as it would be if it had been forgotten. The size is the largest that it had, so that a
// disk that shrinks is found so.
func (m Memory) Known(holder finding.Ref, hold disk.Hold, reports []*disk.Disk) Disk {
	e := Disk{Holder: holder, Device: hold.Device, Identity: hold.Identity, Role: hold.Role}
	id := &e.Identity
	was := m.Disk(idOf(holder), hold)
	if was != nil {
		id.WWN, id.Serial, e.Size, e.Applied = cmp.Or(was.Identity.WWN, id.WWN), cmp.Or(was.Identity.Serial, id.Serial), was.Size, was.Applied
		id.Links = join(id.Links, was.Identity.Links)
	}
	addLinks := was == nil || was.released || id.WWN == "" && id.Serial == ""
	for _, report := range reports {
		known := report.Known()
		id.WWN, id.Serial = cmp.Or(id.WWN, known.WWN), cmp.Or(id.Serial, known.Serial)
		if addLinks {
			id.Links = join(id.Links, known.Links)
		}
		e.Size = max(e.Size, report.Size())
	}
	if slices.Contains(id.Links, id.Path) {
		id.Path = ""
	}
	return e
}

// Recall is a hold of an object with what is remembered of the disk.
func (m Memory) Recall(holder krm.ID, hold disk.Hold) disk.Hold {
	e := m.Disk(holder, hold)
	if e == nil {
		return hold
	}
	id := &hold.Identity
	id.WWN, id.Serial = cmp.Or(e.Identity.WWN, id.WWN), cmp.Or(e.Identity.Serial, id.Serial)
	id.Links = join(id.Links, e.Identity.Links)
	return hold
}

func idOf(ref finding.Ref) krm.ID { return (&krm.Object{Ref: ref}).ID() }

// join lists the links of both, sorted.
func join(a, b []string) []string {
	links := slices.Concat(a, b)
	slices.Sort(links)
	return slices.Compact(links)
}
