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
		Kind:  krm.GroupKind{Group: daoGroup, Kind: clusterConfigKind},
		Whole: poolClusterKind,
		Facts: []krm.GroupKind{
			{Kind: nodeKind}, {Kind: persistentVolumeKind}, {Kind: volumeClaimKind},
			{Group: storageGroup, Kind: volumeAttachmentKind}, {Group: storageGroup, Kind: storageClassKind}, {Group: storageGroup, Kind: csiDriverKind},
			{Group: deviceGroup, Kind: blockDeviceKind}, {Group: deviceGroup, Kind: blockDeviceClaimKind},
			{Group: cstorGroup, Kind: poolClusterKind}, {Group: cstorGroup, Kind: poolInstanceKind}, {Group: cstorGroup, Kind: cstorVolumeReplicaKind},
		},
		RiskFacts: []krm.GroupKind{
			{Kind: nodeKind}, {Kind: persistentVolumeKind}, {Kind: volumeClaimKind},
			{Group: storageGroup, Kind: volumeAttachmentKind}, {Group: storageGroup, Kind: storageClassKind},
			{Group: deviceGroup, Kind: blockDeviceKind},
			{Group: deviceGroup, Kind: blockDeviceClaimKind},
			{Group: cstorGroup, Kind: poolClusterKind},
			{Group: cstorGroup, Kind: poolInstanceKind},
			{Group: cstorGroup, Kind: cstorVolumeReplicaKind},
		},
		Roots: []health.Kind{
			{GroupKind: krm.GroupKind{Kind: volumeClaimKind}, Names: []string{"pvc", "persistentvolumeclaims"}},
			{GroupKind: krm.GroupKind{Kind: persistentVolumeKind}, Names: []string{"pv", "persistentvolumes"}},
			{GroupKind: krm.GroupKind{Group: cstorGroup, Kind: cstorVolumeConfigKind}, Names: []string{"cvc", "cstorvolumeconfigs"}},
			{GroupKind: krm.GroupKind{Group: cstorGroup, Kind: cstorVolumeKind}, Names: []string{"cv", "cstorvolumes"}},
			{GroupKind: krm.GroupKind{Group: cstorGroup, Kind: cstorVolumeReplicaKind}, Names: []string{"cvr", "cstorvolumereplicas"}},
			{GroupKind: krm.GroupKind{Group: cstorGroup, Kind: poolInstanceKind}, Names: []string{"cspi", "pool", "cstorpoolinstances"}},
			{GroupKind: krm.GroupKind{Group: cstorGroup, Kind: poolClusterKind}, Names: []string{"cspc", "cstorpoolclusters"}},
			{GroupKind: krm.GroupKind{Kind: nodeKind}, Names: []string{"no", "nodes"}},
			{GroupKind: krm.GroupKind{Group: deviceGroup, Kind: blockDeviceKind}, Names: []string{"bd", "disk", "blockdevices"}},
		},
	}
}
