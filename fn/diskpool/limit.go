package diskpool

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
)

// limits lets pools go that are too many.
type limits struct {
	*input
	roster *roster
}

// limitNodes lets pools go on nodes that are too many, as far as nothing is lost or the
// loss is allowed.
func (l *limits) limitNodes() {
	members := l.roster.members()
	if l.cfg.Spec.MaxNodeCount == 0 || len(members) <= l.cfg.Spec.MaxNodeCount {
		return
	}
	surplus := members[l.cfg.Spec.MaxNodeCount:]
	l.roster.pools = slices.DeleteFunc(l.roster.pools, func(p *pool) bool {
		if !slices.Contains(surplus, p.node) {
			return false
		}
		return l.tooMany(p, "spec.maxNodeCount", fmt.Sprintf("%s have pools, and maxNodeCount is %d", finding.Count(len(members), "node"), l.cfg.Spec.MaxNodeCount))
	})
}

// limitPools does the same for the pools of a node. One that is being replaced counts, and
// stays until its replacement serves; that does not count before.
func (l *limits) limitPools() {
	leaving := map[string]bool{}
	for _, p := range l.roster.pools {
		if p.leaving {
			leaving[p.name] = true
		}
	}
	on := map[string][]*pool{}
	for _, p := range l.roster.pools {
		if !leaving[p.replaces] {
			on[p.node] = append(on[p.node], p)
		}
	}
	for _, node := range l.roster.members() {
		here := on[node]
		if len(here) <= l.cfg.perNode {
			continue
		}
		rank := func(p *pool) int {
			switch {
			case p.leaving:
				return -1
			case p.gone || p.consent:
				return 1
			}
			return 0
		}
		slices.SortFunc(here, func(a, b *pool) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a.name, b.name)) })
		why := fmt.Sprintf("its node has %s, and poolsPerNode is %d", finding.Count(len(here), "pool"), l.cfg.perNode)
		for _, p := range here[l.cfg.perNode:] {
			if !p.leaving && l.tooMany(p, "spec.poolsPerNode", why) {
				l.roster.pools = slices.DeleteFunc(l.roster.pools, func(o *pool) bool { return o == p })
			}
		}
	}
}

// tooMany decides about a pool that is not wanted any more, and reports whether it goes.
func (l *limits) tooMany(p *pool, field, why string) bool {
	if p.gone || p.consent {
		l.roster.drop(p, why)
		return true
	}
	l.roster.keepDisk(p, place.Held, why)
	l.Report(finding.Warning, "held", field, "DiskPool %s is held: %s; to release it, %s", p.name, why, consentFor(p.name))
	return false
}
