package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/fn/system"
)

// System is the cStor cluster system.
type System struct{}

// Declare implements system.System. Replicas are facts: a pool that has any is not let
// go. What grows with every write, such as the capacity of a pool that is used, is none.
func (System) Declare() system.Declaration {
	return system.Declaration{
		Name:    "cStor",
		Kinds:   slices.Concat(deviceKinds(), poolKinds(), ownKinds(), renderedKinds()),
		Domains: []string{"openebs.io", "mayadata.io"},
		DryRun: "The admission webhook of cStor claims a new disk even in a dry run. So a CStorPoolCluster in which a disk " +
			"replaces another is only compared, without a dry run, with a warning.",
		Facts: []krm.GroupKind{
			{Kind: nodeKind}, {Kind: persistentVolumeKind}, {Kind: volumeClaimKind},
			{Group: storageGroup, Kind: volumeAttachmentKind}, {Group: storageGroup, Kind: storageClassKind}, {Group: storageGroup, Kind: csiDriverKind},
			{Group: admissionGroup, Kind: webhookConfigurationKind},
			{Group: deviceGroup, Kind: blockDeviceKind}, {Group: deviceGroup, Kind: blockDeviceClaimKind},
			{Group: cstorGroup, Kind: poolClusterKind}, {Group: cstorGroup, Kind: poolInstanceKind}, {Group: cstorGroup, Kind: cstorVolumeReplicaKind},
			{Group: cstorGroup, Kind: cstorVolumeConfigKind}, {Group: cstorGroup, Kind: cstorVolumeKind}, {Group: cstorGroup, Kind: volume.AttachmentKind}, {Group: snapshotGroup, Kind: volumeSnapshotKind},
		},
		Software: []prerequisite.Software{prerequisite.NDM(), operators()},
		Roots: []krm.GroupKind{
			{Group: storageGroup, Kind: storageClassKind}, {Kind: volumeClaimKind}, {Kind: persistentVolumeKind},
			{Group: cstorGroup, Kind: cstorVolumeConfigKind}, {Group: cstorGroup, Kind: cstorVolumeKind}, {Group: cstorGroup, Kind: cstorVolumeReplicaKind},
			{Group: cstorGroup, Kind: poolInstanceKind}, {Group: cstorGroup, Kind: poolClusterKind},
			{Kind: nodeKind}, {Group: deviceGroup, Kind: blockDeviceKind},
		},
	}
}

// release is how something goes that no pool needs.
const release = "if it is in no pool, annotate the config with " + krm.AnnotationAllowRemoval + " naming its storage set"

// keepVersion is which version of the operators an object is of.
const keepVersion = "versionDetails{desired status{current}}"

// deviceKinds are those of the node disk manager.
func deviceKinds() []system.Kind {
	return []system.Kind{
		{
			GroupKind: krm.GroupKind{Group: deviceGroup, Kind: blockDeviceKind}, Version: "v1alpha1", Role: system.RoleFact,
			Plural: "blockdevices", Names: []string{"bd"}, Selected: true, Reports: true, Health: true,
			Keep: "spec status{claimState state}",
			Node: [][]string{{"metadata", "labels", inventory.LabelHostname}, {"spec", "nodeAttributes", "nodeName"}},
		},
		{
			GroupKind: krm.GroupKind{Group: deviceGroup, Kind: blockDeviceClaimKind}, Version: "v1alpha1", Role: system.RoleFact,
			Plural: "blockdeviceclaims", Names: []string{"bdc"}, Reports: true, Health: true,
			Keep: "spec{blockDeviceName} status{phase}", Annotations: []string{inventory.AnnotationPredecessor},
		},
	}
}

