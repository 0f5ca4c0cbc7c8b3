package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/schema/finding"
)

// checkUnchanged refuses what no pool can follow.
func checkUnchanged(in *input) {
	if n := pooledVolumes(in); n > 0 && !in.cfg.external() {
		in.report(finding.Error, "mode-changed", "spec.diskConfig",
			"is local, but the pools hold %d cloud disks, and local disks cannot take their place; write externalProvisioner again, or make another CStorClusterConfig for local disks", n)
		return
	}
	for _, p := range in.lock.pools {
		if p.RAIDType != in.cfg.Spec.PoolConfig.RAIDType {
			in.report(finding.Error, "raid-type-changed", "spec.poolConfig.raidType",
				"the pool on node %s is %s and a pool cannot change its RAID type; write raidType: %s, or make another CStorClusterConfig for the new type",
				p.node, p.RAIDType, p.RAIDType)
			return
		}
		for _, group := range p.Data {
			if p.RAIDType != pool.Stripe && len(group) != in.cfg.Spec.DiskConfig.GroupSize {
				in.report(finding.Error, "group-size-changed", "spec.diskConfig.groupSize",
					"is %d, but the pool on node %s has RAID groups of %d disks, and a group cannot change its size; write groupSize: %d",
					in.cfg.Spec.DiskConfig.GroupSize, p.node, len(group), len(group))
				return
			}
		}
		if want, have := in.cfg.Spec.DiskConfig.MinCount, len(p.Data.Disks()); in.cfg.external() && have > max(want, in.lock.sets[p.node].grown.disks) {
			in.report(finding.Error, "count-lowered", "spec.diskConfig.minCount",
				"is %d, but the pool on node %s has %d disks, and disks cannot be taken out of a pool; write at least minCount: %d",
				want, p.node, have, have)
			return
		}
	}
}

// pooledVolumes counts the data disks of earlier pools that are cloud disks.
func pooledVolumes(in *input) int {
	n := 0
	for _, p := range in.lock.pools {
		for i := range p.Data.Disks() {
			if in.lock.objects[in.claimID(in.storage(p.node, data, i))] != nil {
				n++
			}
		}
	}
	return n
}

// checkCacheUnchanged warns of an edit that the operator, version 3.6, accepts and never
// carries out.
func checkCacheUnchanged(in *input, m *member) {
	w, have := in.cfg.Spec.PoolConfig.WriteCache, len(m.before.Cache.Disks())
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
	in.report(severity, "write-cache-changed", "spec.poolConfig.writeCache",
		"the pool on node %s %s: the cStor operator accepts a change of it and does not carry it out", m.name, keeps)
}
