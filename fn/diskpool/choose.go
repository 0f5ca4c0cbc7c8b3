package diskpool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// selection chooses nodes, and disks on them, for new pools.
type selection struct {
	*input
	roster *roster
	offers *offers
}

// keepMembers goes on with the nodes that have pools.
func (s *selection) keepMembers(allowed map[string]string) {
	before := s.roster.chosenBefore()
	var holding []*inventory.Node
	for _, name := range s.roster.members() {
		n := s.Facts.Node(name)
		if n != nil {
			holding = append(holding, n)
		}
		switch {
		case n == nil:
			s.Decide(system.NodeRef(name), name, "", place.Held, "it is missing from the inventory, and its pools are held"+before[name])
		case allowed[name] != "":
			s.Decide(system.NodeRef(name), name, "", place.Kept, "it has pools; it gets no new one, since "+allowed[name]+before[name])
		default:
			s.Decide(system.NodeRef(name), name, "", place.Kept, "it has pools"+before[name])
			s.fill(n, "")
		}
	}
	s.WarnOfNodes(holding, func(n *inventory.Node) string { return place.RefuseRun(n, place.DaemonTolerations()) })
}

// allowedNodes says of each node that is selected or has a pool why it gets no new one,
// "" where it may.
func (s *selection) allowedNodes() map[string]string {
	allowed := map[string]string{}
	members := s.roster.nodes()
	for _, n := range s.Facts.Nodes {
		if !s.selects(n) {
			allowed[n.Name] = "it is not selected by spec.allowedNodes"
			continue
		}
		allowed[n.Name] = place.RefuseHostname(n, s.Facts)
		for _, need := range s.needs(n) {
			allowed[n.Name] = cmp.Or(allowed[n.Name], need.reason)
			if members[n.Name] && need.rule == nodeDown {
				continue // all of them are in one warning
			}
			what := "no pool is made on it"
			if members[n.Name] {
				what = "its pools are kept, and no new one is made on it"
			}
			s.Report(finding.Warning, need.rule, "", "node %s: %s; %s until then: %s", n.Name, need.reason, what, need.command)
		}
	}
	return allowed
}

// fill makes pools on a node until it has as many as are wanted.
func (s *selection) fill(n *inventory.Node, chosen string) {
	has := s.roster.perNode[n.Name]
	if has >= s.cfg.perNode {
		return
	}
	for c := range s.offers.candidates(n) {
		if has == s.cfg.perNode {
			return
		}
		s.offers.take(n, c, words(chosen, chosenFit), "the smallest eligible disk that is left on the node")
		has++
	}
	if s.cfg.Spec.PoolsPerNode != "all" && has < s.cfg.perNode {
		s.Report(finding.Warning, fewDisks, "spec.poolsPerNode", "node %s has eligible disks for %d of %s; the rest is made when there are more: poolwright explain says why the others are refused", n.Name, has, finding.Count(s.cfg.perNode, "pool"))
	}
}

// chooseNodes makes pools on nodes that had none, spread over the zones.
func (s *selection) chooseNodes(allowed map[string]string) {
	members := s.roster.nodes()
	var kept, candidates []*inventory.Node
	for _, n := range s.Facts.Nodes {
		switch {
		case members[n.Name]:
			kept = append(kept, n)
		case allowed[n.Name] != "":
		case !s.offers.hasCandidate(n):
			allowed[n.Name] = "it has no eligible disk" + s.offers.nearest(n)
		default:
			candidates = append(candidates, n)
		}
	}
	count := len(candidates)
	if most := s.cfg.Spec.MaxNodeCount; most > 0 {
		count = max(0, min(count, most-len(members)))
	}
	for _, picked := range place.SpreadNodes(kept, candidates, count) {
		s.Decide(system.NodeRef(picked.Node.Name), picked.Node.Name, "", place.Chosen, picked.Reason)
		s.fill(picked.Node, wordOf(picked))
		members[picked.Node.Name] = true
	}
	for _, n := range s.Facts.Nodes {
		switch {
		case members[n.Name]:
		case allowed[n.Name] != "":
			s.Decide(system.NodeRef(n.Name), n.Name, "", place.Refused, allowed[n.Name])
		default:
			s.Decide(system.NodeRef(n.Name), n.Name, "", place.Free, "spec.maxNodeCount is reached")
		}
	}
}

// whyNone says why there is no pool.
func (s *selection) whyNone(allowed map[string]string) string {
	if why := prerequisite.NoReports(s.Facts); why != "" {
		return why + " (poolwright doctor shows what else is missing)"
	}
	var refused []string
	for _, n := range s.Facts.Nodes {
		if s.selects(n) && allowed[n.Name] != "" {
			refused = append(refused, n.Name+" ("+allowed[n.Name]+")")
		}
	}
	if len(refused) == 0 {
		return fmt.Sprintf("no node has the label %s=%s: kubectl label node NAME %s=%s", labelEngine, engine, labelEngine, engine)
	}
	return finding.Names(refused)
}

// explainRest says of the disks that are in no pool why.
func (s *selection) explainRest(allowed map[string]string) {
	for _, n := range s.Facts.Nodes {
		for _, there := range s.Disks.On(n) {
			if s.roster.used[there] || s.roster.givenUp[there] {
				continue
			}
			switch _, reason := s.offers.refuse(n, there); {
			case reason != "":
				s.Decide(there.Ref(), n.Name, "", place.Refused, reason)
			case allowed[n.Name] != "":
				s.Decide(there.Ref(), n.Name, "", place.Free, "its node gets no new pool: "+allowed[n.Name])
			default:
				s.Decide(there.Ref(), n.Name, "", place.Free, "enough disks were chosen without it")
			}
		}
	}
}

// compareSettings says once how many pools have other settings than new ones get.
func (s *selection) compareSettings() {
	wanted := map[string]string{
		"topologyLabels": pairs(s.cfg.Spec.TopologyLabels), "encryptionSecret": s.cfg.Spec.EncryptionSecret,
		"maxExpansion": s.cfg.Spec.MaxExpansion, "clusterSize": s.cfg.Spec.ClusterSize, "diskURI": s.cfg.Spec.DiskURI,
	}
	var differ []string
	old, unlabelled, example := 0, 0, ""
	for _, p := range s.roster.pools {
		if p.isNew {
			continue
		}
		same := true
		for _, field := range []string{"topologyLabels", "encryptionSecret", "maxExpansion", "clusterSize", "diskURI"} {
			if p.setting(field) != wanted[field] {
				same = false
				if !slices.Contains(differ, field) {
					differ = append(differ, field)
				}
			}
		}
		if !same {
			old++
			example = cmp.Or(example, p.name)
		}
		if s.form.has(topology) && p.spec.Str(topology, "labelled", labelSet) == "" {
			unlabelled++
		}
	}
	if old > 0 {
		s.Report(finding.Warning, "old-settings", "spec."+differ[0], "%s other %s than new ones get, and Mayastor reads a pool only once; to give one the new settings, replace it: annotate the set with %s: %s/%s",
			haveOf(old), strings.Join(differ, ", "), annotationReplace, poolKind, example)
	}
	if unlabelled > 0 {
		s.Report(finding.Info, "unlabelled", "spec.release", "%s no label %s, and %s made", haveOf(unlabelled), labelSet, finding.Agree(unlabelled, "stays as it was", "stay as they were"))
	}
}

// haveOf says "1 pool has" or "3 pools have".
func haveOf(n int) string {
	return finding.Count(n, "pool") + " " + finding.Agree(n, "has", "have")
}
