package cstor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
)

// Source: Poolwright.
const (
	maxDisksField = "spec.poolConfig.maxDisksPerCluster"
	fewestPools   = 3 // that a CStorPoolCluster is to have, so that volumes can have three replicas
)

// clusterChoice decides in which CStorPoolCluster a new pool comes: in one that has room, by
// poolConfig.maxDisksPerCluster, or in a further one. There it stays for good. Where the field
// is not set, a new config gets as many as can be edited in the time of the webhook.
type clusterChoice struct {
	*input
	ready func(*standing.Cluster)  // makes a further one ready for a render
	taken func(name string) string // who else has such a name, or ""

	members []*member // that have their places
}

// limit is how many disks a CStorPoolCluster may have, 0 for any number.
func (d *desired) limit() int { return d.cfg.Spec.PoolConfig.MaxDisksPerCluster }

// hasRoom reports whether so many disks more can come into a CStorPoolCluster.
func (in *input) hasRoom(of *standing.Cluster, disks int) bool {
	return in.limit() == 0 || in.works[of].disks+disks <= in.limit()
}

// takes reports whether so many pools more, of so many disks each, can come into a
// CStorPoolCluster.
func (c *clusterChoice) takes(of *standing.Cluster, more, size int) bool {
	if c.limit() > 0 {
		return c.hasRoom(of, more*size)
	}
	var pools []int
	for _, m := range c.members {
		if m.of == of && m.leaving == "" {
			pools = append(pools, c.disksOf(m))
		}
	}
	return c.isEditable(append(pools, slices.Repeat([]int{size}, more)...)) || len(pools)+more <= fewestPools
}

// isEditable reports whether a CStorPoolCluster of pools with so many disks can be edited at all
// in the time of the webhook.
func (in *input) isEditable(pools []int) bool {
	return in.state.Timeout.Allows(admission.Settings(pools))
}

// isParted reports whether the pools of a new config come into several CStorPoolClusters since one
// of all could not be edited. Each can have three pools that can: else it is not better than one.
func (c *clusterChoice) isParted(added []*member) bool {
	if c.limit() > 0 || c.standing.IsRendered() || c.standing.IsRunning() {
		return false
	}
	var pools []int
	for _, m := range c.members {
		pools = append(pools, c.disksOf(m))
	}
	for _, m := range added {
		pools = append(pools, c.disksOf(m))
	}
	return len(pools) >= 2*fewestPools && !c.isEditable(pools) && c.isEditable(slices.Repeat([]int{slices.Max(pools)}, fewestPools))
}

// full says that a CStorPoolCluster takes no more disks.
func (in *input) full(of *standing.Cluster) string {
	return fmt.Sprintf("CStorPoolCluster %s has %s, and maxDisksPerCluster is %d", of.Name, finding.Count(in.works[of].disks, "disk"), in.limit())
}

// checkLimit refuses pools for which no CStorPoolCluster has room.
func checkLimit(in *input, s *settings) {
	if limit := in.limit(); limit > 0 && s.disks() > limit {
		cached := ""
		if s.writeCache != nil {
			cached = ", with its write cache"
		}
		in.report(finding.Error, "cluster-too-small", maxDisksField, "is %d, and a pool by %s has %s%s; write at least %d, for three pools, or remove it",
			limit, s.field("minCount"), finding.Count(s.disks(), "disk"), cached, fewestPools*s.disks())
	}
}

// disks is how many disks a new pool has.
func (s *settings) disks() int {
	if s.writeCache == nil {
		return s.minCount
	}
	return s.minCount + s.writeCache.Count
}

// count counts the disks of each CStorPoolCluster. Pools that go do not count, and those that
// were chosen earlier do.
func (c *clusterChoice) count(members []*member) {
	c.members = slices.Clone(members)
	for _, of := range c.standing.Clusters() {
		c.works[of].disks = 0
	}
	for _, m := range c.members {
		if m.leaving == "" {
			c.works[m.of].disks += c.disksOf(m)
		}
	}
	for _, of := range c.standing.Clusters() {
		if c.limit() > 0 && c.works[of].disks > c.limit() {
			c.report(finding.Info, "cluster-over-limit", maxDisksField, "is %d, and CStorPoolCluster %s has %s: its pools stay in it, and no more come", c.limit(), of.Name, finding.Count(c.works[of].disks, "disk"))
		}
	}
}

