package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Source: cstorpoolauto, types/cstorclusterconfig.go (defaults of the counts), commit 4fd936d4.
const (
	selectorField = "spec.allowedNodes.nodeSelectorTerms"
	defaultPools  = 3 // where minPoolCount is not given
	spareRoom     = 2 // maxPoolCount over minPoolCount, where it is not given
)

// roster is the nodes that hold pools: those of earlier runs that stay, and those that come.
type roster struct {
	*input
	drains     map[string]bool   // nodes that a person wants to be drained
	back       map[string]string // what was taken back, by node
	members    []*member
	released   map[krm.ID]bool   // claims and attachments that go with their nodes
	going      map[string]string // hostname labels of nodes whose pools go in this run
	allMissing bool              // no node of the cluster is in the snapshot, and all may go
}

// nodeChoice decides which nodes hold pools.
type nodeChoice struct {
	*roster
	clusters     *clusterChoice
	cannotSupply func(*inventory.Node) string // why a node has no disks for a pool, or ""

	candidates []*inventory.Node // that may hold pools more
	listedNew  []*inventory.Node // those of them that the spec lists
	missing    int               // so many of them are wanted
	able       []*inventory.Node // those of them that can supply their disks and are not picked
	unable     []string          // those that cannot, and why
	maximum    int               // of pools
	lacking    bool              // fewer nodes than wanted can supply their disks
	short      bool              // pools went, or go, and fewer nodes than minPoolCount may hold one
}

// keep decides which nodes of earlier runs stay, and frees the disks of the others.
func (c *nodeChoice) keep() {
	if !c.KnowsNodes(c.facts) {
		return
	}
	dropped := c.keepNodes()
	if c.failed() {
		return
	}
	c.holdLingering()
	c.warnOfNodes()
	candidates, refused := c.allowedNodes(dropped)
	minimum, maximum := c.poolCounts(candidates)
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
		if c.short = c.standing.Short() || c.staying() < len(c.members); c.short || c.nothing[selectorField] {
			severity = finding.Warning // pools went, or go, or no node is selected: those that are left are looked after all the same
		}
		c.report(severity, "too-few-nodes", "spec.minPoolCount",
			"wants %s, but only %s may hold one: %s; lower minPoolCount, or allow more nodes",
			finding.Count(minimum, "pool"), finding.Count(c.staying()+len(candidates), "node"), refusals(refused))
		if severity == finding.Error {
			return
		}
	}
	c.candidates, c.missing, c.maximum = candidates, min(max(want, 0), len(candidates)), maximum
	(&departures{c.roster, minimum, c.missing}).release()
}

// warnOfNodes warns of the nodes of members that do not run pods.
func (c *nodeChoice) warnOfNodes() {
	var holding []*inventory.Node
	tolerations := map[*inventory.Node][]place.Toleration{}
	for _, m := range c.members {
		if m.node != nil {
			holding = append(holding, m.node)
			tolerations[m.node] = c.settings(m.name).tolerations
		}
	}
	c.WarnOfNodes(holding, func(n *inventory.Node) string { return place.RefuseRun(n, tolerations[n]) })
}

// staying counts the members that do not go.
func (r *roster) staying() int {
	n := 0
	for _, m := range r.members {
		if m.leaving == "" {
			n++
		}
	}
	return n
}

// keepNodes takes over the nodes of earlier runs. It returns those that are let
// go, which are not chosen again in the same run.
func (r *roster) keepNodes() (dropped map[string]bool) {
	dropped = map[string]bool{}
	missing := slices.DeleteFunc(slices.Clone(r.standing.Nodes()), r.isPresent)
	present := slices.DeleteFunc(slices.Clone(r.standing.Nodes()), func(name string) bool { return !r.isPresent(name) })
	// What goes and never lived is no step that others wait for.
	for _, name := range slices.DeleteFunc(slices.Clone(present), r.mayLive) {
		r.keepNode(name, dropped)
	}
	for _, of := range r.standing.Clusters() {
		r.steps(of).forget(func(p *standing.Pool) bool { return !r.mayLive(p.Node) && r.letsGo(p) && r.isPresent(p.Node) })
	}
	for _, name := range slices.DeleteFunc(present, func(name string) bool { return !r.mayLive(name) }) {
		r.keepNode(name, dropped)
	}
	if r.allMissing = r.everyMissing(missing); r.failed() {
		return dropped
	}
	for _, name := range missing {
		r.keepNode(name, dropped)
	}
	slices.SortFunc(r.members, r.planOrder())
	return dropped
}

