package cstor

import (
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// System is the cStor cluster system.
type System struct{}

// Describe implements system.System. Replicas are facts: a pool that has any is not
// let go.
func (System) Describe() system.Description {
	return system.Description{
		Kind:  krm.ID{Group: daoGroup, Kind: "CStorClusterConfig"},
		Whole: poolClusterKind,
		Facts: []krm.ID{
			{Kind: nodeKind}, {Kind: volumeKind}, {Kind: claimKind},
			{Group: storageGroup, Kind: attachmentKind}, {Group: storageGroup, Kind: classKind}, {Group: storageGroup, Kind: driverKind},
			{Group: deviceGroup, Kind: deviceKind}, {Group: deviceGroup, Kind: deviceClaimKind},
			{Group: cstorGroup, Kind: poolClusterKind}, {Group: cstorGroup, Kind: instanceKind}, {Group: cstorGroup, Kind: replicaKind},
		},
		RiskFacts: []krm.ID{
			{Kind: nodeKind}, {Kind: volumeKind}, {Kind: claimKind},
			{Group: storageGroup, Kind: attachmentKind}, {Group: storageGroup, Kind: classKind},
			{Group: deviceGroup, Kind: deviceKind},
			{Group: deviceGroup, Kind: deviceClaimKind},
			{Group: cstorGroup, Kind: poolClusterKind},
			{Group: cstorGroup, Kind: instanceKind},
			{Group: cstorGroup, Kind: replicaKind},
		},
		Roots: []health.Kind{
			{Kind: claimKind, Names: []string{"pvc", "persistentvolumeclaims"}},
			{Kind: volumeKind, Names: []string{"pv", "persistentvolumes"}},
			{Group: cstorGroup, Kind: configKind, Names: []string{"cvc", "cstorvolumeconfigs"}},
			{Group: cstorGroup, Kind: targetKind, Names: []string{"cv", "cstorvolumes"}},
			{Group: cstorGroup, Kind: replicaKind, Names: []string{"cvr", "cstorvolumereplicas"}},
			{Group: cstorGroup, Kind: instanceKind, Names: []string{"cspi", "pool", "cstorpoolinstances"}},
			{Group: cstorGroup, Kind: poolClusterKind, Names: []string{"cspc", "cstorpoolclusters"}},
			{Kind: nodeKind, Names: []string{"no", "nodes"}},
			{Group: deviceGroup, Kind: deviceKind, Names: []string{"bd", "disk", "blockdevices"}},
		},
	}
}

// Holds implements system.Holder.
func (System) Holds(o *krm.Object) []disk.Hold {
	var holds []disk.Hold
	for _, name := range disksOf(o) {
		holds = append(holds, disk.Hold{Device: inventory.Key{Namespace: o.Namespace, Name: name}})
	}
	return holds
}
