package cstor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// relocation lets the pools that stand follow their disks to another host. The webhook
// accepts another node selector once the disks are reported there, and judges an edit as a
// whole; the operators carry it out without a copy of any data (version 3.6). A pool that
// cannot follow stays where it is, and one finding says why.
type relocation struct {
	*input
	allowed  moveConsent
	released map[krm.ID]bool // attachments to old nodes
}

// displaced is a pool of which some disks are on other hosts than it.
type displaced struct {
	*standing.Pool
	here  []string            // its disks that are on its host, or missing
	away  map[string][]string // the others, by their host
	to    string              // the host on which all of them are, or ""
	stays string              // why it cannot follow them, or ""
}

// displaced lists those of some pools whose disks are elsewhere, in order.
func (e *existing) displaced(pools []*standing.Pool) []*displaced {
	var all []*displaced
	for _, p := range pools {
		d := &displaced{Pool: p, away: map[string][]string{}}
		for _, name := range p.Disks() {
			if device := e.facts.Device(e.namespace, name); device != nil && device.Hostname != p.Hostname {
				d.away[device.Hostname] = append(d.away[device.Hostname], name)
				d.to = device.Hostname
			} else {
				d.here = append(d.here, name)
			}
		}
		if len(d.here) > 0 || len(d.away) > 1 {
			d.to = ""
		}
		if p.Hostname != "" && len(d.away) > 0 {
			all = append(all, d)
		}
	}
	return all
}

// catchUp takes pools to be where they live, if their disks are there, too: the lock is an
// older one, or rendered/ was reverted, or the move was undone before it was applied.
func (r *relocation) catchUp() {
	if r.standing.IsAdopted() {
		return
	}
	for _, d := range r.displaced(r.standing.Pools()) {
		live := r.live.pools[d.to]
		if r.standing.Pool(d.Node) != d.Pool || d.to == "" || live == nil || !live.Shares(d.Pool.Pool) || r.host(d.to) == nil || r.occupied(d) != "" {
			continue
		}
		r.report(finding.Warning, "pool-elsewhere", "",
			"the pool on node %s is rendered on host %s, but it and all of its disks are on host %s: the pool is treated as on that host; if rendered/ is newer than the inventory, refresh the inventory", d.Node, d.Hostname, d.to)
		r.place(d.Pool, r.host(d.to))
	}
}

// follow moves the pools of a cluster to where their disks are now, all or none of them:
// while one is not where its disks are, the webhook refuses every edit.
func (r *relocation) follow(of *standing.Cluster) {
	all := r.displaced(r.standing.PoolsOf(of))
	for _, d := range all {
		r.allowed.allows(d.Node) // it has a meaning, whatever else is in the way
		d.stays = r.obstacle(d)
	}
	for _, d := range all {
		for _, other := range all {
			if d != other && d.to == other.to && d.stays == "" {
				d.stays = fmt.Sprintf("so are those of the pool on node %s, and a node has one pool of a cluster; put the disks of one of them elsewhere", other.Node)
			}
		}
	}
	wait := r.otherwiseAiling(of, all)
	for _, d := range all {
		if wait == "" && d.stays != "" {
			wait = "the pool on node " + d.Node + " is apart from its disks"
		}
	}
	late := ""
	if wait == "" && len(all) > 0 {
		moved := r.rendered(of, noPool).Clone()
		for _, d := range all {
			moved.Host(d.Hostname).Hostname = d.to
		}
		late = r.steps(of).lateFor(moved)
	}
	for _, d := range all {
		switch {
		case d.stays != "":
		case wait != "":
			d.stays = "it waits while " + wait + ": the cStor webhook refuses every edit of the CStorPoolCluster until then"
		case late != "":
			d.stays = late
		}
		if d.stays != "" {
			r.hold(d)
			continue
		}
		r.move(d)
	}
}

// hold says of a pool that is apart from its disks why it stays.
func (r *relocation) hold(d *displaced) {
	if d.to != "" {
		r.report(finding.Warning, "move-waits", "",
			"all disks of the pool on node %s are on host %s now (%s), and it does not follow them: %s", d.Node, d.to, finding.Names(d.Disks()), d.stays)
		return
	}
	for _, host := range slices.Sorted(maps.Keys(d.away)) {
		names := d.away[host]
		if len(names) == 1 {
			r.report(finding.Warning, "device-moved", "", "block device %s of node %s is on host %q now; it keeps its place, put the disk back", names[0], d.Node, host)
			continue
		}
		r.report(finding.Warning, "device-moved", "", "block devices %s of node %s are on host %q now, and not all of its pool are; they keep their places, put the disks back, or move the others, too", finding.Names(names), d.Node, host)
	}
}

