// Package picture draws storage: pools as columns, by the zones and nodes that they are on,
// with their disks, their replicas, how full they are and how healthy. It writes SVG for
// people, in light and dark, and the language of Graphviz for their own drawings.
package picture

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/schema/finding"
)

// Picture is what is drawn. The same picture gives the same bytes.
type Picture struct {
	Title string
	Pools []Pool
}

// Pool is a column: a pool, or all that one system has on one node.
type Pool struct {
	Object      finding.Ref
	Node, Zone  string // "" where it is not known
	Phase       health.Phase
	State       string
	Used, Total int64 // bytes; a Total of 0 is not known
	Sure, Most  int64 // bytes that may come to be used: surely, and at most
	Parts       []Part
}

// Kind is what a part of a pool is.
type Kind int

// The kinds of parts, in the order in which they are drawn.
const (
	Replica Kind = iota
	Disk
)

// Mark says whether a part is there.
type Mark int

// The marks.
const (
	There    Mark = iota
	ToCome        // it is not there yet, and will be
	MayCome       // it may come to be there
	Rejected      // it is there and is not used
)

// Part is a replica on a pool, or a disk in it.
type Part struct {
	Kind   Kind
	Object finding.Ref
	Name   string // for people
	Phase  health.Phase
	State  string
	Mark   Mark
}

// weight orders the parts of a kind: first what a person must look at.
func (p *Part) weight() int {
	switch {
	case p.Phase == health.Error:
		return 0
	case p.Phase == health.Progressing:
		return 1
	case p.Mark == ToCome:
		return 2
	case p.Mark == MayCome:
		return 3
	}
	return 4
}

// sorted is the picture in the order in which it is drawn: pools by zone, node and name,
// those without a zone last.
func (p *Picture) sorted() *Picture {
	s := &Picture{Title: p.Title, Pools: slices.Clone(p.Pools)}
	slices.SortStableFunc(s.Pools, func(a, b Pool) int {
		if (a.Zone == "") != (b.Zone == "") {
			return cmp.Compare(len(b.Zone), len(a.Zone))
		}
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Node, b.Node), compareRefs(a.Object, b.Object))
	})
	for i := range s.Pools {
		parts := slices.Clone(s.Pools[i].Parts)
		slices.SortStableFunc(parts, func(a, b Part) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.weight(), b.weight()), cmp.Compare(a.Name, b.Name), compareRefs(a.Object, b.Object))
		})
		s.Pools[i].Parts = parts
	}
	return s
}

func compareRefs(a, b finding.Ref) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// zone is pools that stand together.
type zone struct {
	name  string
	pools []Pool
}

// zones groups sorted pools.
func zones(pools []Pool) []zone {
	var all []zone
	for _, p := range pools {
		if len(all) == 0 || all[len(all)-1].name != p.Zone {
			all = append(all, zone{name: p.Zone})
		}
		z := &all[len(all)-1]
		z.pools = append(z.pools, p)
	}
	return all
}

// parts are those of one kind.
func (p *Pool) parts(kind Kind) []Part {
	return slices.DeleteFunc(slices.Clone(p.Parts), func(part Part) bool { return part.Kind != kind })
}

// percent is how full the pool is; known is false where nobody says.
func (p *Pool) percent() (share int64, known bool) {
	if p.Total <= 0 || p.Used < 0 {
		return 0, false
	}
	return min(100, int64(float64(p.Used)/float64(p.Total)*100+0.5)), true
}
