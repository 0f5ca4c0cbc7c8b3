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

// holding is an object that holds disks, and which.
type holding struct {
	disk.Holder
	disks []disk.Hold
	// object, of what the lock holds, is what exists in the cluster once the lock is applied. It
	// has no kind where nothing does.
	object finding.Ref
}

// holdings lists who holds disks before anybody chooses: what was rendered before, what
// lives, and what people wrote. Each object is asked once, however often a ledger is opened.
func (f *Function) holdings(pkg *classified, facts *inventory.Facts) []holding {
	var all []holding
	add := func(h disk.Holder, o *krm.Object) {
		if disks := pkg.recall(h.Owner, o.ID(), f.holds(o)); len(disks) > 0 {
			all = append(all, holding{Holder: h, disks: disks})
			if h.Source == disk.Lock {
				all[len(all)-1].object = f.occupant(h.Owner, o)
			}
		}
	}
	for _, owner := range pkg.owners {
		lock := disk.Holder{Object: f.specRef(owner), Owner: owner, Source: disk.Lock}
		for _, o := range pkg.lock[owner] {
			add(lock, o)
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

// openLedger makes the account of disks with what is held, but for what was given up.
func openLedger(facts *inventory.Facts, holdings []holding, given map[grip]bool) *disk.Ledger {
	ledger := disk.NewLedger(facts)
	for _, h := range holdings {
		if h.Source != disk.Lock || len(given) == 0 {
			ledger.Add(h.Holder, h.disks)
			continue
		}
		for _, hold := range h.disks {
			if given[gripOf(h.Owner, hold)] {
				ledger.Named(hold) // what it is known by stays known
				continue
			}
			ledger.Add(h.Holder, []disk.Hold{hold})
		}
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
func (pkg *prepared) abandoned(ledger *disk.Ledger, holdings []holding, outputs []output, given map[grip]bool) map[grip]bool {
	locked := map[string][]holding{}
	for _, h := range holdings {
		if h.Source == disk.Lock {
			locked[h.Owner] = append(locked[h.Owner], h)
		}
	}
	more := map[grip]bool{}
	for i := range outputs {
		o := &outputs[i]
		owner := o.spec.Object.OwnerKey()
		before := locked[owner]
		if len(before) == 0 {
			continue
		}
		o.kept = pkg.kept(ledger, owner, o.Objects)
		left := func(d *disk.Disk) bool { return !o.kept[d] }
		for _, h := range before {
			for _, hold := range h.disks {
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
