package snapshot

// Of conditions, neither when they were last looked at nor when they were last
// written: both change all the time, and say nothing.
const condition = "{type status reason message lastTransitionTime}"

// Of the parameters of storage classes, those that the storage systems know which
// are served: any other may hold a password.
const parameters = "{cas-type cstorPoolCluster replicaCount repl protocol thin clusterID pool fsName type fsType csi.storage.k8s.io/fstype mkfsOptions}"

// disks is where a CephCluster, or one of its nodes, names disks.
const disks = "deviceFilter devicePathFilter devices{name fullpath}"

// kind is one kind that is read, and what of it is kept besides its identity,
// in the notation of parseMask. A kind that others define, and in whose spec much
// else has a place, keeps only fields that are named here: what holds a secret
// need not be called one.
type kind struct {
	group, kind string
	fields      string
}

// kinds are all kinds that the renderer, status and tree read. deploy/rbac allows
// reading these, and Poolwright's own kinds. What grows with every write, such as
// the capacity of a pool that is used, is no fact.
var kinds = []kind{
	// Why a node is not ready is said with "3m2s ago"; the reason is enough.
	{"", "Node", "spec{unschedulable taints{key value effect}} status{conditions[type=Ready]{type status reason lastTransitionTime}}"},
	{"", "PersistentVolume", "spec{csi{driver volumeHandle} local{path} gcePersistentDisk{pdName} awsElasticBlockStore{volumeID} cinder{volumeID} azureDisk{diskURI} nodeAffinity claimRef{namespace name} storageClassName} status{phase}"},
	{"", "PersistentVolumeClaim", "spec{accessModes volumeMode storageClassName resources volumeName} status{phase capacity}"},
	// An attacher notes the time of each attempt, and may hand over passwords.
	{"storage.k8s.io", "VolumeAttachment", "spec{attacher nodeName source{persistentVolumeName}} status{attached attachmentMetadata{LUN} attachError{message} detachError{message}}"},
	{"storage.k8s.io", "StorageClass", "provisioner parameters" + parameters + " reclaimPolicy volumeBindingMode allowVolumeExpansion"},
	{"storage.k8s.io", "CSIDriver", "spec{attachRequired}"},

	{"openebs.io", "BlockDevice", "spec status{claimState state}"},
	{"openebs.io", "BlockDeviceClaim", "spec{blockDeviceName} status{phase}"},
	{"openebs.io", "DiskPool", "spec{node disks topology} status{cr_state pool_status}"},
	{"cstor.openebs.io", "CStorPoolCluster", "spec status{desiredInstances healthyInstances provisionedInstances}"},
	{"cstor.openebs.io", "CStorPoolInstance", "spec status{phase readOnly conditions" + condition + "}"},
	{"cstor.openebs.io", "CStorVolumeConfig", "spec publish{nodeId} status{phase}"},
	{"cstor.openebs.io", "CStorVolume", "spec{capacity replicationFactor consistencyFactor desiredReplicationFactor} status{phase capacity}"},
	{"cstor.openebs.io", "CStorVolumeReplica", "status{phase}"},

	{"poolwright.io", "NodeInventory", "spec status"},
	{"storage.metalk8s.scality.com", "Volume", "spec status{deviceName conditions" + condition + "}"},
	{"storage.metalk8s.scality.com", "VolumeGroup", "spec status{conditions" + condition + "}"},
	{"ceph.rook.io", "CephCluster", "spec{cephVersion{image} dataDirHostPath external{enable} mon{count} storage{useAllNodes useAllDevices " + disks + " nodes{name " + disks + "}" +
		" storageClassDeviceSets{name count}}} status{phase state ceph{health}}"},
	{"cdi.kubevirt.io", "CDI", "status{phase}"},
}
