package admission

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
)

// Cost is what the webhook asks the API server for about an edit, in its order. It lists
// nodes through one client, and asks for everything else through another.
//
// Source: cstor-operators, pkg/webhook (cspc.go and cspc_operations.go), 3.6.0.
type Cost struct {
	Read     int   // requests for the CStorPoolCluster as it is: 1, and 0 for a new one
	Pools    []int // of each pool wanted, in order: a node list, then so many requests for its disks
	Removed  int   // requests for the instances of pools that go, and for their replicas
	Compared int   // node lists that pair each old pool with a wanted one
	Changed  int   // requests for the disks that change in pools that stay
	Chance   int   // more of them, or not: it looks at data and write cache in random order
}

// Requests counts both kinds of requests, at most.
func (c Cost) Requests() (disks, nodes int) {
	disks, nodes = c.Read+c.Removed+c.Changed+c.Chance, len(c.Pools)+c.Compared
	for _, n := range c.Pools {
		disks += n
	}
	return disks, nodes
}

// poolRequests is for a pool as it is wanted: its block devices, and the claims on them.
func poolRequests(disks, claimed int) int { return disks + claimed }

// removalRequests is for a pool that goes: its instance, and the replicas on that.
//
// Source: cstor-operators, pkg/webhook/cspc_operations.go, 3.6.0.
const removalRequests = 2

// pairing counts the node lists for an old pool: one for its own node, and one for each
// wanted pool up to its counterpart, or for all where it has none.
func pairing(looked int) int { return 1 + looked }

// growthRequests is for k disks that come into a pool of a cluster of n disks. For each
// the webhook lists all claims, and again for every disk of the cluster.
func growthRequests(n, k int) int { return k * (1 + n) }

// replacementRequests is for a disk of a group of g in a cluster of n disks. The webhook
// lists all claims for each disk of the group, for the new one, and for each disk of the
// cluster, compares two sizes, and makes the claim: get device, get claim, create.
func replacementRequests(n, g int) int { return g + 1 + n + 2 + 3 }

// Cost counts the requests of an edit. Pools stand in the order of the objects, by which
// the webhook goes. old is nil for a new object.
func (s State) Cost(old, wanted *pool.Cluster) Cost {
	return s.cost(s.Resolve(old), s.Resolve(wanted))
}

func (s State) cost(old, wanted *pool.Cluster) Cost {
	had := old.Has()
	var c Cost
	for _, p := range wanted.Pools {
		disks, claimed := p.Disks(), 0
		for _, name := range disks {
			if had[name] || s.claimed(wanted, name) {
				claimed++
			}
		}
		c.Pools = append(c.Pools, poolRequests(len(disks), claimed))
	}
	if old == nil {
		return c
	}
	c.Read = 1
	for _, p := range old.Pools {
		at := s.counterpart(p, wanted)
		switch {
		case s.nodeGone(p):
			c.Compared += pairing(0)
		case at < 0:
			c.Compared += pairing(len(wanted.Pools))
		default:
			c.Compared += pairing(at + 1)
		}
		if at >= 0 {
			c.change(p, wanted.Pools[at], len(had))
		} else if wanted.Host(p.Hostname) == nil && !slices.ContainsFunc(wanted.Pools, p.Shares) {
			c.Removed += removalRequests
		}
	}
	return c
}

// counterpart finds the wanted pool that the webhook compares an old one with, -1 for
// none: the one of its host, where the node is called like that, or, where the node is
// gone, one that has a data disk of it.
func (s State) counterpart(old *pool.Pool, wanted *pool.Cluster) int {
	switch {
	case s.nodeGone(old):
		disks := old.Data.Disks()
		return slices.IndexFunc(wanted.Pools, func(p *pool.Pool) bool { return len(pool.Without(disks, p.Data.Disks())) < len(disks) })
	case !s.Checks(old.Hostname):
		return -1
	}
	return slices.IndexFunc(wanted.Pools, func(p *pool.Pool) bool { return p.Hostname == old.Hostname })
}

// change counts what is asked for about a pool of a cluster of n disks that changes. Of
// data and write cache, what is looked at last forgets the new disks of the other, unless
// it is a stripe.
func (c *Cost) change(old, p *pool.Pool, n int) {
	if old.Data.Equal(p.Data) && old.Cache.Equal(p.Cache) {
		return
	}
	data, cache := added(old.RAIDType, old.Data, p.Data), added(old.CacheType, old.Cache, p.Cache)
	dataLast, cacheLast := data, cache
	if old.RAIDType == pool.Stripe {
		dataLast += cache
	}
	if old.CacheType == pool.Stripe {
		cacheLast += data
	}
	least := min(dataLast, cacheLast)
	c.Changed += growthRequests(n, least)
	c.Chance += growthRequests(n, max(dataLast, cacheLast)-least)
	for _, m := range slices.Concat(match(old.Data, p.Data), match(old.Cache, p.Cache)) {
		if m.new != nil && len(m.out) == 1 && len(m.in) == 1 {
			c.Changed += replacementRequests(n, len(m.old))
		}
	}
}

// added counts the disks by which groups of a RAID type grow.
func added(raidType string, old, groups pool.Groups) int {
	if raidType == pool.Stripe {
		n := 0
		for _, m := range match(old, groups) {
			n += len(m.in)
		}
		return n
	}
	n := 0
	for _, group := range unmatched(old, groups) {
		n += len(group)
	}
	return n
}

// claimed reports whether a cluster has a claim on a disk already.
func (s State) claimed(cluster *pool.Cluster, name string) bool {
	d := s.Facts.Device(cluster.Namespace, name)
	if d == nil {
		return false
	}
	claim := s.Facts.ClaimOf(d)
	return claim != nil && claim.PoolCluster == cluster.Name
}
