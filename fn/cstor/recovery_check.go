package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/disklock"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// isAnother refuses a rendered pool that has other disks than the running one, unless the record
// explains it: the storage set has each disk of the running pool, which then is one that leaves.
// That of another branch, commit or cluster does not, and applied, its disks would be added to
// the running pool.
func (r *recovery) isAnother(known *standing.Pool, live *pool.Pool) bool {
	if r.settings(known.Node).external() || r.live.pool(known.Hostname) == nil {
		return false // the volumes say which disks are meant, or claims do not say which are in the pool
	}
	has, current := live.Disks(), r.live.pools[known.Hostname] != nil
	added := slices.DeleteFunc(known.Disks(), func(name string) bool { return slices.Contains(has, name) || !current && r.live.claims[name] })
	unknown := slices.DeleteFunc(has, func(name string) bool { return r.standing.Pooled(name) || r.remembers(known.Node, name) })
	if len(added) == 0 || len(unknown) == 0 {
		return false
	}
	r.report(finding.Error, "other-disk", "",
		"the pool on node %s is rendered with %s, and running with %s, which no earlier render knows; one of them is of another cluster or commit, or was edited by hand: restore the rendered one from the history of Git; if the running one is right, delete the output of the config and render again, which adopts it",
		known.Node, devices(added), devices(unknown))
	return true
}

// remembers reports whether the storage set of a node has a disk, under any name, or the DiskLock has
// it as one that leaves: a disk without identity is only there.
func (r *recovery) remembers(node, name string) bool {
	known, released := r.standing.SetOf(node).Known, disklock.Of(r.spec.Before).Released
	if _, found := known[name]; found || slices.ContainsFunc(released, func(e disklock.Disk) bool { return e.Device == inventory.Key{Namespace: r.namespace, Name: name} }) {
		return true
	}
	return slices.ContainsFunc(r.disk(name).Others(), func(d *disk.Disk) bool {
		_, found := known[d.Name().Name]
		return found && d.Name().Namespace == r.namespace
	})
}

// devices names block devices for people.
func devices(names []string) string {
	return finding.Agree(len(names), "block device ", "block devices ") + finding.Names(names)
}

// checkInstance refuses a pool that an instance shows with disks of which it can never
// become what is rendered. The instance may be behind: groups may come and a disk of each
// may be replaced.
func (r *recovery) checkInstance(known *standing.Pool, p *pool.Pool) {
	if r.live.pools[known.Hostname] != nil || len(p.Disks()) == 0 {
		return // the edit is reviewed
	}
	step := admission.NewStep(&pool.Cluster{Pools: []*pool.Pool{p}}, &pool.Cluster{Pools: []*pool.Pool{known.Pool}})
	at := slices.IndexFunc(step.Reshaped, func(c admission.Reshape) bool { return !c.Cache })
	if at < 0 {
		return
	}
	r.report(finding.Error, "pool-differs", "",
		"the pool on node %s is running with block devices %s, as its CStorPoolInstance shows, but is rendered with %s, and cannot change to these (%s); restore it in rendered/ from Git, or refresh the inventory",
		known.Node, finding.Names(p.Disks()), finding.Names(known.Disks()), step.Reshaped[at].Text)
}

// checkStripe refuses a disk of a stripe that was put in the place of one that lives: a
// stripe cannot do without any of its disks.
func (r *recovery) checkStripe(known *standing.Pool, p *pool.Pool) {
	live, chosen := p.Disks(), r.standing.Reserved(known.Node, record.Data)
	lost := slices.IndexFunc(live, func(name string) bool { return !r.standing.Pooled(name) })
	put := slices.IndexFunc(known.Disks(), func(name string) bool {
		return !slices.Contains(live, name) && !slices.Contains(chosen, name)
	})
	if known.RAIDType == pool.Stripe && lost >= 0 && put >= 0 {
		r.report(finding.Error, "device-replaced", "",
			"block device %s is in the rendered pool on node %s in the place of block device %s, which the running pool has; a stripe cannot replace a disk, put %s back in its place",
			known.Disks()[put], known.Node, live[lost], live[lost])
	}
}
