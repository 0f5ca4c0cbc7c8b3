package diskpool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
)

// retention takes over the pools of earlier runs and those that live.
type retention struct {
	*input
	roster *roster
}

// keepPools takes over pools, and reports whether it could.
func (k *retention) keepPools() bool {
	locked := k.locked()
	lost := k.lost(locked)
	if k.everyNodeMissing(slices.Concat(locked, lost)) {
		return false
	}
	for _, p := range locked {
		k.checkLive(p)
		k.roster.checkOthers(p)
		if k.stays(p) {
			k.roster.pools = append(k.roster.pools, p)
		}
	}
	k.takeBack(lost)
	return true
}

// locked are the pools of earlier runs, by name.
func (k *retention) locked() []*pool {
	knows := k.Facts.Tells(group, poolKind, k.Object.Namespace)
	var pools []*pool
	for _, o := range k.Before {
		if o.GroupKind() != poolGroupKind() {
			continue
		}
		p := readPool(o)
		p.disk, p.live = k.find(p), k.Facts.Object(o.ID())
		p.consent = k.allows(p.name)
		p.gone = knows && p.live == nil && (p.consent || !k.noNode && !k.noDisk) // else nothing can take its place
		if p.mark == "" && p.disk != nil {                                       // of a set that was made of pools
			p.mark = markOf(p.disk).String()
		}
		p.leaving = slices.Contains(k.replace, p.name)
		pools = append(pools, p)
	}
	slices.SortFunc(pools, func(a, b *pool) int { return cmp.Compare(a.name, b.name) })
	return pools
}

// consent says how a person lets a pool go.
func consentFor(name string) string {
	return fmt.Sprintf("annotate the set with %s: %s/%s", krm.AnnotationAllowRemoval, poolKind, name)
}

// everyNodeMissing reports, as an error, that no node of the pools that stay is in the
// snapshot. Those that may go do not count: they are not there to be counted in the next run.
func (k *retention) everyNodeMissing(pools []*pool) bool {
	var names []string
	for _, p := range pools {
		switch {
		case p.gone, p.consent:
			continue
		case k.Facts.Node(p.node) != nil:
			return false
		}
		if !slices.Contains(names, p.node) {
			names = append(names, p.node)
		}
	}
	if len(names) == 0 {
		return false
	}
	k.Report(finding.Error, "all-nodes-missing", "",
		"every node of the pools (%s) is missing from the inventory; the snapshot is from another cluster or incomplete, refresh it; if the nodes and their data are permanently gone, annotate the set with %s: %s/%s",
		finding.Names(names), krm.AnnotationAllowRemoval, setKind, k.Object.Name)
	return true
}

// checkLive compares a pool with the live one of its name.
func (k *retention) checkLive(p *pool) {
	if p.live == nil {
		return
	}
	lives := readPool(p.live)
	lives.disk = k.find(lives)
	switch {
	case !k.sameDisk(p, lives):
		k.Report(finding.Error, "other-disk", "", "DiskPool %s is on %s of node %s, and the live one of that name on %s of node %s; one of them is of another cluster or was edited by hand: put the rendered one right, from the history of Git",
			p.name, p.uri(), p.node, lives.uri(), lives.node)
	case p.live.Owner() == "":
		k.Report(finding.Info, "adopted", "", "adopts the live DiskPool %s, which has no owner", p.name)
	}
}

// stays decides whether a pool of an earlier run stays.
func (k *retention) stays(p *pool) bool {
	node := k.Facts.Node(p.node)
	field, why := "", ""
	switch {
	case node == nil:
		why = "its node is missing from the inventory"
	case !k.selects(node) && (!k.noNode || p.consent):
		field, why = "spec.allowedNodes", "its node is no longer selected"
	case p.disk == nil:
		why = "its disk is missing from the inventory"
	case p.gone:
		why = k.Disks.Verdict(p.disk, k.want(node, p.name)).Reason()
		if why == "" && !k.noDisk && !k.selectsDisk(p.disk) {
			why = "it is not selected by spec.diskSelector"
		}
		if why == "" {
			break
		}
		k.roster.drop(p, "nothing of it exists, and its disk was refused: "+why)
		k.Report(finding.Warning, "replanned", "", "DiskPool %s is not created yet, and is given up: its disk %s was refused: %s", p.name, p.uri(), why)
		return false
	}
	switch {
	case why == "":
		k.roster.keepDisk(p, place.Kept, "its pool is rendered already")
		doubts := k.Disks.Recheck(p.disk, p.use())
		if len(doubts) > 0 {
			k.Report(finding.Warning, "disk-doubtful", "", "DiskPool %s keeps its disk %s of node %s, but %s; look at the disk", p.name, p.uri(), p.node, strings.Join(doubts, "; "))
		}
		if !p.disk.HasLink(p.path()) && len(doubts) == 0 {
			k.Report(finding.Warning, "links-changed", "", "the disk of DiskPool %s is there without the link %s; the pool is kept as it is, since Mayastor reads it only once", p.name, p.uri())
		}
		return true
	case p.gone:
		k.roster.drop(p, "nothing of it exists, and "+why)
		k.Report(finding.Info, "pool-removed", field, "DiskPool %s is not created yet, and is given up: %s", p.name, why)
		return false
	case p.consent:
		k.roster.drop(p, why+", and its removal is allowed")
		return false
	}
	k.roster.keepDisk(p, place.Held, why)
	k.Report(finding.Warning, "held", field, "DiskPool %s is held: %s; to release it, %s", p.name, why, consentFor(p.name))
	return true
}

// lost are the pools that live as ours and that the lock has lost.
func (k *retention) lost(locked []*pool) []*pool {
	isLocked := make(map[string]bool, len(locked))
	for _, p := range locked {
		isLocked[p.name] = true
	}
	var pools []*pool
	for _, o := range k.Facts.Objects(group, poolKind) {
		if o.Namespace != k.Object.Namespace || o.Owner() != k.owner || isLocked[o.Name] || o.Deleting() || k.allows(o.Name) || slices.Contains(k.replace, o.Name) {
			continue
		}
		p := readPool(o)
		p.live, p.disk = o, k.find(p)
		pools = append(pools, p)
	}
	return pools
}

// takeBack takes lost pools back.
func (k *retention) takeBack(lost []*pool) {
	for _, p := range lost {
		node := k.Facts.Node(p.node)
		switch {
		case node != nil && !k.noNode && !k.selects(node):
			k.Report(finding.Error, "pool-lost", "spec.allowedNodes", "DiskPool %s exists on node %s but is missing from the output, and the node is no longer selected; select it again, or, to remove the pool, %s", p.name, p.node, consentFor(p.name))
			continue
		case p.mark == "" && p.disk != nil:
			p.mark = markOf(p.disk).String()
		}
		k.Report(finding.Warning, "taken-back", "", "DiskPool %s is restored: it exists but was missing from the output", p.name)
		k.roster.keepDisk(p, place.Kept, "its pool exists")
		k.roster.checkOthers(p)
		k.roster.pools = append(k.roster.pools, p)
	}
}
