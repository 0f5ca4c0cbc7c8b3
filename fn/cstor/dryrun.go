package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

var _ system.DryRunner = System{}

// DryRunEffect implements system.DryRunner. The webhook, version 3.6.0, claims the
// new disk while it validates a replacement, and was seen to do so in a dry run.
func (System) DryRunEffect(live, wanted *krm.Object) string {
	if wanted.Kind != poolClusterKind {
		return ""
	}
	if disks := replacements(pool.DecodeCluster(live).Pools, pool.DecodeCluster(wanted).Pools); len(disks) > 0 {
		return "the admission webhook of cStor claims " + finding.Names(disks) + " even then"
	}
	return ""
}

// replacements lists the disks that come into a RAID group in the place of others,
// in order. A group is the same, to the webhook, if it keeps a disk.
func replacements(old, new []*pool.Pool) []string {
	was := groupsOf(old)
	groupOf := map[string]int{} // disk -> its group before
	for i, group := range was {
		for _, disk := range group {
			groupOf[disk] = i
		}
	}
	var disks []string
	for _, group := range groupsOf(new) {
		kept := map[int]int{} // how many disks of which group
		for _, disk := range group {
			if i, found := groupOf[disk]; found {
				kept[i]++
			}
		}
		for i, n := range kept {
			if n == len(was[i]) {
				continue
			}
			for _, disk := range group {
				if !slices.Contains(was[i], disk) {
					disks = append(disks, disk)
				}
			}
		}
	}
	slices.Sort(disks)
	return slices.Compact(disks)
}

func groupsOf(pools []*pool.Pool) pool.Groups {
	var groups pool.Groups
	for _, p := range pools {
		groups = append(groups, p.Data...)
		groups = append(groups, p.Cache...)
	}
	return groups
}
