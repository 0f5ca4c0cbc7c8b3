package cstor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// allowedNodes lists the nodes that may newly be chosen, and why others may not.
func (c *nodeChoice) allowedNodes(dropped map[string]bool) (allowed []*inventory.Node, refused []string) {
	member, hosts := map[string]bool{}, map[string]string{}
	for _, m := range c.members {
		member[m.name], hosts[m.hostname] = true, m.name
	}
	for _, n := range c.facts.Nodes {
		if member[n.Name] || dropped[n.Name] {
			continue
		}
		reason := cmp.Or(place.RefuseHostname(n, c.facts), c.refuseHost(n, hosts[n.Hostname]), place.RefuseNew(n, c.settings(n.Name).tolerations))
		switch {
		case !c.allows(n, n.Name) && c.cfg.Spec.OnlyListed:
			reason = "it is not in " + c.written(listedField) + ", which allows no other"
		case !c.allows(n, n.Name):
			reason = "it is not selected by " + selectorField
		case c.drains[n.Name]:
			reason = "it is to be drained (" + pool.AnnotationDrain + ")"
		}
		if reason == "" {
			allowed = append(allowed, n)
			continue
		}
		refused = append(refused, n.Name+" ("+reason+")")
		c.choose(system.NodeRef(n.Name), n.Name, "", place.Refused, reason)
		c.refuseListed(n, reason)
	}
	return allowed, refused
}

// refuseListed says of a node that the spec lists that it may not be used: what passes by
// itself is awaited.
func (c *nodeChoice) refuseListed(n *inventory.Node, reason string) {
	s := c.listed.of[n.Name]
	switch {
	case s == nil:
	case c.drains[n.Name], c.stillOn(n.Hostname) == reason:
		c.report(finding.Warning, "listed-waits", s.place(), "node %s gets no pool yet: %s", n.Name, reason)
	default:
		c.report(c.waiting(), "listed-refused", s.place(), "node %s cannot carry a pool: %s; see to that, or remove the entry", n.Name, reason)
	}
}

// listedFirst puts the nodes that the spec lists before the others, as far as there is room
// for them; those for which there is none are left out.
func (c *nodeChoice) listedFirst(candidates []*inventory.Node, room int) []*inventory.Node {
	var others []*inventory.Node
	for _, n := range candidates {
		s := c.listed.of[n.Name]
		switch {
		case s == nil:
			others = append(others, n)
		case len(c.listedNew) < room:
			c.listedNew = append(c.listedNew, n)
		default:
			c.choose(system.NodeRef(n.Name), n.Name, "", place.Refused, "there are as many pools as maxPoolCount allows")
			c.report(finding.Warning, "listed-waits", s.place(), "node %s gets no pool yet: there are as many as maxPoolCount allows; raise it, or let another go", n.Name)
		}
	}
	return append(slices.Clone(c.listedNew), others...)
}

// poolCounts gives the bounds, where they are not given: as many pools as there
// are nodes for, up to three, and one on each that the spec lists and that can carry one.
func (c *nodeChoice) poolCounts(candidates []*inventory.Node) (minimum, maximum int) {
	spec, listed := &c.cfg.Spec, 0
	for _, n := range candidates {
		if c.listed.of[n.Name] != nil {
			listed++
		}
	}
	for _, m := range c.members {
		if m.leaving == "" && c.listed.of[m.name] != nil {
			listed++
		}
	}
	minimum = max(min(defaultPools, c.staying()+len(candidates)), listed)
	if spec.MaxPoolCount != nil {
		minimum = min(minimum, *spec.MaxPoolCount)
	}
	if spec.MinPoolCount != nil {
		minimum = *spec.MinPoolCount
	}
	maximum = max(minimum+spareRoom, listed)
	if spec.MaxPoolCount != nil {
		maximum = *spec.MaxPoolCount
	}
	return minimum, maximum
}

// limitNodes lets the newest nodes go that are too many, as far as nothing is
// lost or the loss is allowed.
func (r *roster) limitNodes(maximum int) {
	staying := slices.DeleteFunc(slices.Clone(r.members), func(m *member) bool { return m.leaving != "" })
	surplus := len(staying) - maximum
	if surplus <= 0 {
		return
	}
	// Those that may go come first, of them those that are missing; a missing node is not
	// known to be new.
	rank := make(map[*member]int, len(staying))
	for _, m := range staying {
		switch {
		case r.consent.allows(m.name) || r.planOnly(m):
		case m.node != nil:
			rank[m] = 1
		default:
			rank[m] = 2
		}
	}
	inPlan := r.planOrder()
	order := slices.SortedStableFunc(slices.Values(staying), func(a, b *member) int {
		return cmp.Or(rank[a]-rank[b], trueFirst(!r.isListed(a), !r.isListed(b)), trueFirst(!r.isPresent(a.name), !r.isPresent(b.name)), inPlan(b, a))
	})
	why := fmt.Sprintf("is one of the newest of %d, and maxPoolCount is %d", len(staying), maximum)
	chosen := fmt.Sprintf("may go, and maxPoolCount is %d of %d", maximum, len(staying))
	gone, dropped := map[string]bool{}, false
	for _, m := range order[:surplus] {
		if rank[m] > 0 {
			r.hold(m, "spec.maxPoolCount", why+", but "+m.holding())
			continue
		}
		because := "it " + chosen
		if slices.Contains(staying[maximum:], m) {
			because = "it " + why
		}
		dropped = r.letGo(m, gone, true, because) || dropped
	}
	r.members = slices.DeleteFunc(r.members, func(m *member) bool { return gone[m.name] })
	if dropped {
		r.checkSomePresent()
	}
}