// planOrder compares members by their places in the plan: a node that is made anew is no newer
// for it.
func (r *roster) planOrder() func(a, b *member) int {
	place := make(map[string]int, len(r.standing.Nodes()))
	for i, name := range r.standing.Nodes() {
		place[name] = i
	}
	return func(a, b *member) int { return place[a.name] - place[b.name] }
}

// mayLive reports whether a node has no pool that was rendered and is known not to live.
func (r *roster) mayLive(name string) bool {
	p := r.standing.Pool(name)
	return p == nil || !r.live.knownGone(p.Pool)
}

// keepNode takes over a node of earlier runs, unless it goes.
func (r *roster) keepNode(name string, dropped map[string]bool) {
	m := r.newMember(name)
	switch {
	case m.node != nil && m.before == nil && r.stillOn(m.hostname) != "":
		r.drop(m, dropped, r.stillOn(m.hostname))
		return
	case m.node == nil && r.renamed(name) != nil && r.planOnly(m):
		r.drop(m, dropped, "it is called "+r.renamed(name).Name+" now, and nothing is on it yet")
		return
	case m.node == nil && r.renamed(name) != nil && !r.consent.allows(name):
		// Volumes are attached to the name: those of a pool that is there stay.
		now := r.renamed(name)
		r.choose(system.NodeRef(m.name), m.name, "", place.Held, "it is called "+now.Name+" now")
		r.warnOfName(m, now)
	case m.node == nil:
		// Consent for the whole cluster is not meant for one node that a snapshot lacks.
		consent := r.consent.allowsSet(name) || r.allMissing && (r.consent.allows(name) || r.planOnly(m))
		if r.letGo(m, dropped, consent, "it is missing from the inventory, and its removal is allowed") {
			return
		}
		if !consent {
			r.hold(m, "", "is missing from the inventory; it is held, since a missing node is not a lost one")
		}
	case !r.allows(m.node, name):
		consent := r.consent.allows(name) || r.planOnly(m)
		field, why := r.notAllowed(name)
		if r.letGo(m, dropped, consent, "it "+why) {
			return
		}
		if !consent {
			r.hold(m, field, why+", but "+m.holding())
		}
		r.refresh(m)
	case r.drains[name]:
		consent := r.consent.allows(name) || r.planOnly(m)
		if r.letGo(m, dropped, consent, "it is to be drained") {
			return
		}
		if !consent {
			r.hold(m, drainField, "is to be drained, but "+m.holding())
		}
		r.refresh(m)
	case place.RefuseHostname(m.node, r.facts) != "" && r.planOnly(m):
		r.drop(m, dropped, place.RefuseHostname(m.node, r.facts))
		return
	default:
		why := "it is in the plan"
		if r.standing.IsAdopted() && m.before != nil {
			why = "its pool exists"
		}
		why += m.inFurther()
		if from := r.standing.CameFrom(m.name); from != "" {
			why = "its pool follows its disks from node " + from
		}
		r.choose(system.NodeRef(m.name), m.name, "", place.Kept, why+r.says(r.settings(m.name)))
		r.refresh(m)
	}
	r.members = append(r.members, m)
}

// inFurther says in which CStorPoolCluster the pool of a member is, where that is not the
// first.
func (m *member) inFurther() string {
	if m.of.Number == 1 {
		return ""
	}
	return ", in CStorPoolCluster " + m.of.Name
}

// holding says what would be lost with a member.
func (m *member) holding() string {
	if m.before == nil {
		return "holds claims that are, or may be, bound"
	}
	return "holds a pool"
}

// renamed is the one node that has the host of a missing node now, or nil.
func (r *roster) renamed(name string) *inventory.Node {
	if r.facts.Node(name) != nil {
		return nil
	}
	if nodes := r.facts.Host(r.standing.Hostname(name)); len(nodes) == 1 && !r.standing.Knows(nodes[0].Name) {
		return nodes[0]
	}
	return nil
}

