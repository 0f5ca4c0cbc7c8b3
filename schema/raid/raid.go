// Package raid says how many disks make a RAID group. The numbers are those of
// schema/cue/common/raid.cue, which table.go is made of.
package raid

import "slices"

// IsGroup reports whether that many disks make one group of a RAID type: stripe,
// mirror, raidz or raidz2; no size is right for another.
func IsGroup(raidType string, disks int) bool {
	r := rules(raidType)
	if !r.several {
		return slices.Contains(r.sizes, disks)
	}
	return disks > 0 && slices.ContainsFunc(r.sizes, func(size int) bool { return disks%size == 0 })
}

// rule is what a RAID type asks of a group.
type rule struct {
	sizes   []int // of groups; none for what is no RAID type
	several bool  // any number of such groups makes a group too
}
