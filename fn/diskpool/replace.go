package diskpool

import (
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
)

// replacement makes pools in the place of other ones.
type replacement struct {
	*input
	roster *roster
	offers *offers
}

// replacePools makes a pool beside each one that is to be replaced, and lets that go
// when the new one serves and the loss is allowed.
func (r *replacement) replacePools(allowed map[string]string) {
	for _, name := range r.replace {
		old := r.roster.pool(name)
		if old == nil {
			r.checkReplaced(name)
			continue
		}
		i := slices.IndexFunc(r.roster.pools, func(p *pool) bool { return p.replaces == name })
		if i < 0 {
			r.putBeside(old, allowed)
			continue
		}
		fresh := r.roster.pools[i]
		switch state := stateOf(fresh.live); {
		case !state.online:
			r.waits(old, fresh, "DiskPool "+fresh.name+" is not Created and Online yet: apply what is rendered, and refresh the inventory")
		case !old.consent:
			r.waits(old, fresh, "its removal is not allowed yet: when it is empty, "+consentFor(name))
		default:
			r.roster.drop(old, "DiskPool "+fresh.name+" took its place, and its removal is allowed")
			r.roster.pools = slices.DeleteFunc(r.roster.pools, func(p *pool) bool { return p == old })
			fresh.replaces = ""
		}
	}
	for _, p := range r.roster.pools { // what was replaced is gone, and so is the wish
		if p.replaces != "" && r.roster.pool(p.replaces) == nil {
			p.replaces = ""
		}
	}
}

// waits says what the old pool waits for, and how its replicas are moved.
func (r *replacement) waits(old, fresh *pool, why string) {
	r.Report(finding.Warning, "replacement-waits", "", "DiskPool %s stays beside %s: %s; its replicas are moved with kubectl mayastor scale volume VOLUME REPLICAS, one more and then one less", old.name, fresh.name, why)
}

// putBeside makes the new pool: on the same node, or else on another one.
func (r *replacement) putBeside(old *pool, allowed map[string]string) {
	var nodes []*inventory.Node
	for _, n := range r.Facts.Nodes {
		if allowed[n.Name] == "" {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, place.Oldest)
	if i := slices.IndexFunc(nodes, func(n *inventory.Node) bool { return n.Name == old.node }); i > 0 {
		same := nodes[i]
		nodes = slices.Insert(slices.Delete(nodes, i, i+1), 0, same)
	}
	var refused []string
	for _, n := range nodes {
		if why := r.roster.full(n.Name); why != "" && n.Name != old.node {
			refused = append(refused, n.Name+" ("+why+")")
			continue
		}
		for c := range r.offers.candidates(n) {
			fresh := r.offers.take(n, c, chosenReplaced, "it takes the place of the disk of DiskPool "+old.name)
			fresh.replaces = old.name
			r.waits(old, fresh, "it is new")
			return
		}
		refused = append(refused, n.Name+" (it has no eligible disk"+r.offers.nearest(n)+")")
	}
	why := "no node that is allowed can have another pool: " + finding.Names(refused)
	if len(refused) == 0 {
		why = "no node gets a new pool"
	}
	r.Report(finding.Warning, "no-replacement", "", "DiskPool %s cannot be replaced: %s; nothing changes until one can", old.name, why)
	old.leaving = false
	r.roster.perNode[old.node]++
}

// checkReplaced warns of a name that means nothing any more. While the pool or its disk is
// there, the name keeps the disk from being chosen again.
func (r *replacement) checkReplaced(name string) {
	if r.Facts.Object(r.poolID(name)) != nil || r.roster.released[r.poolID(name)] {
		return
	}
	for _, n := range r.Facts.Nodes {
		for _, there := range r.Disks.On(n) {
			link, _ := r.linkOf(there)
			if poolName(r.Object.Name, n.Name, stableID(there, n.Name, link)) == name {
				return
			}
		}
	}
	r.Collect(r.AnnotationFinding(finding.Warning, "replace-unmatched", annotationReplace, poolKind+"/"+name, "which is not there (any more); remove it"))
}
