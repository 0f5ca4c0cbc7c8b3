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

// keep takes over the pools of earlier runs and those that live, and frees the disks of
// those that go.
func (s *set) keep() {
	if len(s.in.Facts.Nodes) == 0 {
		s.Report(finding.Error, "no-inventory", "",
			"the package has no Node among its facts, so nothing can be chosen; put a snapshot of the cluster beside the spec with poolwright inventory")
		return
	}
	if terms := s.cfg.Spec.AllowedNodes.NodeSelectorTerms; len(terms) > 0 && !slices.ContainsFunc(s.in.Facts.Nodes, s.selects) {
		s.Report(finding.Error, "selector-matches-nothing", "spec.allowedNodes.nodeSelectorTerms",
			"selects no node of the inventory, which has %s; compare it with the labels there", finding.Count(len(s.in.Facts.Nodes), "node"))
		return
	}
	locked := s.locked()
	if s.everyNodeMissing(locked) {
		return
	}
	for _, p := range locked {
		s.checkLive(p)
		s.checkOthers(p)
		if s.stays(p) {
			s.pools = append(s.pools, p)
		}
	}
	s.takeBack(locked)
	s.limitNodes()
	s.limitPools()
}

// locked are the pools of earlier runs, by name.
func (s *set) locked() []*pool {
	knows := s.in.Facts.Tells(group, poolKind, s.Object.Namespace)
	var pools []*pool
	for _, o := range s.Before {
		if o.GroupKind() != poolGroupKind() {
			continue
		}
		p := readPool(o)
		p.disk, p.live = s.find(p), s.in.Facts.Object(o.ID())
		p.gone = knows && p.live == nil
		p.consent = s.allows(p.name)
		p.leaving = slices.Contains(s.replace, p.name)
		pools = append(pools, p)
	}
	slices.SortFunc(pools, func(a, b *pool) int { return cmp.Compare(a.name, b.name) })
	return pools
}

// allows reports whether a pool may go.
func (s *set) allows(name string) bool {
	one, all := s.Consent.Covers(poolKind, name), s.Consent.Covers(setKind, s.Object.Name)
	return one || all
}

// consent says how a person lets a pool go.
func consentFor(name string) string {
	return fmt.Sprintf("annotate the set with %s: %s/%s", krm.AnnotationAllowRemoval, poolKind, name)
}

// everyNodeMissing reports, as an error, that no node of the pools is in the snapshot.
func (s *set) everyNodeMissing(locked []*pool) bool {
	var names []string
	for _, p := range locked {
		if s.in.Facts.Node(p.node) != nil || p.gone || p.consent {
			return false
		}
		if !slices.Contains(names, p.node) {
			names = append(names, p.node)
		}
	}
	if len(names) == 0 {
		return false
	}
	s.Report(finding.Error, "all-nodes-missing", "",
		"every node of the pools (%s) is missing from the inventory; the snapshot is of another cluster or cut short, take it anew; if the nodes and what is on them are gone for good, annotate the set with %s: %s/%s",
		finding.Names(names), krm.AnnotationAllowRemoval, setKind, s.Object.Name)
	return true
}

// checkLive compares a pool with the live one of its name.
func (s *set) checkLive(p *pool) {
	if p.live == nil {
		return
	}
	lives := readPool(p.live)
	lives.disk = s.find(lives)
	switch {
	case !s.sameDisk(p, lives):
		s.Report(finding.Error, "other-disk", "", "DiskPool %s is on %s of node %s, and the live one of that name on %s of node %s; one of them is of another cluster or was edited by hand: put the rendered one right, from the history of Git",
			p.name, p.uri(), p.node, lives.uri(), lives.node)
	case p.live.Owner() == "":
		s.Report(finding.Info, "adopted", "", "takes over the live DiskPool %s, which nobody owns", p.name)
	}
}

// checkOthers looks for somebody else who has named the disk of a pool.
func (s *set) checkOthers(p *pool) {
	if p.disk == nil {
		return
	}
	for _, h := range p.disk.Holders() {
		itself := h.Object.Kind == poolKind && h.Object.Namespace == s.Object.Namespace && h.Object.Name == p.name
		if h.Owner == s.owner || itself {
			continue
		}
		switch h.Source {
		case disk.Lock, disk.Manifest:
			s.Report(finding.Error, "disk-twice", "", "the disk of DiskPool %s (%s of node %s) is also named by %s; take it out of one of them", p.name, p.uri(), p.node, h)
			return
		case disk.Live:
			if !p.gone {
				s.Report(finding.Warning, "disk-held", "", "the disk of DiskPool %s (%s of node %s) is also held by %s; see which of them has it", p.name, p.uri(), p.node, h)
				return
			}
		}
	}
}

