package cstor

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// letGo drops a node whose removal is allowed, and reports whether it has. Of one with a pool
// that may live it only notes that it goes: when, release decides.
func (r *roster) letGo(m *member, dropped map[string]bool, consent bool, why string) bool {
	switch {
	case !consent:
		return false
	case m.before == nil || r.live.knownGone(m.before.Pool):
		r.drop(m, dropped, why)
		return true
	}
	m.leaving = why
	return false
}

// departures decides which of the members that may go do so now.
type departures struct {
	*roster
	minimum int // of pools
	coming  int // so many come on other nodes
}

// selectsNone reports whether the pool of a member goes and selects no node.
func (d *departures) selectsNone(m *member) bool {
	return m.leaving != "" && d.host(m.hostname) == nil
}

// goTogether reports whether the pools of two members go together or not at all: the webhook
// refuses the removal of one while another selects no node.
func (d *departures) goTogether(m, o *member) bool {
	return m != o && m.of == o.of && d.selectsNone(m) && d.selectsNone(o)
}

// release drops the members whose pools may go now: those that select no node, then the newest.
func (d *departures) release() {
	pools := 0 // that stay
	for _, m := range d.members {
		if m.leaving == "" && d.serves(m) {
			pools++
		}
	}
	leaving := slices.DeleteFunc(slices.Clone(d.members), func(m *member) bool { return m.leaving == "" })
	slices.Reverse(leaving)
	slices.SortStableFunc(leaving, func(a, b *member) int { return trueFirst(d.selectsNone(a), d.selectsNone(b)) })
	gone, present := map[string]bool{}, false
	for _, m := range leaving {
		wait := d.removalWaits(m)
		if wait == "" && pools < d.minimum && !d.drain(m.of).isLost(m) && !d.broken(m) {
			wait = fmt.Sprintf("minPoolCount is %d, and %s would be left", d.minimum, finding.Count(pools, "pool"))
			if d.staying()+d.coming >= d.minimum {
				wait += "; a pool on another node comes first"
			} else {
				wait += "; lower it, or allow another node"
			}
		}
		goes := func(o *member) bool { return o == m || gone[o.name] || d.goTogether(m, o) }
		if wait == "" {
			wait = d.lastWaits(m, goes)
		}
		if wait == "" {
			wait = d.steps(m.of).lateFor(d.rendered(m.of, func(p *standing.Pool) bool {
				return slices.ContainsFunc(leaving, func(o *member) bool { return o.before == p && goes(o) })
			}))
		}
		what := poolGoes(m.name)
		if wait == "" {
			d.steps(m.of).took(stepRemove, what)
			d.going[m.name] = m.hostname
			d.drop(m, gone, m.leaving)
			present = present || d.isPresent(m.name)
			continue
		}
		d.choose(system.NodeRef(m.name), m.name, "", place.Held, "its removal is allowed, but "+wait)
		d.steps(m.of).ask(step{kind: stepRemove, what: what, wait: wait})
		if !d.standing.Removes(m.name) && wait != waitsForVolumes { // reported when its pool was restored
			d.report(finding.Warning, "removal-waits", "", "the pool on node %s may go, and is kept until then: %s", m.name, wait)
		}
	}
	d.members = slices.DeleteFunc(d.members, func(m *member) bool { return gone[m.name] })
	if present {
		d.checkSomePresent()
	}
}

// lastWaits says what a pool waits for that is the last of its CStorPoolCluster, or "": that cannot
// be empty, and goes only where all of it may, or where others of the config stay.
func (d *departures) lastWaits(m *member, goes func(*member) bool) string {
	stays := func(o *member) bool { return o.before != nil && o.of == m.of && !goes(o) }
	if slices.ContainsFunc(d.members, stays) || d.mayEmpty(m.of) {
		return ""
	}
	ailing := d.findAiling(m.of, func(*standing.Pool) bool { return false }) // else another comes first, see minPoolCount
	return fmt.Sprintf("it is the last of CStorPoolCluster %s, which cannot be empty, and no other can be added while %s; to remove the whole cluster, and recreate it if it is still wanted, annotate the config with %s",
		m.of.Name, ailing, d.consent.wholeAnnotation(m.of))
}

// mayEmpty reports whether a CStorPoolCluster may go with its last pool: all of it may, or another of the
// config has a pool that stays.
func (r *roster) mayEmpty(of *standing.Cluster) bool {
	return r.consent.allowsWhole(of) || r.allMissing || slices.ContainsFunc(r.members, func(m *member) bool { return m.of != of && m.leaving == "" && r.serves(m) })
}

// serves reports whether a member has a pool that volumes can be on, as far as the facts tell.
func (r *roster) serves(m *member) bool {
	return m.before != nil && (r.live.running(m.before.Pool) != nil || !r.standing.IsRunning() || !r.facts.Tells(cstorGroup, poolInstanceKind, r.namespace))
}

// broken reports whether a disk of the pool of a member is not there, so that the webhook
// refuses every edit until the pool is gone or mended.
func (d *departures) broken(m *member) bool {
	return d.findAiling(m.of, func(p *standing.Pool) bool { return p != m.before }) != ""
}

// waitsForVolumes is what a pool waits for that is drained, of which the drain tells more.
const waitsForVolumes = "volumes are on it, which are moved to other pools first"

// removalWaits says what the pool of a member must wait for before it is removed, or "".
func (d *departures) removalWaits(m *member) string {
	if why := d.keepsPool(m); why != "" {
		return why
	}
	for _, o := range d.members {
		if d.goTogether(m, o) && d.keepsPool(o) != "" {
			return fmt.Sprintf("it waits until that on node %s may go, too: both select no node, and the cStor webhook refuses the removal of one while the other does", o.name)
		}
	}
	return d.steps(m.of).removalWaits(m, func(p *standing.Pool) bool {
		return d.host(p.Hostname) == nil && slices.ContainsFunc(d.members, func(o *member) bool { return o.before == p && d.goTogether(m, o) })
	})
}

// keepsPool says what of a pool itself its removal must wait for, or "".
func (d *departures) keepsPool(m *member) string {
	i := d.live.running(m.before.Pool)
	switch {
	case i != nil && i.Hostname != m.hostname && i.RunsOn == m.hostname:
		return fmt.Sprintf("it was moved here from another node, its CStorPoolInstance has kept the label of that, and the cStor webhook fails on its removal; set it first: kubectl label cspi -n %s %s %s=%s --overwrite",
			d.namespace, i.Name, inventory.LabelHostname, m.hostname)
	case d.live.elsewhere(m.before.Pool) == "" && !d.mayFollow(m.before) && d.live.knowsReplicas && d.drain(m.of).on(m) > 0:
		return waitsForVolumes
	}
	return d.cannotGo(m.before)
}

// letsGo reports whether the pool of a node is let go, once keep has decided.
func (r *roster) letsGo(p *standing.Pool) bool {
	return !slices.ContainsFunc(r.members, func(m *member) bool { return m.before == p })
}
