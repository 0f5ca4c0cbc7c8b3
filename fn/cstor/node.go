package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

const (
	selectorField = "spec.allowedNodes.nodeSelectorTerms"
	defaultPools  = 3 // where minPoolCount is not given
	spareRoom     = 2 // maxPoolCount over minPoolCount, where it is not given
)

// nodeChoice decides which nodes hold pools.
type nodeChoice struct {
	*input
	drains       map[string]bool // nodes that a person wants to be drained
	clusters     *clusterChoice
	back         map[string]string            // what was taken back, by node
	cannotSupply func(*inventory.Node) string // why a node has no disks for a pool, or ""

	members    []*member
	candidates []*inventory.Node // that may hold pools more
	listedNew  []*inventory.Node // those of them that the spec lists
	missing    int               // so many of them are wanted
	able       []*inventory.Node // those of them that can supply their disks and are not picked
	unable     []string          // those that cannot, and why
	maximum    int               // of pools
	released   map[krm.ID]bool   // claims and attachments that go with their nodes
	going      map[string]string // hostname labels of nodes whose pools go in this run
	allMissing bool              // no node of the cluster is in the snapshot, and all may go
	lacking    bool              // fewer nodes than wanted can supply their disks
	short      bool              // pools went, or go, and fewer nodes than minPoolCount may hold one
}

// keep decides which nodes of earlier runs stay, and frees the disks of the others.
func (c *nodeChoice) keep() {
	if !c.KnowsNodes(c.facts) || !c.cfg.Spec.OnlyListed && !c.SelectsNodes(c.facts, c.cfg.Spec.AllowedNodes.NodeSelectorTerms, selectorField) {
		return
	}
	dropped := c.keepNodes()
	if c.failed() {
		return
	}
	c.holdLingering()
	candidates, refused := c.allowedNodes(dropped)
	minimum, maximum := c.poolCounts(c.staying(), len(candidates))
	if minimum == 0 && len(c.members) == 0 {
		c.report(finding.Error, "too-few-nodes", "spec.allowedNodes", "no node may hold a pool: %s", refusals(refused))
		return
	}
	if c.failed() {
		return
	}
	c.limitNodes(maximum)
	candidates = c.listedFirst(candidates, maximum-c.staying())
	want := max(minimum-c.staying(), len(c.listedNew))
	if want > len(candidates) {
		severity := finding.Error
		if c.short = c.lock.short || c.staying() < len(c.members); c.short {
			severity = finding.Warning // pools went, or go: those that are left are looked after all the same
		}
		c.report(severity, "too-few-nodes", "spec.minPoolCount",
			"wants %s, but only %s may hold one: %s; lower minPoolCount, or allow more nodes",
			finding.Count(minimum, "pool"), finding.Count(c.staying()+len(candidates), "node"), refusals(refused))
		if severity == finding.Error {
			return
		}
	}
	c.candidates, c.missing, c.maximum = candidates, min(max(want, 0), len(candidates)), maximum
	c.release(minimum)
}

// staying counts the members that do not go.
func (c *nodeChoice) staying() int {
	n := 0
	for _, m := range c.members {
		if m.leaving == "" {
			n++
		}
	}
	return n
}

// keepNodes takes over the nodes of earlier runs. It returns those that are let
// go, which are not chosen again in the same run.
func (c *nodeChoice) keepNodes() (dropped map[string]bool) {
	dropped = map[string]bool{}
	missing := slices.DeleteFunc(slices.Clone(c.lock.nodes), c.isPresent)
	present := slices.DeleteFunc(slices.Clone(c.lock.nodes), func(name string) bool { return !c.isPresent(name) })
	// What goes and never lived is no step that others wait for.
	for _, name := range slices.DeleteFunc(slices.Clone(present), c.mayLive) {
		c.keepNode(name, dropped)
	}
	for _, of := range c.lock.clusters {
		of.steps.forget(func(p *nodePool) bool { return !c.mayLive(p.node) && c.letsGo(p) && c.isPresent(p.node) })
	}
	for _, name := range slices.DeleteFunc(present, func(name string) bool { return !c.mayLive(name) }) {
		c.keepNode(name, dropped)
	}
	if c.allMissing = c.everyMissing(missing); c.failed() {
		return dropped
	}
	for _, name := range missing {
		c.keepNode(name, dropped)
	}
	slices.SortFunc(c.members, c.planOrder())
	return dropped
}

