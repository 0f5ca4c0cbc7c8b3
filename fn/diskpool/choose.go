package diskpool

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// candidate is a disk that a new pool may be on.
type candidate struct {
	*disk.Disk
	name, link string // of the pool
}

// choose takes what is wanted more: replacements first, then pools on nodes that have
// some, then on new nodes.
func (s *set) choose() {
	s.used, s.perNode = map[*disk.Disk]bool{}, map[string]int{}
	for _, p := range s.pools {
		s.use(p)
	}
	allowed := s.allowedNodes()
	s.replacePools(allowed)
	for _, name := range s.members() {
		if n := s.in.Facts.Node(name); n != nil && allowed[name] != "" {
			s.Decide(nodeRef(name), name, "", place.Kept, s.chosenBefore(name, "it has pools; it gets no new one, since "+allowed[name]))
		} else if n != nil {
			s.Decide(nodeRef(name), name, "", place.Kept, s.chosenBefore(name, "it has pools"))
			s.fill(n, "")
		} else {
			s.Decide(nodeRef(name), name, "", place.Held, s.chosenBefore(name, "it is missing from the inventory, and its pools are held"))
		}
	}
	s.chooseNodes(allowed)
	s.explainRest(allowed)
	s.compareSettings()
	if len(s.pools) == 0 {
		s.Report(finding.Warning, "no-pools", "", "no pool can be made: %s; classes are withheld until there is one", s.whyNone(allowed))
	}
	s.makeClasses()
	slices.SortFunc(s.pools, func(a, b *pool) int { return cmp.Compare(a.name, b.name) })
}

// need is what a node lacks for a pool, and the command that mends it.
type need struct{ rule, reason, command string }

// hugePages is how much memory in huge pages the io-engine takes, in bytes.
const hugePages = 2 << 30

// needs are what a node is known to lack.
func (s *set) needs(n *inventory.Node) []need {
	var needs []need
	if n.Object.Label(labelEngine) != engine {
		needs = append(needs, need{"no-engine-label", "it has no label " + labelEngine + "=" + engine, "kubectl label node " + n.Name + " " + labelEngine + "=" + engine})
	}
	if arch := cmp.Or(n.Object.Label("kubernetes.io/arch"), n.Object.Node.Str("status", "nodeInfo", "architecture")); arch != "" && arch != "amd64" {
		needs = append(needs, need{"not-amd64", "its architecture is " + arch + ", and Mayastor runs on amd64 alone", "kubectl label node " + n.Name + " " + labelEngine + "-"})
	}
	if few := fewHugePages(s.in.Facts, n); few.reason != "" {
		needs = append(needs, few)
	}
	if n.Unschedulable {
		needs = append(needs, need{"cordoned", "it is cordoned", "kubectl uncordon " + n.Name})
	}
	return needs
}

// fewHugePages reads what kubelet gives to pods, and what the kernel has where a node agent
// tells. Only what is known is a reason.
func fewHugePages(facts *inventory.Facts, n *inventory.Node) (few need) {
	const restart = "sudo systemctl restart kubelet"
	short := func(size string) bool {
		bytes, read := parseBytes(size)
		return read && bytes < hugePages
	}
	pods, kernel := n.Object.Node.Str("status", "allocatable", "hugepages-2Mi"), ""
	if agent := facts.Object(krm.ID{Group: ownGroup, Kind: agentKind, Name: n.Name}); agent != nil {
		kernel = agent.Node.Str("status", "hugepages", "2Mi")
	}
	switch {
	case short(kernel):
		bytes, _ := parseBytes(kernel)
		few.reason = "it has " + quantity.Size(bytes) + " of hugepages-2Mi"
	case !short(pods):
		return need{}
	case kernel != "":
		return need{"few-hugepages", "its kernel has enough hugepages-2Mi, and its kubelet says " + pods + ", where the io-engine takes 2Gi", "on the node, " + restart}
	default:
		few.reason = "it has " + pods + " of hugepages-2Mi"
	}
	return need{"few-hugepages", few.reason + ", and the io-engine takes 2Gi",
		"on the node, echo vm.nr_hugepages=1024 | sudo tee /etc/sysctl.d/90-mayastor.conf && sudo sysctl --system && " + restart}
}

