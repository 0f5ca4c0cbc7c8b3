package cstor

import (
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// System is the cStor cluster system.
type System struct{}

// Describe implements system.System. Replicas are facts: a pool that has any is not
// let go.
func (System) Describe() system.Description {
	return system.Description{
		Kind:  krm.GroupKind{Group: daoGroup, Kind: "CStorClusterConfig"},
		Whole: poolClusterKind,
		Facts: []krm.GroupKind{
			{Kind: nodeKind}, {Kind: volumeKind}, {Kind: claimKind},
			{Group: storageGroup, Kind: attachmentKind}, {Group: storageGroup, Kind: classKind}, {Group: storageGroup, Kind: driverKind},
			{Group: deviceGroup, Kind: deviceKind}, {Group: deviceGroup, Kind: deviceClaimKind},
			{Group: cstorGroup, Kind: poolClusterKind}, {Group: cstorGroup, Kind: instanceKind}, {Group: cstorGroup, Kind: replicaKind},
		},
		RiskFacts: []krm.GroupKind{
			{Kind: nodeKind}, {Kind: volumeKind}, {Kind: claimKind},
			{Group: storageGroup, Kind: attachmentKind}, {Group: storageGroup, Kind: classKind},
			{Group: deviceGroup, Kind: deviceKind},
			{Group: deviceGroup, Kind: deviceClaimKind},
			{Group: cstorGroup, Kind: poolClusterKind},
			{Group: cstorGroup, Kind: instanceKind},
			{Group: cstorGroup, Kind: replicaKind},
		},
		Roots: []health.Kind{
			{GroupKind: krm.GroupKind{Kind: claimKind}, Names: []string{"pvc", "persistentvolumeclaims"}},
			{GroupKind: krm.GroupKind{Kind: volumeKind}, Names: []string{"pv", "persistentvolumes"}},
			{GroupKind: krm.GroupKind{Group: cstorGroup, Kind: configKind}, Names: []string{"cvc", "cstorvolumeconfigs"}},
			{GroupKind: krm.GroupKind{Group: cstorGroup, Kind: targetKind}, Names: []string{"cv", "cstorvolumes"}},
			{GroupKind: krm.GroupKind{Group: cstorGroup, Kind: replicaKind}, Names: []string{"cvr", "cstorvolumereplicas"}},
			{GroupKind: krm.GroupKind{Group: cstorGroup, Kind: instanceKind}, Names: []string{"cspi", "pool", "cstorpoolinstances"}},
			{GroupKind: krm.GroupKind{Group: cstorGroup, Kind: poolClusterKind}, Names: []string{"cspc", "cstorpoolclusters"}},
			{GroupKind: krm.GroupKind{Kind: nodeKind}, Names: []string{"no", "nodes"}},
			{GroupKind: krm.GroupKind{Group: deviceGroup, Kind: deviceKind}, Names: []string{"bd", "disk", "blockdevices"}},
		},
	}
}
