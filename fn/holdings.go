package fn

import (
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// holdings is who holds disks before anybody chooses.
type holdings struct {
	owners []string            // of the specs with a lock, in order
	locked map[string][]locked // what their locks hold, by owner
	others []holding           // running objects, and manifests that people wrote
}

// locked is an object of a lock that holds disks, and which.
type locked struct {
	// object is what exists in the cluster once the lock is applied. It has no kind where
	// nothing does.
	object finding.Ref
	disks  []disk.Hold
}

// exists reports whether an object that holds the disks exists in the cluster once the lock is applied.
func (l *locked) exists() bool { return l.object.Kind != "" }

// holding is an object outside the locks that holds disks, and which.
type holding struct {
	disk.Holder
	disks []disk.Hold
}

// holdings lists who holds disks. Each object is asked once, however often a ledger is opened.
func (f *Function) holdings(pkg *classified, facts *inventory.Facts) *holdings {
	all := &holdings{owners: pkg.owners, locked: make(map[string][]locked, len(pkg.owners))}
	for _, owner := range pkg.owners {
		held := make([]locked, 0, len(pkg.lock[owner]))
		for _, o := range pkg.lock[owner] {
			if disks := pkg.recall(owner, o.ID(), f.holds(o)); len(disks) > 0 {
				held = append(held, locked{object: f.occupant(owner, o), disks: disks})
			}
		}
		all.locked[owner] = held
	}
	add := func(h disk.Holder, o *krm.Object) {
		if disks := pkg.recall(h.Owner, o.ID(), f.holds(o)); len(disks) > 0 {
			all.others = append(all.others, holding{h, disks})
		}
	}
	for _, kind := range f.holding() {
		for _, o := range facts.Objects(kind.Group, kind.Kind) {
			add(disk.Holder{Object: o.Ref, Owner: o.Owner(), Source: disk.Live}, o)
		}
	}
	for _, o := range pkg.specs { // those that are applied as they stand
		add(disk.Holder{Object: o.Ref, Owner: o.OwnerKey(), Source: disk.Manifest}, o)
	}
	for _, id := range slices.SortedFunc(maps.Keys(pkg.others), krm.ID.Compare) {
		o := pkg.others[id]
		add(disk.Holder{Object: o.Ref, Owner: o.Owner(), Source: disk.Manifest}, o)
	}
	return all
}

// holds lists the disks that an object holds, as the systems know it.
func (f *Function) holds(o *krm.Object) []disk.Hold {
	holders := f.holders[o.GroupKind()]
	if len(holders) == 1 {
		return holders[0].Holds(o)
	}
	var holds []disk.Hold
	for _, h := range holders {
		holds = append(holds, h.Holds(o)...)
	}
	return holds
}

// recall adds to what an object of a spec holds what the DiskLock of that remembers.
func (c *classified) recall(owner string, holder krm.ID, holds []disk.Hold) []disk.Hold {
	memory, found := c.memories[owner]
	if !found {
		return holds
	}
	holds = slices.Clone(holds)
	for i := range holds {
		holds[i] = memory.Recall(holder, holds[i])
	}
	return holds
}

// recalled lists the disks that an object of a spec holds, with what is remembered of them.
func (pkg *prepared) recalled(owner string, o *krm.Object) []disk.Hold {
	return pkg.recall(owner, o.ID(), pkg.function.holds(o))
}

// open makes the account of disks with what is held, but for what was given up.
func (h *holdings) open(f *Function, facts *inventory.Facts, given map[grip]bool) *disk.Ledger {
	ledger := disk.NewLedger(facts)
	for _, owner := range h.owners {
		lock := disk.Holder{Object: f.specRef(owner), Owner: owner, Source: disk.Lock}
		for i := range h.locked[owner] {
			disks := h.locked[owner][i].disks
			if len(given) == 0 {
				ledger.Add(lock, disks)
				continue
			}
			for _, hold := range disks {
				if given[gripOf(owner, hold)] {
					ledger.Named(hold) // what it is known by stays known
					continue
				}
				ledger.Add(lock, []disk.Hold{hold})
			}
		}
	}
	for i := range h.others {
		ledger.Add(h.others[i].Holder, h.others[i].disks)
	}
	return ledger
}

// grip is a disk that the lock of a spec holds: a block device, or a disk by its identity.
type grip struct {
	owner    string
	device   inventory.Key
	identity string
}

func gripOf(owner string, h disk.Hold) grip {
	if h.Device.Name != "" {
		return grip{owner: owner, device: h.Device}
	}
	return grip{owner: owner, identity: h.Identity.String()}
}

// abandoned lists the disks that the lock of a spec holds, and that are in what is rendered
// under no name any more. A spec without a lock has none to give up.
func (pkg *prepared) abandoned(ledger *disk.Ledger, holdings *holdings, outputs []output, given map[grip]bool) map[grip]bool {
	more := map[grip]bool{}
	for i := range outputs {
		o := &outputs[i]
		owner := o.spec.Object.OwnerKey()
		before := holdings.locked[owner]
		if len(before) == 0 {
			continue
		}
		o.kept = pkg.kept(ledger, owner, o.Objects)
		left := func(d *disk.Disk) bool { return !o.kept[d] }
		for i := range before {
			for _, hold := range before[i].disks {
				if !given[gripOf(owner, hold)] && slices.ContainsFunc(ledger.Named(hold), left) {
					more[gripOf(owner, hold)] = true
				}
			}
		}
	}
	return more
}

// kept lists the disks that are in what is rendered, under all of their names.
func (pkg *prepared) kept(ledger *disk.Ledger, owner string, objects []gitops.Object) map[*disk.Disk]bool {
	kept := map[*disk.Disk]bool{}
	for _, rendered := range objects {
		for _, h := range pkg.recalled(owner, rendered.Object) {
			for _, d := range ledger.Named(h) {
				kept[d] = true
				for _, other := range d.Others() {
					kept[other] = true
				}
			}
		}
	}
	return kept
}
