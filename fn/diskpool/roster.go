package diskpool

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
)

// roster is the pools of a set, as far as this run has decided.
type roster struct {
	*input
	pools    []*pool
	used     map[*disk.Disk]bool // by pools of the set
	perNode  map[string]int      // pools that stay on a node
	released map[krm.ID]bool
	givenUp  map[*disk.Disk]bool // disks of pools that went in this run
}

func (r *roster) pool(name string) *pool {
	if i := slices.IndexFunc(r.pools, func(p *pool) bool { return p.name == name }); i >= 0 {
		return r.pools[i]
	}
	return nil
}

// use marks the disk of a pool, under all its names.
func (r *roster) use(p *pool) {
	r.perNode[p.node]++
	if p.leaving {
		r.perNode[p.node]--
	}
	if p.disk == nil {
		return
	}
	r.used[p.disk] = true
	for _, same := range p.disk.Others() {
		r.used[same] = true
	}
}

// full says why one more pool on another node would be one too many, or "".
func (r *roster) full(node string) string {
	here := 0
	for _, p := range r.pools {
		if p.node == node {
			here++
		}
	}
	switch {
	case here >= r.cfg.perNode:
		return fmt.Sprintf("it has %s, and poolsPerNode is %d", finding.Count(here, "pool"), r.cfg.perNode)
	case here == 0 && r.cfg.Spec.MaxNodeCount > 0 && len(r.nodes()) > r.cfg.Spec.MaxNodeCount:
		return fmt.Sprintf("%s have pools, and maxNodeCount is %d", finding.Count(len(r.nodes()), "node"), r.cfg.Spec.MaxNodeCount)
	}
	return ""
}

// members are the nodes with a pool, those that go first at the end: what may go, then
// the newest.
func (r *roster) members() []string {
	var names []string
	free := map[string]bool{}
	for _, p := range r.pools {
		before, known := free[p.node]
		if !known {
			names = append(names, p.node)
		}
		free[p.node] = (before || !known) && (p.gone || p.consent)
	}
	rank := func(name string) int {
		if free[name] {
			return 1
		}
		return 0
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), oldest(r.Facts, a, b), cmp.Compare(a, b))
	})
	return names
}

// nodes are those with a pool, to look them up.
func (r *roster) nodes() map[string]bool {
	nodes := map[string]bool{}
	for _, p := range r.pools {
		nodes[p.node] = true
	}
	return nodes
}

// oldest orders nodes by name as place.Oldest does; a missing one is not known to be new.
func oldest(facts *inventory.Facts, a, b string) int {
	first, second := facts.Node(a), facts.Node(b)
	switch {
	case first == nil && second == nil:
		return 0
	case first == nil:
		return -1
	case second == nil:
		return 1
	}
	return place.Oldest(first, second)
}

// keepDisk says that a disk stays.
func (r *roster) keepDisk(p *pool, verdict place.Verdict, reason string) {
	if before := p.ofDisk(); before != "" {
		reason += "; " + before
	}
	if p.disk != nil {
		r.Decide(p.disk.Ref(), p.node, "pool", verdict, reason)
		return
	}
	r.Decide(r.poolRef(p.name), p.node, "pool", verdict, reason)
}

// drop lets a pool go.
func (r *roster) drop(p *pool, why string) {
	r.released[r.poolID(p.name)] = true
	if p.disk != nil {
		r.Disks.Release(p.disk, r.owner)
		r.givenUp[p.disk] = !p.gone
		r.Decide(p.disk.Ref(), p.node, "", place.Refused, why)
	}
}

// checkOthers looks for somebody else who has named the disk of a pool.
func (r *roster) checkOthers(p *pool) {
	if p.disk == nil {
		return
	}
	for _, h := range p.disk.Holders() {
		itself := h.Object.Kind == poolKind && h.Object.Namespace == r.Object.Namespace && h.Object.Name == p.name
		if h.Owner == r.owner || itself {
			continue
		}
		switch h.Source {
		case disk.Lock, disk.Manifest:
			r.Report(finding.Error, "disk-twice", "", "the disk of DiskPool %s (%s of node %s) is also named by %s; take it out of one of them", p.name, p.uri(), p.node, h)
			return
		case disk.Live:
			if !p.gone {
				r.Report(finding.Warning, "disk-held", "", "the disk of DiskPool %s (%s of node %s) is also held by %s; see which of them has it", p.name, p.uri(), p.node, h)
				return
			}
		}
	}
}

// chosenBefore explains why nodes were chosen in earlier runs, where a pool has the reason: "; " and that.
func (r *roster) chosenBefore() map[string]string {
	reasons := map[string]string{}
	for _, p := range r.pools {
		if why := p.ofNode(); !p.isNew && why != "" && reasons[p.node] == "" {
			reasons[p.node] = "; " + why
		}
	}
	return reasons
}
