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

// dropUnusable gives up pools that come and have disks that can no longer be used. Their nodes stay
// in the plan.
func (g *gate) dropUnusable() {
	if g.standing.IsAdopted() {
		return
	}
	for _, e := range g.additions(g.pending()) {
		p := e.pool
		if p.Hostname == "" || !g.live.knownGone(p.Pool) || slices.ContainsFunc(p.Disks(), g.rendersAnother) {
			continue // that another spec renders one is an error
		}
		var bad, unusable []string
		for _, name := range p.Disks() {
			if why := g.judge(p, g.disk(name), g.settings(p.Node).minCapacity).Reason(); why != "" && !g.unseen(name) {
				bad = append(bad, name+" ("+strings.TrimPrefix(why, "it ")+")")
				unusable = append(unusable, name)
			}
		}
		if len(bad) == 0 {
			continue
		}
		e.back()
		g.giveUp(p.Node, unusable)
		g.report(finding.Warning, "pool-rechosen", "",
			"the pool on node %s is rendered but does not exist yet, and some of its disks can no longer be used, so its disks are chosen again: %s", p.Node, finding.Names(bad))
	}
}

// rendersAnother reports whether the output of another spec has a disk, too.
func (g *gate) rendersAnother(name string) bool {
	return slices.ContainsFunc(g.disk(name).Holders(), func(h *disk.Holder) bool { return h.Source == disk.Lock && !g.mine(*h) })
}

// checkAdded compares the disks of a pool that the running one does not have with the rules of choosing:
// a person may have put them in. Growth that was chosen earlier and cannot be used any
// more is chosen again; where that is not known, since the disk is missing from the
// snapshot or only an instance, which may be behind, shows the pool, it is held.
func (g *gate) checkAdded(known *standing.Pool, p *pool.Pool) {
	current := g.live.pools[known.Hostname] != nil
	if !current && g.live.pool(known.Hostname) == nil {
		return // claims do not say which disks are in the pool
	}
	live := p.Disks()
	chosen := g.chosen(known)
	added := func(name string) bool { return !slices.Contains(live, name) && (current || !g.live.claims[name]) }
	for i := len(known.Data) - 1; i >= 0; i-- {
		group := known.Data[i]
		whole := !slices.ContainsFunc(group, func(name string) bool { return !added(name) || !slices.Contains(chosen, name) })
		for _, name := range group {
			if !added(name) {
				continue
			}
			capacity := g.settings(known.Node).minCapacity
			if !whole && known.RAIDType != pool.Stripe {
				capacity = g.smallest(group, name)
			}
			d := g.disk(name)
			why := g.judge(known, d, capacity).Reason()
			switch {
			case why == "", slices.Contains(chosen, name) && (!current || g.unseen(name)):
			case whole && i == len(known.Data)-1 && i > 0:
				g.report(finding.Warning, "group-rechosen", "",
					"block device %s is rendered as part of the pool on node %s, is not in the live one, and can no longer be used: %s; its RAID group is chosen again", name, known.Node, why)
				g.standing.Regroup(known, known.Data[:i])
				g.giveUp(known.Node, group)
			case current && slices.Contains(chosen, name) && g.putBack(known, i, p, name, why):
			default:
				g.report(finding.Error, "device-not-usable", "",
					"block device %s is in the rendered pool on node %s but not in the live one, and cannot be added to it: %s; put another in its place in rendered/, or restore what was there", name, known.Node, why)
			}
			if len(known.Data) == i {
				break
			}
		}
	}
}

// putBack puts the disk back that a running RAID group has in the place of one that was chosen and
// can no longer take it. It reports whether there is one.
func (g *gate) putBack(known *standing.Pool, at int, live *pool.Pool, name string, why string) bool {
	group := known.Data[at]
	place := slices.Index(group, name)
	for _, was := range live.Data {
		if len(was) != len(group) || g.standing.Pooled(was[place]) {
			continue
		}
		restored := replaced(known.Data, name, was[place])
		if !slices.Equal(restored[at], was) {
			continue
		}
		g.standing.Regroup(known, restored)
		g.giveUp(known.Node, []string{name})
		g.forget(1)
		g.report(finding.Warning, "replacement-rechosen", "",
			"block device %s is rendered in the place of %s in the pool on node %s, is not in the live one, and cannot be used any more: %s; %s is back in its place, and another is chosen for it as before", name, was[place], known.Node, why, was[place])
		return true
	}
	return false
}

// chosen lists the data disks of a node that were chosen in an earlier render: its storage set has
// them, or their Storages, of which a disk that is missing cannot be distinguished from another.
func (g *gate) chosen(p *standing.Pool) []string {
	chosen := slices.Clone(g.standing.Reserved(p.Node, record.Data))
	if !g.settings(p.Node).external() {
		return chosen
	}
	for i, name := range p.Data.Disks() {
		if g.unseen(name) && g.standing.Object(g.storageID(g.storage(p.Node, record.Data, i))) != nil {
			chosen = append(chosen, name)
		}
	}
	return chosen
}

// judge asks of a disk that is not in a live pool what choosing asks.
func (g *gate) judge(p *standing.Pool, d *disk.Disk, capacity int64) disk.Verdict {
	if d.Device != nil && d.Device.Hostname != p.Hostname {
		return disk.Verdict{{Rule: disk.WrongNode, Reason: "it is on host " + d.Device.Hostname}}
	}
	want := g.want(p.Of, g.host(p.Hostname))
	if want.MinCapacity = capacity; g.settings(p.Node).external() {
		want.Volumes, want.MinCapacity = g.keep(p.Node).Volumes, 0
	}
	return g.ledger.Verdict(d, want)
}

// smallest is the capacity of the smallest disk of a group besides one, in bytes; a disk
// that takes the place of another must have as much.
func (g *gate) smallest(group pool.Group, besides string) int64 {
	var least int64
	for _, name := range group {
		if size := g.disk(name).Size(); name != besides && size > 0 && (least == 0 || size < least) {
			least = size
		}
	}
	return least
}
