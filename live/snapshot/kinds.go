package snapshot

import "github.com/poolwright/poolwright/fn/krm"

// Of conditions, neither when they were last looked at nor when they were last
// written: both change all the time, and say nothing.
const condition = "{type status reason message lastTransitionTime}"

// kind is one kind that is read, and what of it is kept besides its identity,
// in the notation of parseMask.
type kind struct {
	group, kind string
	fields      string
}

// kinds are all kinds that the renderer, status and tree read. deploy/rbac allows
// reading exactly these.
var kinds = []kind{
	{"", "Node", "spec{unschedulable taints{key value effect}} status{conditions[type=Ready]" + condition + "}"},
	{"", "PersistentVolume", "spec{csi{driver volumeHandle} claimRef{namespace name} storageClassName} status{phase}"},
	{"", "PersistentVolumeClaim", "spec{accessModes volumeMode storageClassName resources volumeName} status{phase capacity conditions" + condition + "}"},
	{"storage.k8s.io", "VolumeAttachment", "spec status{attached attachmentMetadata attachError detachError}"},
	{"storage.k8s.io", "StorageClass", "provisioner parameters reclaimPolicy volumeBindingMode allowVolumeExpansion"},
	{"storage.k8s.io", "CSIDriver", "spec{attachRequired}"},

	{"openebs.io", "BlockDevice", "spec status{claimState state}"},
	{"openebs.io", "BlockDeviceClaim", "spec{blockDeviceName} status{phase}"},
	{"openebs.io", "DiskPool", "spec status{cr_state pool_status}"},
	{"cstor.openebs.io", "CStorPoolCluster", "spec status{desiredInstances healthyInstances provisionedInstances conditions" + condition + "}"},
	{"cstor.openebs.io", "CStorPoolInstance", "spec status{phase readOnly healthyReplicas provisionedReplicas capacity{total} conditions" + condition + "}"},
	{"cstor.openebs.io", "CStorVolumeConfig", "spec publish status{phase poolInfo capacity conditions" + condition + "}"},
	{"cstor.openebs.io", "CStorVolume", "spec{capacity replicationFactor consistencyFactor desiredReplicationFactor} status{phase replicaStatuses{replicaId mode}}"},
	{"cstor.openebs.io", "CStorVolumeReplica", "spec{capacity} status{phase}"},

	{"poolwright.io", "NodeInventory", "spec status"},
	{"storage.metalk8s.scality.com", "Volume", "spec status"},
	{"storage.metalk8s.scality.com", "VolumeGroup", "spec status"},
	{"ceph.rook.io", "CephCluster", "spec status{phase state ceph{health}}"},
	{"cdi.kubevirt.io", "CDI", "spec status{phase}"},
}

// Kinds lists the kinds that are read.
func Kinds() []krm.ID {
	ids := make([]krm.ID, len(kinds))
	for i, k := range kinds {
		ids[i] = krm.ID{Group: k.group, Kind: k.kind}
	}
	return ids
}