// move gives a pool its new place.
func (r *relocation) move(d *displaced) {
	from, to := d.Node, r.host(d.to)
	if r.standing.Pool(to.Name) == nil { // what was reserved there for a pool of its own
		var reserved []string
		for _, role := range []record.Role{record.Data, record.Cache, record.Spare} {
			reserved = append(reserved, r.standing.Reserved(to.Name, role)...)
		}
		r.giveUp(to.Name, reserved)
	}
	where, why := "node "+to.Name, "its old node is gone"
	if to.Name == from {
		where, why = "host "+d.to, "that is the hostname label of the node now"
	}
	if r.stillThere(d) != nil {
		why = "the spec allows it"
	}
	r.report(finding.Warning, "pool-moves", "",
		"the pool on node %s moves to %s: all of its disks (%s) are there, and %s; once this is applied, the cStor operator runs the pool there with what is on them", from, where, finding.Names(d.Disks()), why)
	r.place(d.Pool, to)
	r.steps(d.Of).took(stepMove, fmt.Sprintf("the pool on node %s moves to %s", from, where))
}

// obstacle says why a pool cannot follow its disks, and what to do, or "".
func (r *relocation) obstacle(d *displaced) string {
	if d.to == "" {
		return "not all of its disks are on one host"
	}
	to := r.host(d.to)
	if to == nil {
		return fmt.Sprintf("%s of the inventory have its %s label %q, wanted 1; correct the labels, or refresh the inventory", finding.Count(len(r.facts.Host(d.to)), "node"), inventory.LabelHostname, d.to)
	}
	if r.consent.allowsSet(d.Node) {
		return "its removal is allowed; to have it follow them, take out " + r.consent.annotation(d.Node)
	}
	for _, ask := range []func(*displaced) string{r.contradicted, r.occupied, r.unwanted, r.unfit, r.unallowed} {
		if why := ask(d); why != "" {
			return why
		}
	}
	return ""
}

// contradicted says what of the live cluster does not go with a pool that was on its host
// until now, or "".
func (r *relocation) contradicted(d *displaced) string {
	from := r.runsOn(d.Pool)
	live := r.live.pools[from]
	switch {
	case !r.live.knows:
		return "the inventory does not contain everything that shows where it is running; refresh it with poolwright inventory, with the kinds CStorPoolCluster, CStorPoolInstance and BlockDeviceClaim"
	case d.Of.Current == nil:
		return "the live CStorPoolCluster is gone; apply the rendered one again, and refresh the inventory"
	case live == nil || !live.Same(d.Pool.Pool):
		return "the live CStorPoolCluster does not have it on host " + d.Hostname + " with the same disks; apply what is rendered, or restore rendered/ from Git, so that both are the same"
	}
	for _, i := range r.live.all {
		if i.Pool.Shares(d.Pool.Pool) && i.Hostname != from && i.RunsOn != from && i.Hostname != d.to {
			return fmt.Sprintf("CStorPoolInstance %s has its disks on host %s; look at what runs there", i.Name, i.Hostname)
		}
	}
	return ""
}

// runsOn is the host from which a pool goes: where it is rendered, or, where a move to that was never
// applied, where it runs.
func (e *existing) runsOn(p *standing.Pool) string {
	if e.live.pools[p.Hostname] == nil {
		return cmp.Or(e.live.elsewhere(p.Pool), p.Hostname)
	}
	return p.Hostname
}

// occupied says what of this cluster has the new host of a pool already, or "".
func (r *relocation) occupied(d *displaced) string {
	to := r.host(d.to)
	other := r.standing.OnHost(d.to)
	if p := r.standing.Pool(to.Name); other == nil && p != nil && p != d.Pool {
		other = p
	}
	instance := r.live.instances[d.to]
	switch {
	case other != nil && r.disksOn(other, d.Hostname):
		return fmt.Sprintf("the pool on node %s has that host, and its disks are on host %s: the cStor webhook refuses it when pools exchange their hosts; exchange the disks again", other.Node, d.Hostname)
	case other != nil:
		return fmt.Sprintf("the pool on node %s has that host, and a node has one pool of a cluster; put the disks of the pool on node %s elsewhere", other.Node, d.Node)
	case r.live.pools[d.to] != nil && !r.live.pools[d.to].Shares(d.Pool.Pool):
		return "another pool of the live CStorPoolCluster has that host; wait until it is gone, and refresh the inventory"
	case instance != nil && !instance.Pool.Shares(d.Pool.Pool):
		return "CStorPoolInstance " + instance.Name + " has that host; wait until it is gone, and refresh the inventory"
	case to.Name != d.Node && slices.ContainsFunc(r.standing.Volumes(to.Name), r.holdsData):
		return "node " + to.Name + " has bound claims for a pool of its own; put the disks elsewhere"
	}
	return ""
}

// disksOn reports whether all disks of a pool are on a host.
func (in *input) disksOn(p *standing.Pool, host string) bool {
	return !slices.ContainsFunc(p.Disks(), func(name string) bool {
		device := in.facts.Device(in.namespace, name)
		return device == nil || device.Hostname != host
	})
}

// place makes a pool that of another node: its claims keep their names, and the attachments to the
// old node are released.
func (r *relocation) place(p *standing.Pool, to *inventory.Node) {
	if r.entryFollows(p.Node, to.Name) {
		r.listed.of[to.Name] = r.listed.of[p.Node]
		delete(r.listed.of, p.Node)
	}
	for _, id := range r.standing.Move(r.namespace, p, to) {
		r.released[id] = true
	}
}
