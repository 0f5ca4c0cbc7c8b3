package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
)

// otherPools lists the CStorPoolClusters that are not our own, live or held by others,
// and the instances of such.
func otherPools(facts *inventory.Facts, own func(inventory.Key) bool, held []*krm.Object) []*krm.Object {
	others := slices.DeleteFunc(append(facts.PoolClusters(), held...), func(o *krm.Object) bool {
		return o.Kind == poolClusterKind && own(key(o))
	})
	for _, i := range facts.OtherPoolInstances(own) {
		others = append(others, i.Object)
	}
	return others
}

// ownPools tells the CStorPoolClusters of the specs.
func ownPools(specs []*system.Spec) func(inventory.Key) bool {
	own := map[inventory.Key]bool{}
	for _, s := range specs {
		own[key(s.Object)] = true
	}
	return func(cluster inventory.Key) bool { return own[cluster] }
}

// takeHeld takes the block devices that the pools and storage sets of others hold.
func takeHeld(disks *place.Disks, held []*krm.Object) {
	for _, o := range held {
		for _, name := range disksOf(o) {
			disks.Take(o.Namespace, name, o.Ref.String())
		}
	}
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