// planOrder compares members by their places in the plan: a node that is made anew is no newer
// for it.
func (c *nodeChoice) planOrder() func(a, b *member) int {
	place := make(map[string]int, len(c.lock.nodes))
	for i, name := range c.lock.nodes {
		place[name] = i
	}
	return func(a, b *member) int { return place[a.name] - place[b.name] }
}

// mayLive reports whether a node has no pool that was rendered and is known not to live.
func (c *nodeChoice) mayLive(name string) bool {
	p := c.lock.pool(name)
	return p == nil || !c.live.knownGone(p.Pool)
}

// keepNode takes over a node of earlier runs, unless it goes.
func (c *nodeChoice) keepNode(name string, dropped map[string]bool) {
	m := c.newMember(name)
	switch {
	case m.node != nil && m.before == nil && c.stillOn(m.hostname) != "":
		c.drop(m, dropped, c.stillOn(m.hostname))
		return
	case m.node == nil && c.renamed(name) != nil && c.planOnly(m):
		c.drop(m, dropped, "it is called "+c.renamed(name).Name+" now, and nothing is on it yet")
		return
	case m.node == nil && c.renamed(name) != nil && !c.consent.allows(name):
		// Volumes are attached to the name: those of a pool that is there stay.
		now := c.renamed(name)
		c.choose(system.NodeRef(m.name), m.name, "", place.Held, "it is called "+now.Name+" now")
		c.warnOfName(m, now)
	case m.node == nil:
		// Consent for the whole cluster is not meant for one node that a snapshot lacks.
		consent := c.consent.allowsSet(name) || c.allMissing && (c.consent.allows(name) || c.planOnly(m))
		if c.letGo(m, dropped, consent, "it is missing from the inventory, and its removal is allowed") {
			return
		}
		if !consent {
			c.hold(m, "", "is missing from the inventory; it is held, since a missing node is not a lost one")
		}
	case !c.allows(m.node, name):
		consent := c.consent.allows(name) || c.planOnly(m)
		field, why := c.notAllowed(name)
		if c.letGo(m, dropped, consent, "it "+why) {
			return
		}
		if !consent {
			c.hold(m, field, why+", but "+m.holding())
		}
		c.refresh(m)
	case c.drains[name]:
		consent := c.consent.allows(name) || c.planOnly(m)
		if c.letGo(m, dropped, consent, "it is to be drained") {
			return
		}
		if !consent {
			c.hold(m, drainField, "is to be drained, but "+m.holding())
		}
		c.refresh(m)
	case place.RefuseHostname(m.node, c.facts) != "" && c.planOnly(m):
		c.drop(m, dropped, place.RefuseHostname(m.node, c.facts))
		return
	default:
		why := "it is in the plan"
		if c.lock.adopted && m.before != nil {
			why = "its pool lives"
		}
		why += m.inFurther()
		if from := c.lock.cameFrom[m.name]; from != "" {
			why = "its pool follows its disks from node " + from
		}
		c.choose(system.NodeRef(m.name), m.name, "", place.Kept, why+c.says(c.settings(m.name)))
		c.refresh(m)
	}
	c.members = append(c.members, m)
}

// inFurther says in which CStorPoolCluster the pool of a member is, where that is not the
// first.
func (m *member) inFurther() string {
	if m.of.number == 1 {
		return ""
	}
	return ", in CStorPoolCluster " + m.of.name
}

// holding says what would be lost with a member.
func (m *member) holding() string {
	if m.before == nil {
		return "holds claims that are, or may be, bound"
	}
	return "holds a pool"
}

// renamed is the one node that has the host of a missing node now, or nil.
func (c *nodeChoice) renamed(name string) *inventory.Node {
	if c.facts.Node(name) != nil {
		return nil
	}
	if nodes := c.facts.Host(c.lock.hosts[name]); len(nodes) == 1 && !c.lock.known[nodes[0].Name] {
		return nodes[0]
	}
	return nil
}

