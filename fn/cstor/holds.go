package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
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

// enter records what the pools and storage sets hold that were rendered, that live, and
// that people wrote.
func enter(ledger *disk.Ledger, in system.Input, specs []*system.Spec) {
	add := func(o *krm.Object, source disk.Source) {
		if holds := (System{}).Holds(o); len(holds) > 0 {
			ledger.Add(disk.Holder{Object: o.Ref, Owner: o.Owner(), Source: source}, holds)
		}
	}
	for _, s := range specs {
		for _, o := range s.Before {
			add(o, disk.Lock)
		}
	}
	for _, kind := range []string{poolClusterKind, poolInstanceKind} {
		for _, o := range in.Facts.Objects(cstorGroup, kind) {
			add(o, disk.Live)
		}
	}
	for _, o := range in.Held {
		source := disk.Manifest
		if o.Owner() != "" {
			source = disk.Lock
		}
		add(o, source)
	}
}
