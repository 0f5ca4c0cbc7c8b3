package fn

import (
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// holding is an object that holds disks, and which.
type holding struct {
	disk.Holder
	disks []disk.Hold
}

// holdings lists who holds disks before anybody chooses: what was rendered before, what
// lives, and what people wrote. Each object is asked once, however often a ledger is opened.
func (f *Function) holdings(pkg *classified, facts *inventory.Facts) []holding {
	var all []holding
	add := func(h disk.Holder, o *krm.Object) {
		if disks := f.holds(o); len(disks) > 0 {
			all = append(all, holding{h, disks})
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
func (f *Function) abandoned(ledger *disk.Ledger, holdings []holding, outputs []output, given map[grip]bool) map[grip]bool {
	locked := map[string][]holding{}
	for _, h := range holdings {
		if h.Source == disk.Lock {
			locked[h.Owner] = append(locked[h.Owner], h)
		}
	}
	more := map[grip]bool{}
	for _, o := range outputs {
		owner := o.spec.Object.OwnerKey()
		before := locked[owner]
		if len(before) == 0 {
			continue
		}
		kept := f.kept(ledger, o)
		left := func(d *disk.Disk) bool { return !kept[d] }
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
func (f *Function) kept(ledger *disk.Ledger, o output) map[*disk.Disk]bool {
	kept := map[*disk.Disk]bool{}
	for _, rendered := range o.Objects {
		for _, h := range f.holds(rendered.Object) {
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