// allowedNodes says of each node that is selected or has a pool why it gets no new one,
// "" where it may.
func (s *set) allowedNodes() map[string]string {
	allowed := map[string]string{}
	members := s.members()
	for _, n := range s.in.Facts.Nodes {
		if !s.selects(n) {
			allowed[n.Name] = "it is not selected by spec.allowedNodes"
			continue
		}
		allowed[n.Name] = place.RefuseHostname(n, s.in.Facts)
		for _, need := range s.needs(n) {
			allowed[n.Name] = cmp.Or(allowed[n.Name], need.reason)
			what := "no pool is made on it"
			if slices.Contains(members, n.Name) {
				what = "its pools are kept, and no new one is made on it"
			}
			s.Report(finding.Warning, need.rule, "", "node %s: %s; %s until then: %s", n.Name, need.reason, what, need.command)
		}
	}
	return allowed
}

// want is what a disk must meet for a pool of a name.
func (s *set) want(n *inventory.Node, name string) disk.Want {
	return disk.Want{
		Mine: func(h disk.Holder) bool {
			if h.Source != disk.Live {
				return h.Owner == s.owner
			}
			return h.Object.Kind == poolKind && h.Object.Namespace == s.Object.Namespace && h.Object.Name == name && (h.Owner == "" || h.Owner == s.owner)
		},
		Node: n, MinCapacity: s.cfg.minCapacity, AllowedTags: s.cfg.allowedTags,
	}
}

// refuse says why a disk cannot be taken for a new pool, or what the pool is to be.
func (s *set) refuse(n *inventory.Node, there *disk.Disk) (c candidate, reason string) {
	link, why := linkOf(there, s.cfg.Spec.AllowByPath)
	c = candidate{Disk: there, link: link, name: poolName(s.Object.Name, n.Name, stableID(there, n.Name, link))}
	if reason := s.in.Disks.Verdict(there, s.want(n, c.name)).Reason(); reason != "" {
		return c, reason
	}
	switch {
	case !s.selectsDisk(there):
		return c, "it is not selected by spec.diskSelector"
	case why != "":
		return c, why
	case s.givenUp[there], slices.Contains(s.replace, c.name), s.Consent.Covers(poolKind, c.name):
		return c, "its pool " + c.name + " was given up; take the name out of the annotations of the set to have it anew"
	}
	if live := s.in.Facts.Object(s.poolID(c.name)); live != nil {
		lives := readPool(live)
		if lives.disk = s.find(lives); !s.sameDisk(s.newPool(n.Name, c.name, link, there), lives) {
			return c, "a live DiskPool " + c.name + " is on another disk"
		}
	}
	return c, ""
}

// selectsDisk holds a disk against the selector.
func (s *set) selectsDisk(there *disk.Disk) bool {
	terms := s.cfg.Spec.DiskSelector.SelectorTerms
	return len(terms) == 0 || selector.MatchesAny(terms, there.Report())
}

// use marks the disk of a pool, under all its names.
func (s *set) use(p *pool) {
	s.perNode[p.node]++
	if p.leaving {
		s.perNode[p.node]--
	}
	if p.disk == nil {
		return
	}
	s.used[p.disk] = true
	for _, same := range p.disk.Others() {
		s.used[same] = true
	}
}

// candidates goes through the disks of a node that new pools may be on, the best first. A
// disk is looked at when it is its turn.
func (s *set) candidates(n *inventory.Node) iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		for _, there := range s.in.Disks.On(n) {
			if s.used[there] {
				continue
			}
			if c, reason := s.refuse(n, there); reason == "" && !yield(c) {
				return
			}
		}
	}
}

// hasCandidate reports whether a new pool may be on a node.
func (s *set) hasCandidate(n *inventory.Node) bool {
	for range s.candidates(n) {
		return true
	}
	return false
}

// take makes a pool on a disk.
func (s *set) take(n *inventory.Node, c candidate, chosen, reason string) *pool {
	s.in.Disks.Take(c.Disk, s.Object.Ref, s.owner)
	p := s.newPool(n.Name, c.name, c.link, c.Disk)
	p.chosen = chosen
	s.pools = append(s.pools, p)
	s.use(p)
	s.Decide(diskRef(c.Disk), n.Name, "pool", place.Chosen, reason)
	return p
}

