package cstor

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/schema/finding"
)

// recovery settles what stands with what is running: what is running and was not rendered is
// taken back, and what is known not to live is chosen anew where it cannot be used.
type recovery struct {
	*input
	back map[string]string // what was taken back, by node, in words
}

func (r *recovery) run() {
	for _, of := range r.standing.Clusters() {
		r.gate(of).dropUnusable()
	}
	r.restorePools()
	for _, i := range r.live.lost() {
		if r.standing.OnHost(i.Hostname) == nil {
			r.restoreInstance(i)
		}
	}
	r.restoreClaims()
}

// restorePools takes back what lives of pools, where the lock is not what lives itself.
func (r *recovery) restorePools() {
	if r.standing.IsAdopted() {
		return
	}
	for _, host := range r.live.hosts() {
		p, why := r.live.evidence(host, r.settingsOn(host))
		known := r.standing.OnHost(host)
		switch {
		case known != nil && r.livesIn(host) != known.Of:
			r.report(finding.Error, "cluster-changed", "",
				"the pool on node %s is running in CStorPoolCluster %s but rendered in %s, and a pool cannot move from one to another; restore it in rendered/ from Git", known.Node, r.live.clusterOn(host), known.Of.Name)
		case known == nil:
			r.restorePool(host, &standing.Pool{Of: r.livesIn(host), Pool: p}, why)
		case r.live.pool(host) == nil && !r.live.claimsAll(known.Pool):
			// They are no claims of this pool: it is not applied yet.
		case why != "" && len(p.Disks()) > len(known.Disks()):
			r.report(finding.Error, "group-lost", "",
				"the pool on node %s has more disks than the rendered CStorPoolCluster knows: %s, or restore it in rendered/ from Git", known.Node, why)
		case why == "":
			r.rename(known, p)
			if r.isAnother(known, p) {
				continue
			}
			r.checkStripe(known, p)
			r.restoreGroups(known, p)
			r.gate(known.Of).checkAdded(known, p)
			r.checkInstance(known, p)
		}
	}
}

// restoreInstance takes back a pool that the live CStorPoolCluster has lost as well, and
// whose instance lives on. Where that cannot be, nothing is lost by rendering without it.
func (r *recovery) restoreInstance(i *pool.Instance) {
	node := r.standing.NodeOn(i.Hostname, r.facts)
	if r.allowed(node, i.Hostname) {
		return
	}
	p := &standing.Pool{Of: r.livesIn(i.Hostname), Pool: i.Pool}
	r.remember(node, p)
	if why := r.keptOut(p); why != "" {
		r.report(finding.Warning, "instance-lost", "",
			"CStorPoolInstance %s is running on node %s, but its pool is missing from both the rendered and the live CStorPoolCluster, and cannot be restored: %s; restore it in rendered/ from Git, or, to remove it, annotate the config with %s", i.Name, node, why, r.consent.annotation(node))
		return
	}
	r.takeBack(p)
	r.report(finding.Warning, "pool-taken-back", "",
		"the running pool on node %s (CStorPoolInstance %s) is restored: it was missing from both the rendered and the live CStorPoolCluster; to remove it, annotate the config with %s", node, i.Name, r.consent.annotation(node))
}

// giveUp frees disks that the storage set of a node reserves. Those that are in a pool, or
// reserved for another node, stay the cluster's.
func (in *input) giveUp(node string, disks []string) {
	in.standing.Unreserve(node, disks)
	for _, name := range disks {
		if !in.standing.Pooled(name) && !in.standing.Reserves(name) {
			in.ledger.Release(in.disk(name), in.owner)
		}
	}
}

