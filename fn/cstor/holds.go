package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// Holds implements system.Holder.
func (System) Holds(o *krm.Object) []disk.Hold {
	if o.Kind == storageSetKind {
		_, set := readStorageSet(o)
		return set.holds(o.Namespace)
	}
	var holds []disk.Hold
	for _, name := range disksOf(o) {
		holds = append(holds, disk.Hold{Device: inventory.Key{Namespace: o.Namespace, Name: name}})
	}
	return holds
}

// disksOf lists the block devices that a CStorPoolCluster, one of its instances or a
// storage set names.
func disksOf(o *krm.Object) []string {
	switch o.Kind {
	case poolClusterKind:
		return pool.DecodeCluster(o).Disks()
	case poolInstanceKind:
		return pool.DecodeInstance(o).Pool.Disks()
	case storageSetKind:
		var names []string
		for _, d := range o.Node.Seq("spec", "blockDevices") {
			names = append(names, d.Str("name"))
		}
		return names
	}
	return nil
}
