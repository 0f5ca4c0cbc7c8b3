package diskpool

import (
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
)

// replacePools makes a pool beside each one that is to be replaced, and lets that go
// when the new one serves and the loss is allowed.
func (s *set) replacePools(allowed map[string]string) {
	for _, name := range s.replace {
		old := s.pool(name)
		if old == nil {
			s.checkReplaced(name)
			continue
		}
		i := slices.IndexFunc(s.pools, func(p *pool) bool { return p.replaces == name })
		if i < 0 {
			s.replacement(old, allowed)
			continue
		}
		fresh := s.pools[i]
		switch state := stateOf(fresh.live); {
		case !state.online:
			s.waits(old, fresh, "DiskPool "+fresh.name+" is not Created and Online yet: apply what is rendered, and take the inventory anew")
		case !old.consent:
			s.waits(old, fresh, "its removal is not allowed yet: when it is empty, "+consentFor(name))
		default:
			s.drop(old, "DiskPool "+fresh.name+" took its place, and its removal is allowed")
			s.pools = slices.DeleteFunc(s.pools, func(p *pool) bool { return p == old })
			fresh.replaces = ""
		}
	}
	for _, p := range s.pools { // what was replaced is gone, and so is the wish
		if p.replaces != "" && s.pool(p.replaces) == nil {
			p.replaces = ""
		}
	}
}

func (s *set) pool(name string) *pool {
	if i := slices.IndexFunc(s.pools, func(p *pool) bool { return p.name == name }); i >= 0 {
		return s.pools[i]
	}
	return nil
}

// waits says what the old pool waits for, and how its replicas are moved.
func (s *set) waits(old, fresh *pool, why string) {
	s.Report(finding.Warning, "replacement-waits", "", "DiskPool %s stays beside %s: %s; its replicas are moved with kubectl mayastor scale volume VOLUME REPLICAS, one more and then one less", old.name, fresh.name, why)
}

// replacement makes the new pool: on the same node, or else on another one.
func (s *set) replacement(old *pool, allowed map[string]string) {
	var nodes []*inventory.Node
	for _, n := range s.in.Facts.Nodes {
		if allowed[n.Name] == "" {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, place.Oldest)
	if i := slices.IndexFunc(nodes, func(n *inventory.Node) bool { return n.Name == old.node }); i > 0 {
		same := nodes[i]
		nodes = slices.Insert(slices.Delete(nodes, i, i+1), 0, same)
	}
	for _, n := range nodes {
		if n.Name != old.node && s.full(n.Name) {
			continue
		}
		for c := range s.candidates(n) {
			fresh := s.take(n, c, chosenReplaced, "it takes the place of the disk of DiskPool "+old.name)
			fresh.replaces = old.name
			s.waits(old, fresh, "it is new")
			return
		}
	}
	s.Report(finding.Warning, "no-replacement", "", "DiskPool %s cannot be replaced: no node that is allowed has an eligible disk; nothing changes until there is one", old.name)
	old.leaving = false
	s.perNode[old.node]++
}

// full reports whether a pool more on another node would be one too many.
func (s *set) full(node string) bool {
	members, here := s.members(), 0
	for _, p := range s.pools {
		if p.node == node {
			here++
		}
	}
	return here >= s.cfg.perNode || here == 0 && s.cfg.Spec.MaxNodeCount > 0 && len(members) > s.cfg.Spec.MaxNodeCount
}

// checkReplaced warns of a name that means nothing any more. While the pool or its disk is
// there, the name keeps the disk from being chosen anew.
func (s *set) checkReplaced(name string) {
	if s.in.Facts.Object(s.poolID(name)) != nil || s.released[s.poolID(name)] {
		return
	}
	for _, n := range s.in.Facts.Nodes {
		for _, there := range s.in.Disks.On(n) {
			link, _ := linkOf(there, s.cfg.Spec.AllowByPath)
			if poolName(s.Object.Name, n.Name, stableID(there, n.Name, link)) == name {
				return
			}
		}
	}
	f := s.Finding(finding.Warning, "replace-unmatched", "", annotationReplace+" names "+poolKind+"/"+name+", which is not there (any more); remove it")
	f.Field, f.Pos = "metadata.annotations", s.Object.At("metadata", "annotations", annotationReplace)
	s.Collect(f)
}