// disksOf is how many disks a member has, with those by which it is known to grow.
func (c *clusterChoice) disksOf(m *member) int {
	if m.before == nil {
		return c.settings(m.name).disks()
	}
	return max(len(m.before.Data.Disks()), c.standing.SetOf(m.name).Grown.Disks) + len(m.before.Cache.Disks())
}

// pools counts the pools of a CStorPoolCluster that stay.
func (c *clusterChoice) pools(of *standing.Cluster) int {
	n := 0
	for _, m := range c.members {
		if m.of == of && m.leaving == "" {
			n++
		}
	}
	return n
}

// open lists the CStorPoolClusters that take pools: one that is on its way out takes none,
// unless there is no other.
func (c *clusterChoice) open() []*standing.Cluster {
	return slices.DeleteFunc(slices.Clone(c.standing.Clusters()), func(of *standing.Cluster) bool {
		gone := of.Current == nil && len(c.state.Live.Instances(c.namespace, of.Name)) == 0
		return len(c.standing.Clusters()) > 1 && !gone && c.pools(of) == 0
	})
}

// place says for each of the new members, the oldest node first, in which CStorPoolCluster its
// pool comes. They get three pools each before any gets a fourth, and then as many as the
// others, in zones as even as can be.
func (c *clusterChoice) place(added []*member) {
	if !c.isSplit() && !c.isParted(added) {
		return
	}
	before := len(c.standing.Clusters())
	rest := slices.Clone(added)
	quota := c.quotas(rest)
	for len(rest) > 0 && !c.failed() {
		left := len(rest)
		for _, of := range slices.Clone(c.standing.Clusters()) {
			if m := c.next(of, rest); m != nil && quota[of] > 0 {
				quota[of]--
				c.put(m, of)
				rest = slices.DeleteFunc(rest, func(other *member) bool { return other == m })
			}
		}
		if left == len(rest) { // pools are not all of one size
			quota = c.quotas(rest)
			if !slices.ContainsFunc(rest, func(m *member) bool { return c.roomFor(m) }) {
				quota = map[*standing.Cluster]int{c.further(): len(rest)}
			}
		}
	}
	c.tellFurther(before, added)
}

// roomFor reports whether the pool of a new member fits into a CStorPoolCluster that is there.
func (c *clusterChoice) roomFor(m *member) bool {
	return slices.ContainsFunc(c.open(), func(of *standing.Cluster) bool { return c.takes(of, 1, c.disksOf(m)) })
}

// atOnce is how many pools come where one is to: a further CStorPoolCluster begins with three.
func (c *clusterChoice) atOnce() int {
	if !c.isSplit() || slices.ContainsFunc(c.open(), func(of *standing.Cluster) bool { return c.takes(of, 1, c.cfg.general.disks()) }) {
		return 1
	}
	return fewestPools
}

// quotas says how many of the new pools come into each CStorPoolCluster, and opens as many
// further ones as are needed.
func (c *clusterChoice) quotas(added []*member) map[*standing.Cluster]int {
	open, quota := c.open(), map[*standing.Cluster]int{}
	if len(added) == 0 {
		return quota
	}
	size := c.disksOf(added[0])
	room := func(of *standing.Cluster) bool { return c.takes(of, quota[of]+1, size) }
	for range added {
		fitting := slices.DeleteFunc(slices.Clone(open), func(of *standing.Cluster) bool { return !room(of) })
		if len(fitting) == 0 {
			if c.failed() {
				break
			}
			further := c.further()
			open, fitting = append(open, further), []*standing.Cluster{further}
		}
		quota[fitting[0]]++ // which it keeps: as many are opened as are needed, and no more
	}
	pools := func(of *standing.Cluster) int { return c.pools(of) + quota[of] }
	clear(quota)
	for range added {
		best := slices.MinFunc(open, func(a, b *standing.Cluster) int {
			return cmp.Or(
				trueFirst(room(a), room(b)),
				trueFirst(pools(a) < fewestPools, pools(b) < fewestPools),
				trueFirst(c.loses(a), c.loses(b)),
				c.compareFilled(a, b, pools),
				cmp.Compare(a.Number, b.Number),
			)
		})
		quota[best]++
	}
	return quota
}

