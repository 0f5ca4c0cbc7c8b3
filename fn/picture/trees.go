package picture

import (
	"cmp"
	"strings"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/schema/finding"
)

// FromTrees finds the pools in trees, with what hangs on them from either side. zoneOf is the
// zone of a node, "" where it has none.
func FromTrees(trees []*health.Tree, zoneOf func(node string) string) []Pool {
	c := collector{zoneOf: zoneOf, at: map[key]int{}, has: map[partKey]bool{}}
	for _, t := range trees {
		c.collect(t, path{pool: -1})
	}
	return c.pools
}

// key distinguishes pools: what one system has on its nodes is one object on each.
type key struct {
	object finding.Ref
	node   string
}

type partKey struct {
	pool   int
	object finding.Ref
}

type collector struct {
	zoneOf func(node string) string
	pools  []Pool
	at     map[key]int
	has    map[partKey]bool
}

// path is what lies above a tree: the pool, the replica or the disk right above, and the
// volume as people call it.
type path struct {
	pool   int // -1 for none
	part   *health.Tree
	volume string
}

func (c *collector) collect(t *health.Tree, above path) {
	below := path{pool: above.pool, part: above.part, volume: above.volume}
	switch t.Place.Role {
	case health.Pool:
		below.pool = c.pool(t)
		if above.part != nil {
			c.add(below.pool, above.part, above.volume)
		}
		below.part = nil
	case health.Replica, health.Disk:
		if above.pool >= 0 {
			c.add(above.pool, t, cmp.Or(above.volume, claimBelow(t)))
		}
		below.pool, below.part = -1, t
	default:
		if name := volumeName(t); name != "" && (above.volume == "" || t.Object.Kind == claimKind) {
			below.volume = name
		}
	}
	for _, child := range t.Children {
		c.collect(child, below)
	}
}

// pool is the column of a pool, made if it is not there.
func (c *collector) pool(t *health.Tree) int {
	k := key{t.Object, t.Place.Node}
	i, found := c.at[k]
	if !found {
		i = len(c.pools)
		c.at[k] = i
		c.pools = append(c.pools, Pool{
			Object: t.Object, Node: t.Place.Node, Zone: c.zoneOf(t.Place.Node), Phase: t.Phase, State: t.State,
			Used: t.Place.Used, Total: t.Place.Total,
		})
	}
	return i
}

// add adds a replica or a disk to a pool, once.
func (c *collector) add(pool int, t *health.Tree, volume string) {
	k := partKey{pool, t.Object}
	if c.has[k] {
		return
	}
	c.has[k] = true
	part := Part{Kind: Disk, Object: t.Object, Name: t.Object.Name, Phase: t.Phase, State: t.State}
	switch {
	case t.Place.Role == health.Replica:
		part.Kind, part.Name = Replica, cmp.Or(volume, t.Object.Name)
	case t.Phase == "": // of a plan: its state is what becomes of it
		part.Mark = ToCome
		if t.State == "free" || t.State == "refused" {
			part.Mark = Rejected
		}
	}
	c.pools[pool].Parts = append(c.pools[pool].Parts, part)
}

const claimKind = "PersistentVolumeClaim"

// volumeName is what people call a volume: its claim, or else the volume.
func volumeName(t *health.Tree) string {
	switch {
	case t.Object.Kind == claimKind:
		return t.Object.Namespace + "/" + t.Object.Name
	case t.Place.Role == health.Volume:
		return t.Object.Name
	}
	return ""
}

// claimBelow is what people call the volume of a replica from which a tree goes up to it.
func claimBelow(t *health.Tree) string {
	name := ""
	for _, child := range t.Children {
		if child.Place.Role != "" && child.Place.Role != health.Volume {
			continue
		}
		below := cmp.Or(claimBelow(child), volumeName(child))
		if strings.Contains(below, "/") {
			return below
		}
		name = cmp.Or(name, below)
	}
	return name
}