func (c *nodeChoice) warnOfName(m *member, now *inventory.Node) {
	if m.before == nil {
		c.report(finding.Warning, "node-renamed", "",
			"node %s is missing from the inventory, and node %s has its hostname label %q: it is taken to be the same, and stays in the plan under the old name", m.name, now.Name, m.hostname)
		return
	}
	c.report(finding.Warning, "node-renamed", "",
		"node %s is missing from the inventory, and node %s has its hostname label %q: its pool runs there and is kept under the old name, there is nothing to let go; while they differ the cStor webhook checks no change of the pool, so never edit the CStorPoolCluster by hand", m.name, now.Name, m.hostname)
}

func (c *nodeChoice) newMember(name string) *member {
	m := &member{name: name, of: c.lock.clusterOf(name), node: c.facts.Node(name), before: c.lock.pool(name), uid: c.lock.uids[name], reason: c.lock.reasons[name]}
	if m.hostname = c.lock.hosts[name]; m.before == nil && m.node != nil {
		m.hostname = m.node.Hostname
	}
	if m.node == nil && !c.settings(name).external() {
		m.node = c.renamed(name)
	}
	return m
}

// refresh takes over what the snapshot says of a node that stays.
func (c *nodeChoice) refresh(m *member) {
	if m.node.Name != m.name {
		c.warnOfName(m, m.node)
	} else if m.uid != "" && m.node.UID != "" && m.uid != m.node.UID {
		c.report(finding.Warning, "node-recreated", "",
			"node %s was made anew (uid %s, was %s); its pool is kept, check that its disks are the same", m.name, m.node.UID, m.uid)
	}
	if m.node.UID != "" {
		m.uid = m.node.UID
	}
	if m.before != nil && m.node.Hostname != "" && m.node.Hostname != m.hostname {
		c.report(finding.Warning, "hostname-changed", "",
			"node %s now has the hostname label %q, and its pool selects %q; the pool is kept as it is, restore the label", m.name, m.node.Hostname, m.hostname)
	}
}

func (c *nodeChoice) hold(m *member, field, why string) {
	m.held = true
	if lost := c.back[m.name]; lost != "" {
		c.report(finding.Error, "pool-lost", field,
			"%s, and the spec does not want it: the node %s; want it again, or, to have it removed, annotate the config with %s", lost, why, c.consent.annotation(m.name))
		return
	}
	c.choose(system.NodeRef(m.name), m.name, "", place.Held, "it "+why)
	c.report(finding.Warning, "held", field, "node %s %s; to let it go, annotate the config with %s", m.name, why, c.consent.annotation(m.name))
}

func (c *nodeChoice) drop(m *member, dropped map[string]bool, why string) {
	dropped[m.name] = true
	c.choose(system.NodeRef(m.name), m.name, "", place.Refused, why)
	c.free(m)
	for _, o := range c.lock.volumes[m.name] {
		c.released[o.ID()] = !c.lingers(m.name)
	}
	if m.before != nil {
		c.report(finding.Info, "pool-removed", "", "the pool on node %s is removed: %s", m.name, why)
	}
}

// holdLingering keeps the disks of pools that went in an earlier run, and still live.
func (c *nodeChoice) holdLingering() {
	for node, set := range c.lock.sets {
		if c.lock.known[node] {
			continue
		}
		for _, names := range set.devices {
			for _, name := range names {
				if c.goes(node, name) {
					c.lock.pooled[name] = true
				}
			}
		}
	}
}

// free gives up the disks of a node that goes, but for those of a pool that still lives.
func (c *nodeChoice) free(m *member) {
	var names []string
	for _, r := range []role{data, cache, spare} {
		names = append(names, c.lock.reserved(m.name, r)...)
	}
	if m.before != nil {
		names = append(names, m.before.Disks()...)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return c.goes(m.name, name) })
	c.lock.unpool(names)
	c.giveUp(m.name, names)
}