// compareFilled puts the one with fewest pools first, of those that have enough.
func (c *clusterChoice) compareFilled(a, b *standing.Cluster, pools func(*standing.Cluster) int) int {
	if pools(a) < fewestPools {
		return 0
	}
	return cmp.Compare(pools(a), pools(b))
}

// loses reports whether a pool of a CStorPoolCluster goes, whose volumes need another.
func (c *clusterChoice) loses(of *standing.Cluster) bool {
	return slices.ContainsFunc(c.members, func(m *member) bool { return m.of == of && m.leaving != "" })
}

// next is the one of the new members whose zone has fewest pools of a CStorPoolCluster, of
// those that fit, or nil.
func (c *clusterChoice) next(of *standing.Cluster, added []*member) *member {
	var kept, able []*inventory.Node
	for _, m := range c.members {
		if m.of == of && m.node != nil && m.leaving == "" {
			kept = append(kept, m.node)
		}
	}
	for _, m := range added {
		if c.takes(of, 1, c.disksOf(m)) {
			able = append(able, m.node)
		}
	}
	for _, p := range place.SpreadNodes(kept, able, 1) {
		return added[slices.IndexFunc(added, func(m *member) bool { return m.node == p.Node })]
	}
	return nil
}

// put gives a new member its CStorPoolCluster.
func (c *clusterChoice) put(m *member, of *standing.Cluster) {
	m.of = of
	c.standing.Plan(m.name, of)
	c.works[of].disks += c.disksOf(m)
	c.members = append(c.members, m)
}

// further opens another CStorPoolCluster, of the first number that is free.
func (c *clusterChoice) further() *standing.Cluster {
	number := 2
	for c.standing.Cluster(c.poolCluster(number)) != nil {
		number++
	}
	of := newPoolCluster(c.names, number, c.state)
	if other := c.taken(of.Name); other != "" {
		c.report(finding.Error, "names-meet", maxDisksField, "%s, so that a further CStorPoolCluster is needed, and its name %s is taken by %s; rename either, or %s", c.limited(), of.Name, other, c.larger())
	}
	c.ready(of)
	c.standing.Open(of)
	return of
}

// tellFurther says which pools come into CStorPoolClusters that are new, beside others.
func (c *clusterChoice) tellFurther(before int, added []*member) {
	if len(c.standing.Clusters()) == before {
		return
	}
	for _, of := range c.standing.Clusters() {
		var nodes []string
		for _, m := range added {
			if m.of == of {
				nodes = append(nodes, m.name)
			}
		}
		if of.Number == 1 || of.Before != nil || len(nodes) == 0 {
			continue
		}
		few := ""
		if len(nodes) < fewestPools {
			few = fmt.Sprintf("; a volume in it has at most %s, as many as there are pools: raise minPoolCount for more", finding.Count(len(nodes), "replica"))
		}
		c.report(finding.Info, "cluster-split", maxDisksField, "%s, so that %s into a further CStorPoolCluster, %s%s%s",
			c.limited(), come(nodes), of.Name, few, c.inOne())
	}
}

// limited says what limits the pools of a CStorPoolCluster.
func (in *input) limited() string {
	if in.limit() > 0 {
		return fmt.Sprintf("is %d", in.limit())
	}
	return "is not set, and the cStor webhook has no time to edit a CStorPoolCluster of more pools: it " + in.state.Timeout.Given()
}

// inOne says what lets all pools of a new config come into one CStorPoolCluster, or "".
func (c *clusterChoice) inOne() string {
	var pools []int
	for _, m := range c.members {
		pools = append(pools, c.disksOf(m))
	}
	t, ok := admission.Enough(admission.Settings(pools))
	if !ok || c.limit() > 0 || c.standing.IsRendered() || c.standing.IsRunning() {
		return ""
	}
	return fmt.Sprintf("; for one of all pools, set timeoutSeconds: %d there and take the inventory before the first render", t.Seconds)
}

// larger says what lets more pools come into a CStorPoolCluster.
func (in *input) larger() string {
	if in.limit() > 0 {
		return "raise maxDisksPerCluster"
	}
	return "raise timeoutSeconds there"
}

func come(nodes []string) string {
	if len(nodes) == 1 {
		return "the pool on node " + nodes[0] + " comes"
	}
	return "the pools on nodes " + finding.Names(nodes) + " come"
}

// trueFirst compares by a condition: what meets it comes first.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