// fill makes pools on a node until it has as many as are wanted.
func (s *set) fill(n *inventory.Node, chosen string) {
	has := s.perNode[n.Name]
	if has >= s.cfg.perNode {
		return
	}
	for c := range s.candidates(n) {
		if has == s.cfg.perNode {
			return
		}
		s.take(n, c, words(chosen, chosenFit), "the smallest eligible disk that is left on the node")
		has++
	}
	if s.cfg.Spec.PoolsPerNode != "all" && has < s.cfg.perNode {
		s.Report(finding.Warning, "few-disks", "spec.poolsPerNode", "node %s has eligible disks for %d of %s; the rest is made when there are more: poolwright explain says why the others are refused", n.Name, has, finding.Count(s.cfg.perNode, "pool"))
	}
}

// chooseNodes makes pools on nodes that had none, spread over the zones.
func (s *set) chooseNodes(allowed map[string]string) {
	members := s.members()
	var kept, candidates []*inventory.Node
	for _, n := range s.in.Facts.Nodes {
		switch {
		case slices.Contains(members, n.Name):
			kept = append(kept, n)
		case allowed[n.Name] != "":
		case !s.hasCandidate(n):
			allowed[n.Name] = "it has no eligible disk" + s.nearest(n)
		default:
			candidates = append(candidates, n)
		}
	}
	count := len(candidates)
	if most := s.cfg.Spec.MaxNodeCount; most > 0 {
		count = max(0, min(count, most-len(members)))
	}
	for _, picked := range place.SpreadNodes(kept, candidates, count) {
		s.Decide(nodeRef(picked.Node.Name), picked.Node.Name, "", place.Chosen, picked.Reason)
		s.fill(picked.Node, wordOf(picked))
		members = append(members, picked.Node.Name)
	}
	for _, n := range s.in.Facts.Nodes {
		switch {
		case slices.Contains(members, n.Name):
		case allowed[n.Name] != "":
			s.Decide(nodeRef(n.Name), n.Name, "", place.Refused, allowed[n.Name])
		default:
			s.Decide(nodeRef(n.Name), n.Name, "", place.Free, "spec.maxNodeCount is reached")
		}
	}
}

// nearest says why the disks of a node are refused.
func (s *set) nearest(n *inventory.Node) string {
	var refusals []place.Refusal
	for _, there := range s.in.Disks.On(n) {
		if _, reason := s.refuse(n, there); reason != "" {
			refusals = append(refusals, place.Refusal{Reason: reason, Size: there.Size()})
		}
	}
	if len(refusals) == 0 {
		return ""
	}
	return ": " + place.Summarize(refusals)
}

// whyNone says why there is no pool.
func (s *set) whyNone(allowed map[string]string) string {
	var refused []string
	for _, n := range s.in.Facts.Nodes {
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
func (s *set) explainRest(allowed map[string]string) {
	for _, n := range s.in.Facts.Nodes {
		for _, there := range s.in.Disks.On(n) {
			if s.used[there] || s.givenUp[there] {
				continue
			}
			switch _, reason := s.refuse(n, there); {
			case reason != "":
				s.Decide(diskRef(there), n.Name, "", place.Refused, reason)
			case allowed[n.Name] != "":
				s.Decide(diskRef(there), n.Name, "", place.Free, "its node gets no new pool: "+allowed[n.Name])
			default:
				s.Decide(diskRef(there), n.Name, "", place.Free, "enough disks were chosen without it")
			}
		}
	}
}

// compareSettings says once how many pools have other settings than new ones get.
func (s *set) compareSettings() {
	wanted := map[string]string{
		"topologyLabels": pairs(s.cfg.Spec.TopologyLabels), "encryptionSecret": s.cfg.Spec.EncryptionSecret,
		"maxExpansion": s.cfg.Spec.MaxExpansion, "clusterSize": s.cfg.Spec.ClusterSize, "diskURI": s.cfg.Spec.DiskURI,
	}
	var differ []string
	old, unlabelled, example := 0, 0, ""
	for _, p := range s.pools {
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
		s.Report(finding.Info, "unlabelled", "spec.release", "%s no label %s, and stay as they were made", haveOf(unlabelled), labelSet)
	}
}

// haveOf says "1 pool has" or "3 pools have".
func haveOf(n int) string {
	if n == 1 {
		return "1 pool has"
	}
	return finding.Count(n, "pool") + " have"
}
