package pool

import (
	"slices"

	"github.com/poolwright/poolwright/schema/document"
)

// The RAID types of cStor.
const (
	Stripe = "stripe"
	Mirror = "mirror"
	RAIDZ  = "raidz"
	RAIDZ2 = "raidz2"
)

// Survives reports whether the pool goes on without one of its disks: whether its group
// can do without that and all others in it that are not well already. A pool can lose its
// write cache.
func (p *Pool) Survives(disk string, well func(name string) bool) bool {
	for _, group := range p.Data {
		if !slices.Contains(group, disk) {
			continue
		}
		out := 0
		for _, name := range group {
			if name == disk || !well(name) {
				out++
			}
		}
		return out <= p.Spare(len(group))
	}
	return true
}

// Spare is how many disks of a data group of some disks the pool can do without.
//
// Source: OpenZFS, zpoolconcepts(7), 2.1.
func (p *Pool) Spare(disks int) int {
	switch p.RAIDType {
	case Mirror:
		return disks - 1
	case RAIDZ:
		return 1
	case RAIDZ2:
		return 2
	}
	return 0
}

// Rebuilds reports whether the pool has a disk replaced at the moment.
func (i *Instance) Rebuilds() bool {
	conditions := i.Object.Node.Seq("status", "conditions")
	return slices.ContainsFunc(conditions, func(c document.Node) bool {
		return c.Str("type") == "DiskReplacement" && c.Str("status") == "True"
	})
}
