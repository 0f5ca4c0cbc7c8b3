package fn

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/stock"
	"github.com/poolwright/poolwright/fn/system"
)

// Ledger is the account of the disks of a package, with all that its lock, its manifests and running objects hold.
func (f *Function) Ledger(p Package, facts *inventory.Facts) *disk.Ledger {
	return f.holdings(classify(p, f.kinds, nil), facts).open(f, facts, nil)
}

// Stock lists the volumes and groups of a package, and those of its cluster, by name. The facts are those of the
// package, unless there are others.
func (f *Function) Stock(p Package, facts *inventory.Facts) stock.Stock {
	pkg, facts := f.against(p, facts)
	invalid, _ := pkg.invalid()
	selected, left := pkg.selected()
	var all stock.Stock
	for _, r := range pkg.outputs(facts, valid(selected, invalid), left).renderings {
		if stocker, stocks := r.(system.Stocker); stocks {
			s := stocker.Stock()
			all.Volumes = append(all.Volumes, s.Volumes...)
			all.Groups = append(all.Groups, s.Groups...)
		}
	}
	slices.SortFunc(all.Volumes, func(a, b stock.Volume) int { return cmp.Compare(a.Object.Name, b.Object.Name) })
	slices.SortFunc(all.Groups, func(a, b stock.Group) int { return cmp.Compare(a.Object.Name, b.Object.Name) })
	return all
}

// Order is the spec of a volume or a group that a person orders; nil where no system has them.
func (f *Function) Order(o stock.Order) *krm.Object {
	for i := range f.systems {
		if maker, makes := f.systems[i].System.(system.Maker); makes {
			return maker.Make(o)
		}
	}
	return nil
}
