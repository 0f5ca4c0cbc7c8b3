package diskpool

import (
	"iter"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
)

// candidate is a disk that a new pool may be on.
type candidate struct {
	*disk.Disk
	name, link string // of the pool
}

// offers are the disks that new pools may be on.
type offers struct {
	*input
	roster *roster
	maker  *maker
}

// refuse says why a disk cannot be taken for a new pool, or what the pool is to be.
func (o *offers) refuse(n *inventory.Node, there *disk.Disk) (c candidate, reason string) {
	link, why := o.linkOf(there)
	c = candidate{Disk: there, link: link, name: poolName(o.Object.Name, n.Name, stableID(there, n.Name, link))}
	if reason := o.Disks.Verdict(there, o.want(n, c.name)).Reason(); reason != "" {
		return c, reason
	}
	switch {
	case !o.selectsDisk(there):
		return c, "it is not selected by spec.diskSelector"
	case why != "":
		return c, why
	case o.roster.givenUp[there], slices.Contains(o.replace, c.name), o.Consent.Covers(poolKind, c.name):
		return c, "its pool " + c.name + " was given up; remove its name from the annotations of the set to get it again"
	}
	if live := o.Facts.Object(o.poolID(c.name)); live != nil {
		lives := readPool(live)
		if lives.disk = o.find(lives); !o.sameDisk(o.maker.newPool(n.Name, c.name, link, there), lives) {
			return c, "a live DiskPool " + c.name + " is on another disk"
		}
	}
	return c, ""
}

// candidates goes through the disks of a node that new pools may be on, the best first. A
// disk is looked at when it is its turn.
func (o *offers) candidates(n *inventory.Node) iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		for _, there := range o.Disks.On(n) {
			if o.roster.used[there] {
				continue
			}
			if c, reason := o.refuse(n, there); reason == "" && !yield(c) {
				return
			}
		}
	}
}

// hasCandidate reports whether a new pool may be on a node.
func (o *offers) hasCandidate(n *inventory.Node) bool {
	for range o.candidates(n) {
		return true
	}
	return false
}

// take makes a pool on a disk.
func (o *offers) take(n *inventory.Node, c candidate, chosen, reason string) *pool {
	o.Disks.Take(c.Disk, o.Object.Ref, o.owner)
	p := o.maker.newPool(n.Name, c.name, c.link, c.Disk)
	p.chosen = chosen
	o.roster.pools = append(o.roster.pools, p)
	o.roster.use(p)
	o.Decide(c.Disk.Ref(), n.Name, "pool", place.Chosen, reason)
	return p
}

// nearest says why the disks of a node that no pool of the set is on are refused.
func (o *offers) nearest(n *inventory.Node) string {
	var refusals []place.Refusal
	for _, there := range o.Disks.On(n) {
		if _, reason := o.refuse(n, there); reason != "" && !o.roster.used[there] {
			refusals = append(refusals, place.Refusal{Reason: reason, Size: there.Size()})
		}
	}
	if len(refusals) == 0 {
		return ""
	}
	return ": " + place.Summarize(refusals)
}
