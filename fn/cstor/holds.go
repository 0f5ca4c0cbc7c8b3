package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// Holds implements system.Holder.
func (System) Holds(o *krm.Object) []disk.Hold {
	if o.Kind == storageSetKind {
		return setHolds(o)
	}
	names := disksOf(o)
	holds := make([]disk.Hold, len(names))
	for i, name := range names {
		holds[i].Device = inventory.Key{Namespace: o.Namespace, Name: name}
	}
	return holds
}

// setHolds lists the disks of a CStorClusterStorageSet, each with what it is for.
func setHolds(o *krm.Object) []disk.Hold {
	devices := o.Node.Seq("spec", "blockDevices")
	holds := make([]disk.Hold, 0, len(devices))
	for _, r := range []record.Role{record.Data, record.Cache, record.Spare, record.Leaving} {
		for i := range devices {
			if d := &devices[i]; d.Str("role") == string(r) {
				holds = append(holds, disk.Hold{Device: inventory.Key{Namespace: o.Namespace, Name: d.Str("name")}, Identity: record.Identity(d), Role: string(r)})
			}
		}
	}
	return holds
}

// disksOf lists the block devices that a CStorPoolCluster or one of its instances names.
func disksOf(o *krm.Object) []string {
	switch o.Kind {
	case poolClusterKind:
		return pool.DecodeCluster(o).Disks()
	case poolInstanceKind:
		return pool.DecodeInstance(o).Pool.Disks()
	}
	return nil
}
