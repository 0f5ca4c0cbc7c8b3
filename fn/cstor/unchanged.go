package cstor

import (
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/schema/finding"
)

// anotherConfig is the way to pools that are made otherwise.
const anotherConfig = "make a second CStorClusterConfig with the new one, put a CStorVolumeClass on it, move what is on the volumes there, and drain this one"

// checkUnchanged refuses what no pool can follow.
func checkUnchanged(in *input) {
	volumes := map[string]int{} // by the block of the spec that says where disks come from
	for _, p := range in.standing.Pools() {
		if wanted := in.settings(p.Node); !wanted.external() {
			volumes[wanted.source()] += pooledVolumes(in, p)
		}
	}
	for _, source := range slices.Sorted(maps.Keys(volumes)) {
		if n := volumes[source]; n > 0 {
			in.report(finding.Error, "mode-changed", source,
				"is local, but the pools hold %d cloud disks, and local disks cannot take their place; write externalProvisioner again, or make another CStorClusterConfig for local disks", n)
			return
		}
	}
	for _, p := range in.standing.Pools() {
		wanted := in.settings(p.Node)
		if p.RAIDType != wanted.raidType {
			in.report(finding.Error, "raid-type-changed", wanted.field("raidType"),
				"the pool on node %s is %s and a pool cannot change its RAID type; write raidType: %s, or %s",
				p.Node, p.RAIDType, p.RAIDType, anotherConfig)
			return
		}
		for _, group := range p.Data {
			if p.RAIDType != pool.Stripe && len(group) != wanted.groupSize {
				in.report(finding.Error, "group-size-changed", wanted.field("groupSize"),
					"is %d, but the pool on node %s has RAID groups of %d disks, and a group cannot change its size; write groupSize: %d, or %s",
					wanted.groupSize, p.Node, len(group), len(group), anotherConfig)
				return
			}
		}
		if want, have := wanted.minCount, len(p.Data.Disks()); wanted.external() && have > max(want, in.standing.SetOf(p.Node).Grown.Disks) {
			in.report(finding.Error, "count-lowered", wanted.field("minCount"),
				"is %d, but the pool on node %s has %d disks, and disks cannot be taken out of a pool; write at least minCount: %d",
				want, p.Node, have, have)
			return
		}
	}
}

// pooledVolumes counts the data disks of a pool that are cloud disks.
func pooledVolumes(in *input, p *standing.Pool) int {
	n := 0
	for i := range p.Data.Disks() {
		if in.standing.Object(in.claimID(in.storage(p.Node, record.Data, i))) != nil {
			n++
		}
	}
	return n
}

// checkCacheUnchanged warns of an edit that the operator, version 3.6, accepts and never
// carries out.
func checkCacheUnchanged(in *input, m *member) {
	wanted := in.settings(m.name)
	w, have := wanted.writeCache, len(m.before.Cache.Disks())
	severity, keeps := finding.Warning, "keeps its write cache of "+finding.Count(have, "disk")
	if have == 0 {
		keeps = "stays without a write cache"
	}
	switch {
	case w == nil && have == 0, w != nil && w.Count == have && w.RAIDType == m.before.CacheType:
		return
	case w != nil && w.Auto && have == 0:
		severity = finding.Info // the node had nothing faster then
	}
	in.report(severity, "write-cache-changed", wanted.field("writeCache"),
		"the pool on node %s %s: the cStor operator accepts a change of it and does not carry it out", m.name, keeps)
}