// restorePool takes back a live pool of a host for which the lock has none; unless its
// removal is under way, and waits for nothing, or is that of its whole CStorPoolCluster: the webhook
// refuses it while another pool has a member that is not well. why says what is not known of it.
func (r *recovery) restorePool(host string, p *standing.Pool, why string) {
	node := r.standing.NodeOn(host, r.facts)
	r.remember(node, p)
	lost := func(name string) bool { return !r.standing.Pooled(name) }
	if node == "" || !slices.ContainsFunc(p.Disks(), lost) {
		return // or it is that of another host, which has changed its label
	}
	allowed, waits, refused := r.allowed(node, host), r.cannotGo(p), ""
	if live := p.Of.Object(); allowed && live != nil && live.Deleting() {
		return // nothing stops that any more
	}
	if allowed && waits == "" && r.standing.RemovesOn(host) {
		if refused = r.gate(p.Of).removalWaits(); refused == "" {
			return
		}
		waits = refused
	}
	if why == "" {
		why = r.keptOut(p)
	}
	if waits == "" {
		waits = "it is not under way" // an old snapshot or output has lost it
	}
	switch {
	case why != "" && allowed:
		r.report(finding.Warning, "pool-going", "",
			"the running pool on node %s is not rendered, because its removal is allowed; the removal should wait: %s; but the pool cannot be restored: %s", node, waits, why)
	case why != "":
		r.report(finding.Error, "pool-lost", "",
			"the running pool on node %s is missing from the rendered CStorPoolCluster, and cannot be restored: %s; restore it in rendered/ from Git, or, to remove it, annotate the config with %s", node, why, r.consent.annotation(node))
	case refused != "":
		r.takeBack(p)
		delete(r.back, node) // it is not lost
		p.Of.Forget(isDrain)
		r.report(finding.Warning, ruleBack, "", "the removal of the pool on node %s is rendered and not applied, and waits %s", node, waits)
	case allowed:
		r.takeBack(p)
		r.report(finding.Warning, "pool-taken-back", "",
			"the running pool on node %s is restored: it was missing from the rendered CStorPoolCluster, and its removal, which is allowed, waits: %s", node, waits)
	default:
		r.takeBack(p)
		r.report(finding.Warning, "pool-taken-back", "",
			"the running pool on node %s is restored: it was missing from the rendered CStorPoolCluster; to remove it, annotate the config with %s", node, r.consent.annotation(node))
	}
}

// allowed reports whether consent covers the pool of a node, or there is none.
func (r *recovery) allowed(node, host string) bool {
	renamed := r.facts.Node(host) == nil // consent may have the name that it had, by default the label
	return node == "" || r.consent.allows(node) || renamed && r.consent.allows(host)
}

// takeBack makes a live pool that of a node again.
func (r *recovery) takeBack(p *standing.Pool) {
	r.back[p.Node] = "the running pool on node " + p.Node + " is missing from the rendered CStorPoolCluster"
	r.standing.RestorePool(p)
}

// remember makes a live pool that of a node, in the CStorPoolCluster in which it lives.
func (r *recovery) remember(node string, p *standing.Pool) {
	if p.Node = node; p.Of.Number > 1 {
		r.standing.Plan(node, p.Of)
	}
}

// livesIn is the CStorPoolCluster of which a pool lives on a host.
func (r *recovery) livesIn(host string) *standing.Cluster {
	return r.standing.Cluster(r.live.clusterOn(host))
}

// keptOut says why a live pool cannot be taken back, or "" if it can: it must
// be what the spec would have made, of disks that are there and nobody else's.
func (r *recovery) keptOut(p *standing.Pool) string {
	want := r.settings(p.Node)
	unlike := func(group pool.Group) bool { return p.RAIDType != pool.Stripe && len(group) != want.groupSize }
	if p.RAIDType != want.raidType || len(p.Data.Disks()) == 0 || slices.ContainsFunc(p.Data, unlike) ||
		want.external() && len(p.Data.Disks()) > max(want.minCount, r.standing.SetOf(p.Node).Grown.Disks) {
		return "it is not as the spec wants it"
	}
	for _, name := range p.Disks() {
		switch {
		case r.standing.Pooled(name):
			return "its block device " + name + " is in another pool of the cluster"
		case r.disk(name).Missing():
			return "its block device " + name + " is missing from the inventory"
		}
		if why := r.ledger.Verdict(r.disk(name), r.keep(p.Node)).Of(disk.PersistentVolume, disk.Held); why != "" {
			return "its block device " + name + " " + strings.TrimPrefix(why, "it ")
		}
	}
	return r.unclaimed(p.Node, p.Pool)
}