// stays decides whether a pool of an earlier run stays.
func (s *set) stays(p *pool) bool {
	node := s.in.Facts.Node(p.node)
	field, why := "", ""
	switch {
	case node == nil:
		why = "its node is missing from the inventory"
	case !s.selects(node):
		field, why = "spec.allowedNodes", "its node is no longer selected"
	case p.disk == nil:
		why = "its disk is missing from the inventory"
	case p.gone:
		why = s.in.Disks.Verdict(p.disk, s.want(node, p.name)).Reason()
		if why == "" && !s.selectsDisk(p.disk) {
			why = "it is not selected by spec.diskSelector"
		}
		if why == "" {
			break
		}
		s.drop(p, "nothing of it lives, and of its disk is said: "+why)
		s.Report(finding.Warning, "replanned", "", "DiskPool %s, of which nothing lives, is given up: of its disk %s is said that %s", p.name, p.uri(), why)
		return false
	}
	switch {
	case why == "":
		s.keepDisk(p, place.Kept, "its pool is rendered already")
		if !p.hasLink() {
			s.Report(finding.Warning, "links-changed", "", "the disk of DiskPool %s is there without the link %s; the pool is kept as it is, since Mayastor reads it only once", p.name, p.uri())
		}
		return true
	case p.gone:
		s.drop(p, "nothing of it lives, and "+why)
		s.Report(finding.Info, "pool-removed", field, "DiskPool %s, of which nothing lives, is given up: %s", p.name, why)
		return false
	case p.consent:
		s.drop(p, why+", and its removal is allowed")
		return false
	}
	s.keepDisk(p, place.Held, why)
	s.Report(finding.Warning, "held", field, "DiskPool %s is held: %s; to let it go, %s", p.name, why, consentFor(p.name))
	return true
}

// keepDisk says that a disk stays.
func (s *set) keepDisk(p *pool, verdict place.Verdict, reason string) {
	if before := p.ofDisk(); before != "" {
		reason += "; " + before
	}
	if p.disk != nil {
		s.Decide(diskRef(p.disk), p.node, "pool", verdict, reason)
		return
	}
	s.Decide(s.poolRef(p.name), p.node, "pool", verdict, reason)
}

// drop lets a pool go.
func (s *set) drop(p *pool, why string) {
	s.released[s.poolID(p.name)] = true
	if p.disk != nil {
		s.in.Disks.Release(p.disk, s.owner)
		s.givenUp[p.disk] = !p.gone
		s.Decide(diskRef(p.disk), p.node, "", place.Refused, why)
	}
}

// takeBack takes pools back that live as ours and that the lock has lost.
func (s *set) takeBack(locked []*pool) {
	for _, o := range s.in.Facts.Objects(group, poolKind) {
		isLocked := slices.ContainsFunc(locked, func(p *pool) bool { return p.name == o.Name })
		if o.Namespace != s.Object.Namespace || o.Owner() != s.owner || isLocked || o.Deleting() || s.allows(o.Name) || slices.Contains(s.replace, o.Name) {
			continue
		}
		p := readPool(o)
		p.live, p.disk = o, s.find(p)
		node := s.in.Facts.Node(p.node)
		switch {
		case node != nil && !s.selects(node):
			s.Report(finding.Error, "pool-lost", "spec.allowedNodes", "DiskPool %s lives on node %s, what is rendered has lost it, and the node is no longer selected; want it again, or, to have the pool removed, %s", p.name, p.node, consentFor(p.name))
			continue
		case p.mark == "" && p.disk != nil:
			p.mark = markOf(p.disk).String()
		}
		s.Report(finding.Warning, "taken-back", "", "DiskPool %s lives, and what is rendered has lost it; it is taken back", p.name)
		s.keepDisk(p, place.Kept, "its pool lives")
		s.checkOthers(p)
		s.pools = append(s.pools, p)
	}
}

// members are the nodes with a pool, those that go first at the end: what may go, then
// the newest.
func (s *set) members() []string {
	var names []string
	free := map[string]bool{}
	for _, p := range s.pools {
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
		return cmp.Or(rank(a)-rank(b), oldest(s.in.Facts, a, b), cmp.Compare(a, b))
	})
	return names
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

// limitNodes lets pools go on nodes that are too many, as far as nothing is lost or the
// loss is allowed.
func (s *set) limitNodes() {
	members := s.members()
	if s.cfg.Spec.MaxNodeCount == 0 || len(members) <= s.cfg.Spec.MaxNodeCount {
		return
	}
	surplus := members[s.cfg.Spec.MaxNodeCount:]
	s.pools = slices.DeleteFunc(s.pools, func(p *pool) bool {
		if !slices.Contains(surplus, p.node) {
			return false
		}
		return s.tooMany(p, "spec.maxNodeCount", fmt.Sprintf("%s have pools, and maxNodeCount is %d", finding.Count(len(members), "node"), s.cfg.Spec.MaxNodeCount))
	})
}

// limitPools does the same for the pools of a node. One that is being replaced is not
// counted.
func (s *set) limitPools() {
	on := map[string][]*pool{}
	for _, p := range s.pools {
		if !p.leaving {
			on[p.node] = append(on[p.node], p)
		}
	}
	for _, node := range s.members() {
		here := on[node]
		if len(here) <= s.cfg.perNode {
			continue
		}
		rank := func(p *pool) int {
			if p.gone || p.consent {
				return 1
			}
			return 0
		}
		slices.SortFunc(here, func(a, b *pool) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a.name, b.name)) })
		why := fmt.Sprintf("its node has %s, and poolsPerNode is %d", finding.Count(len(here), "pool"), s.cfg.perNode)
		for _, p := range here[s.cfg.perNode:] {
			if s.tooMany(p, "spec.poolsPerNode", why) {
				s.pools = slices.DeleteFunc(s.pools, func(o *pool) bool { return o == p })
			}
		}
	}
}

// tooMany decides about a pool that is not wanted any more, and reports whether it goes.
func (s *set) tooMany(p *pool, field, why string) bool {
	if p.gone || p.consent {
		s.drop(p, why)
		return true
	}
	s.keepDisk(p, place.Held, why)
	s.Report(finding.Warning, "held", field, "DiskPool %s is held: %s; to let it go, %s", p.name, why, consentFor(p.name))
	return false
}