// isListed reports whether the spec lists a member, which stays before the others do.
func (r *roster) isListed(m *member) bool { return r.listed.of[m.name] != nil }

// fill adds as many candidates as are wanted, leaving out those that cannot supply
// their disks.
func (c *nodeChoice) fill() {
	c.able = c.suppliers(c.candidates)
	listed := slices.DeleteFunc(slices.Clone(c.able), func(n *inventory.Node) bool { return c.listed.of[n.Name] == nil })
	unable := len(c.listedNew) - len(listed) // no other node comes in the place of one that is listed
	if added := len(c.pick(c.able, c.missing-unable)); added < c.missing {
		c.lacking = true
		if why := prerequisite.NoReports(c.facts); why != "" {
			c.report(finding.Warning, noDefinition, "", "%s; no pool is added until then; poolwright doctor shows what else is missing", why)
			return
		}
		c.report(finding.Warning, awaitingDevices, "spec.minPoolCount",
			"awaiting disks for %s more: %s; no pool is added until then", finding.Count(c.missing-added, "pool"), finding.Names(c.unable))
	}
}

// suppliers are those of some nodes that can supply the disks of a pool.
func (c *nodeChoice) suppliers(nodes []*inventory.Node) []*inventory.Node {
	var able []*inventory.Node
	unreported := prerequisite.NoReports(c.facts)
	for _, n := range nodes {
		if !c.settings(n.Name).external() {
			if reason := cmp.Or(unreported, c.cannotSupply(n)); reason != "" {
				c.unable = append(c.unable, n.Name+" ("+reason+")")
				c.choose(system.NodeRef(n.Name), n.Name, "", place.Refused, reason)
				continue
			}
		}
		able = append(able, n)
	}
	return able
}

// pick adds so many members on nodes that can supply their disks, the newest last in the plan.
func (c *nodeChoice) pick(able []*inventory.Node, count int) []*member {
	var kept []*inventory.Node
	for _, m := range c.members {
		if m.node != nil {
			kept = append(kept, m.node)
		}
	}
	var spots []place.Picked
	var others []*inventory.Node
	for _, n := range able {
		if s := c.listed.of[n.Name]; s != nil && len(spots) < count {
			spots = append(spots, place.Picked{Node: n, Reason: c.written(s.entry) + " lists it"})
			kept = append(kept, n)
		} else {
			others = append(others, n)
		}
	}
	spots = append(spots, place.SpreadNodes(kept, others, count-len(spots))...)
	slices.SortStableFunc(spots, func(a, b place.Picked) int { return place.Oldest(a.Node, b.Node) })
	added := make([]*member, len(spots))
	for i, p := range spots {
		m := c.newMember(p.Node.Name)
		if m.uid, m.reason = p.Node.UID, reasonOldest; p.Spread {
			m.reason = reasonZone
		}
		if c.isListed(m) {
			m.reason = reasonListed
		}
		added[i] = m
	}
	c.clusters.place(added)
	for i, m := range added {
		c.choose(system.NodeRef(m.name), m.name, "", place.Chosen, spots[i].Reason+c.says(c.settings(m.name))+m.inFurther())
	}
	c.members = append(c.members, added...)
	c.able = slices.DeleteFunc(slices.Clone(able), func(n *inventory.Node) bool {
		return slices.ContainsFunc(added, func(m *member) bool { return m.name == n.Name })
	})
	return added
}

// passOver says of the nodes that could hold a pool more why they hold none.
func (c *nodeChoice) passOver() {
	for _, n := range c.able {
		c.choose(system.NodeRef(n.Name), n.Name, "", place.Free, "enough pools without it")
	}
}

// refuseHost refuses a host for a new pool where one of this cluster is already, or will
// be: that of a member, which has another name.
func (c *nodeChoice) refuseHost(n *inventory.Node, member string) string {
	if i := slices.IndexFunc(c.standing.Nodes(), func(node string) bool { return node != n.Name && c.standing.VolumesOf(node) == n.Name }); i >= 0 {
		return "the claims of the pool that went from it to node " + c.standing.Nodes()[i] + " are called by its name"
	}
	switch p := c.standing.OnHost(n.Hostname); {
	case p != nil:
		return "the pool of node " + p.Node + " is on its host"
	case member != "":
		return "node " + member + " of the plan has its host"
	}
	return c.stillOn(n.Hostname)
}

// stillOn says what of a pool that goes is still on a host, "" for nothing.
func (r *roster) stillOn(hostname string) string {
	switch i := r.live.instances[hostname]; {
	case i != nil:
		return "CStorPoolInstance " + i.Name + " of a pool that goes is still on it"
	case r.live.pools[hostname] != nil:
		return "a pool of the cluster that goes is still on it"
	}
	return ""
}

// planOnly reports whether a node is only planned: it has no pool, neither
// rendered nor live, and none of its volumes was ever bound, so that nothing is
// lost with it.
func (r *roster) planOnly(m *member) bool {
	if m.before != nil || r.live.isRunning(&pool.Pool{Hostname: m.hostname, Data: pool.Groups{r.standing.Reserved(m.name, record.Data)}}) {
		return false
	}
	return !slices.ContainsFunc(r.standing.Volumes(m.name), r.holdsData)
}

func refusals(refused []string) string {
	if len(refused) == 0 {
		return "the inventory has no more nodes"
	}
	return "refused are " + finding.Names(refused)
}