// unclaimed says which cloud disk of a live pool nobody claims, or "".
func (r *recovery) unclaimed(node string, p *pool.Pool) string {
	cloud := map[record.Role]int{}
	if r.settings(node).external() {
		cloud[record.Data] = len(p.Data.Disks())
	}
	if r.settings(node).cacheExternal() {
		cloud[record.Cache] = len(p.Cache.Disks())
	}
	for _, role := range []record.Role{record.Data, record.Cache} {
		for i := range cloud[role] {
			name := r.storage(node, role, i)
			if r.standing.Object(r.claimID(name)) == nil && r.facts.VolumeClaim(r.namespace, name) == nil {
				return "nobody knows its PersistentVolumeClaim " + name
			}
		}
	}
	return ""
}

// rename gives disks of a pool the names that they have in the live one by now.
func (r *recovery) rename(known *standing.Pool, p *pool.Pool) {
	live := p.Disks()
	for _, groups := range []pool.Groups{known.Data, known.Cache} {
		for _, group := range groups {
			for _, name := range group {
				if slices.Contains(live, name) {
					continue
				}
				for _, other := range r.disk(name).Others() {
					now := other.Name().Name
					if other.Name().Namespace != r.namespace || !slices.Contains(live, now) || r.standing.Pooled(now) {
						continue
					}
					r.report(finding.Warning, "device-renamed", "",
						"block device %s of the pool on node %s is back as %s, as the live CStorPoolCluster says; it is called so from now on", name, known.Node, now)
					r.standing.Rename(known, name, now)
					break
				}
			}
		}
	}
}

// restoreGroups takes back what a live pool has and the lock lacks: RAID groups, disks of
// a group, and its RAID type.
func (r *recovery) restoreGroups(known *standing.Pool, p *pool.Pool) {
	lost := func(name string) bool { return !r.standing.Pooled(name) }
	shown := r.live.pool(known.Hostname) != nil // claims do not tell how disks are grouped
	var back []string
	restore := func(groups pool.Groups, raidType string, live pool.Groups) pool.Groups {
		groups = slices.Clone(groups)
		for _, group := range live {
			missing := slices.DeleteFunc(slices.Clone(group), func(name string) bool { return !lost(name) })
			switch {
			case len(missing) == 0:
				continue
			case raidType == pool.Stripe && len(groups) == 1:
				groups[0] = append(slices.Clone(groups[0]), missing...)
			case len(missing) == len(group) && len(groups) < len(live):
				groups = append(groups, group)
			default:
				i := slices.IndexFunc(groups, func(left pool.Group) bool { return isPart(left, group) })
				if i < 0 || !shown {
					continue // replaced, which is judged elsewhere
				}
				groups[i] = group
			}
			back = append(back, missing...)
		}
		return groups
	}
	if shown && p.RAIDType != "" && known.RAIDType != p.RAIDType {
		r.report(finding.Warning, "raid-type-restored", "",
			"the rendered pool on node %s is %s and the live one is %s, which a pool cannot change: it stays %s", known.Node, known.RAIDType, p.RAIDType, p.RAIDType)
		r.standing.RestoreType(known, p.RAIDType)
	}
	data, cacheType := restore(known.Data, known.RAIDType, p.Data), known.CacheType
	if len(known.Cache) == 0 {
		cacheType = p.CacheType
	}
	r.standing.RestoreGroups(known, data, restore(known.Cache, cacheType, p.Cache), cacheType)
	if len(back) == 0 {
		return
	}
	if wanted := r.settings(known.Node); wanted.external() {
		r.standing.RememberGrowth(known, wanted.minCount)
	}
	if len(back) == 1 {
		r.report(finding.Warning, "group-taken-back", "",
			"block device %s is in the running pool on node %s and is restored: it was missing from the rendered CStorPoolCluster, and disks cannot be removed from a pool", back[0], known.Node)
		return
	}
	r.report(finding.Warning, "group-taken-back", "",
		"block devices %s are in the running pool on node %s and are restored: they were missing from the rendered CStorPoolCluster, and disks cannot be removed from a pool", finding.Names(back), known.Node)
}

// isPart reports whether a RAID group is another that has lost disks.
func isPart(left, whole pool.Group) bool {
	return len(left) < len(whole) && !slices.ContainsFunc(left, func(name string) bool { return !slices.Contains(whole, name) })
}
