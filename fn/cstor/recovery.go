package cstor

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// recovery takes back what lives and the lock has lost.
type recovery struct{ *input }

// refuseHost refuses a host for a new pool where one of this cluster is already that
// cannot be taken back.
func (r *recovery) refuseHost(n *inventory.Node) string {
	if p := r.lock.host(n.Hostname); p != nil {
		return "the pool of node " + p.node + " is on its host"
	}
	if live := r.live.pool(n.Hostname); live != nil {
		if why := r.keptOut(n.Name, live); why != "" {
			return "a pool of the cluster lives on it that the rendered one lacks, and cannot be taken back: " + why
		}
		return ""
	}
	if i := r.live.instances[n.Hostname]; i != nil {
		return "CStorPoolInstance " + i.Name + " of a pool that goes is still on it"
	}
	return ""
}

// keptOut says why a live pool cannot be taken back for a node, or "" if it can: it must
// be what the spec would have made, of disks that are there and nobody else's.
func (r *recovery) keptOut(node string, p *pool.Pool) string {
	if r.consent.allows(node) {
		return "its removal is allowed"
	}
	want := &r.cfg.Spec.DiskConfig
	unlike := func(group pool.Group) bool { return p.RAIDType != stripe && len(group) != want.GroupSize }
	if p.RAIDType != r.cfg.Spec.PoolConfig.RAIDType || len(p.Data.Disks()) == 0 || slices.ContainsFunc(p.Data, unlike) ||
		r.cfg.external() && len(p.Data.Disks()) > want.MinCount {
		return "it is not as the spec wants it"
	}
	for _, name := range p.Disks() {
		switch {
		case r.disk(name).Missing():
			return "its block device " + name + " is missing from the inventory"
		case r.lock.pooled[name]:
			return "its block device " + name + " is in another pool of the cluster"
		}
		if why := r.ledger.Verdict(r.disk(name), r.keep()).Of(disk.PersistentVolume, disk.Held); why != "" {
			return "its block device " + name + " " + strings.TrimPrefix(why, "it ")
		}
	}
	return r.unclaimed(node, p)
}

// unclaimed says which cloud disk of a live pool nobody claims, or "".
func (r *recovery) unclaimed(node string, p *pool.Pool) string {
	cloud := map[role]int{}
	if r.cfg.external() {
		cloud[data] = len(p.Data.Disks())
	}
	if r.cfg.cacheExternal() {
		cloud[cache] = len(p.Cache.Disks())
	}
	for _, role := range []role{data, cache} {
		for i := range cloud[role] {
			name := r.storage(node, role, i)
			if r.lock.objects[r.claimID(name)] == nil && r.facts.VolumeClaim(r.namespace, name) == nil {
				return "nobody knows its PersistentVolumeClaim " + name
			}
		}
	}
	return ""
}

// takeBack makes a live pool, of which the lock has lost track, that of its node again.
func (r *recovery) takeBack(m *member, p *pool.Pool) {
	m.before = &nodePool{m.name, p}
	r.lock.addPool(m.before)
	r.report(finding.Warning, "pool-taken-back", "",
		"the pool that lives on node %s is taken back: the rendered CStorPoolCluster had lost it; to have it removed, annotate the config with %s", m.name, r.consent.annotation(m.name))
}

// restore takes back the live pool of a node of the plan that has none in the lock.
func (r *recovery) restore(m *member) {
	p := r.live.pool(m.hostname)
	if p == nil || m.before != nil || m.node == nil || r.consent.allows(m.name) {
		return
	}
	if why := r.keptOut(m.name, p); why != "" {
		r.report(finding.Error, "pool-lost", "", "a pool lives on node %s that the rendered CStorPoolCluster has lost, and cannot be taken back: %s; restore it in rendered/ from Git", m.name, why)
		return
	}
	r.takeBack(m, p)
}