// poolKinds are those of the operators of cStor.
func poolKinds() []system.Kind {
	return []system.Kind{
		{
			GroupKind: krm.GroupKind{Group: cstorGroup, Kind: poolClusterKind}, Version: "v1", Role: system.RoleRendered, Stateful: true, Release: release,
			Plural: "cstorpoolclusters", Names: []string{"cspc"}, Holds: true, ByName: true, Converts: true, Health: true, Counted: true,
			Strict: "the strict decoding of the cStor webhook",
			Keep:   "spec status{desiredInstances healthyInstances provisionedInstances} " + keepVersion, Annotations: []string{pool.AnnotationAllowedTags}, Awaits: pool.Awaits,
		},
		{
			GroupKind: krm.GroupKind{Group: cstorGroup, Kind: poolInstanceKind}, Version: "v1", Role: system.RoleFact,
			Plural: "cstorpoolinstances", Names: []string{"cspi", "pool"}, Holds: true, ByName: true, Health: true,
			Keep: "spec status{phase readOnly capacity{total} " + system.KeepConditions + "}",
			Used: []string{"status", "capacity", "used"}, Total: []string{"status", "capacity", "total"},
		},
		{
			GroupKind: krm.GroupKind{Group: cstorGroup, Kind: cstorVolumeConfigKind}, Version: "v1", Role: system.RoleFact, Stateful: true, Partial: true,
			Plural: "cstorvolumeconfigs", Names: []string{"cvc"}, Health: true,
			Keep: "spec publish{nodeId} status{phase poolInfo} " + keepVersion, Owners: true, Annotations: volume.ConfigAnnotations(),
		},
		{
			GroupKind: krm.GroupKind{Group: cstorGroup, Kind: cstorVolumeKind}, Version: "v1", Role: system.RoleFact,
			Plural: "cstorvolumes", Names: []string{"cv"}, Health: true,
			Keep: "spec{capacity replicationFactor consistencyFactor desiredReplicationFactor} status{phase capacity replicaStatuses{replicaId mode quorum}}", Owners: true,
		},
		{
			GroupKind: krm.GroupKind{Group: cstorGroup, Kind: cstorVolumeReplicaKind}, Version: "v1", Role: system.RoleFact,
			Plural: "cstorvolumereplicas", Names: []string{"cvr"}, Health: true,
			Keep: "spec{replicaid} status{phase snapshots@}", Owners: true, Annotations: []string{pool.AnnotationReplicaHost},
		},
		{
			GroupKind: krm.GroupKind{Group: cstorGroup, Kind: volume.AttachmentKind}, Version: "v1", Role: system.RoleFact,
			Plural: "cstorvolumeattachments", Names: []string{"cva"}, Static: true, // nothing writes its status
			Keep: "spec{volume{name ownerNodeID accessType stagingTargetPath targetPath}} status",
			Node: [][]string{{"spec", "volume", "ownerNodeID"}},
		},
	}
}

// ownKinds are the spec and the lock.
func ownKinds() []system.Kind {
	return []system.Kind{
		{
			GroupKind: krm.GroupKind{Group: daoGroup, Kind: clusterConfigKind}, Version: "v1alpha1", Role: system.RoleSpec, Whole: poolClusterKind,
			Plural: "cstorclusterconfigs", Names: []string{"ccc"}, Health: true,
		},
		{
			GroupKind: krm.GroupKind{Group: daoGroup, Kind: autoKind}, Version: "v1alpha1", Role: system.RoleSpec, Whole: poolClusterKind,
			Plural: "cspcautos", Converts: true, Health: true,
		},
		{
			GroupKind: krm.GroupKind{Group: daoGroup, Kind: clusterPlanKind}, Version: "v1alpha1", Role: system.RoleLock,
			Plural: "cstorclusterplans", Names: []string{"ccp"}, Health: true,
			Passing: []system.Passing{{Path: []string{"spec", "removing"}}, {Path: []string{"spec", "steps"}, Key: "ends", Value: "true"}},
		},
		{
			GroupKind: krm.GroupKind{Group: daoGroup, Kind: storageSetKind}, Version: "v1alpha1", Role: system.RoleLock,
			Plural: "cstorclusterstoragesets", Names: []string{"ccss"}, Holds: true, Health: true,
			Passing: []system.Passing{{Path: []string{"spec", "blockDevices"}, Key: "role", Value: string(record.Leaving)}}, Passes: true,
		},
		{
			GroupKind: krm.GroupKind{Group: daoGroup, Kind: storageKind}, Version: "v1alpha1", Role: system.RoleLock,
			Plural: "storages", Names: []string{"ccst"}, Health: true,
		},
	}
}

// renderedKinds are what is rendered of the kinds of others: disks of a cloud.
func renderedKinds() []system.Kind {
	return []system.Kind{
		{GroupKind: krm.GroupKind{Kind: volumeClaimKind}, Role: system.RoleRendered, Stateful: true, Release: release},
		{GroupKind: krm.GroupKind{Group: storageGroup, Kind: volumeAttachmentKind}, Role: system.RoleRendered, Stateful: true, Release: release},
	}
}