func (r *roster) warnOfName(m *member, now *inventory.Node) {
	if m.before == nil {
		r.report(finding.Warning, "node-renamed", "",
			"node %s is missing from the inventory, and node %s has its hostname label %q: it is taken to be the same, and stays in the plan under the old name", m.name, now.Name, m.hostname)
		return
	}
	r.report(finding.Warning, "node-renamed", "",
		"node %s is missing from the inventory, and node %s has its hostname label %q: its pool runs there and is kept under the old name, and nothing needs to be released; while the names differ, the cStor webhook does not validate changes to the pool, so never edit the CStorPoolCluster by hand", m.name, now.Name, m.hostname)
}

func (r *roster) newMember(name string) *member {
	m := &member{name: name, of: r.standing.ClusterOf(name), node: r.facts.Node(name), before: r.standing.Pool(name), uid: r.standing.UID(name), reason: r.standing.Reason(name)}
	if m.hostname = r.standing.Hostname(name); m.before == nil && m.node != nil {
		m.hostname = m.node.Hostname
	}
	if m.node == nil && !r.settings(name).external() {
		m.node = r.renamed(name)
	}
	return m
}

// refresh takes over what the snapshot says of a node that stays.
func (r *roster) refresh(m *member) {
	if m.node.Name != m.name {
		r.warnOfName(m, m.node)
	} else if m.uid != "" && m.node.UID != "" && m.uid != m.node.UID {
		r.report(finding.Warning, "node-recreated", "",
			"node %s was recreated (uid %s, was %s); its pool is kept, check that its disks are the same", m.name, m.node.UID, m.uid)
	}
	if m.node.UID != "" {
		m.uid = m.node.UID
	}
	// Of a pool whose disks have the new label, too, it is said why it does not follow them.
	if m.before != nil && m.node.Hostname != "" && m.node.Hostname != m.hostname && !r.disksOn(m.before, m.node.Hostname) {
		r.report(finding.Warning, "hostname-changed", "",
			"node %s now has the hostname label %q, and its pool selects %q; the pool is kept as it is, restore the label", m.name, m.node.Hostname, m.hostname)
	}
}

func (r *roster) hold(m *member, field, why string) {
	m.held = true
	if lost := r.back[m.name]; lost != "" {
		r.report(finding.Error, "pool-lost", field,
			"%s, and the spec does not want it: the node %s; select it again, or, to remove it, annotate the config with %s", lost, why, r.consent.annotation(m.name))
		return
	}
	r.choose(system.NodeRef(m.name), m.name, "", place.Held, "it "+why)
	r.report(finding.Warning, "held", field, "node %s %s; to release it, annotate the config with %s", m.name, why, r.consent.annotation(m.name))
}

func (r *roster) drop(m *member, dropped map[string]bool, why string) {
	dropped[m.name] = true
	r.choose(system.NodeRef(m.name), m.name, "", place.Refused, why)
	r.free(m)
	for _, o := range r.standing.Volumes(m.name) {
		r.released[o.ID()] = !r.lingers(m.name)
	}
	if m.before != nil {
		r.report(finding.Info, "pool-removed", "", "the pool on node %s is removed: %s", m.name, why)
	}
}

// holdLingering keeps the disks of pools that went in an earlier run, and still live.
func (r *roster) holdLingering() {
	for node, set := range r.standing.Sets() {
		if r.standing.Knows(node) {
			continue
		}
		for _, names := range set.Devices {
			for _, name := range names {
				if r.goes(node, name) {
					r.standing.HoldDisk(name)
				}
			}
		}
	}
}

// free gives up the disks of a node that goes, but for those of a pool that still lives.
func (r *roster) free(m *member) {
	var names []string
	for _, use := range []record.Role{record.Data, record.Cache, record.Spare} {
		names = append(names, r.standing.Reserved(m.name, use)...)
	}
	if m.before != nil {
		names = append(names, m.before.Disks()...)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return r.goes(m.name, name) })
	r.standing.Unpool(names)
	r.giveUp(m.name, names)
}
