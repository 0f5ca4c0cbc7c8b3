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
	spare := map[string]int{RAIDZ: 1, RAIDZ2: 2}
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
		if p.RAIDType == Mirror {
			return out < len(group)
		}
		return out <= spare[p.RAIDType]
	}
	return true
}

// Rebuilds reports whether the pool has a disk replaced at the moment.
func (i *Instance) Rebuilds() bool {
	conditions := i.Object.Node.Seq("status", "conditions")
	return slices.ContainsFunc(conditions, func(c document.Node) bool {
		return c.Str("type") == "DiskReplacement" && c.Str("status") == "True"
	})
}
