package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/volume"
)

// API groups, and the versions of them that are rendered.
const (
	daoGroup       = pool.ConfigGroup
	daoVersion     = daoGroup + "/v1alpha1"
	cstorGroup     = pool.APIGroup
	cstorVersion   = cstorGroup + "/v1"
	cstorDriver    = volume.Driver
	deviceGroup    = "openebs.io"
	deviceVersion  = deviceGroup + "/v1alpha1"
	admissionGroup = "admissionregistration.k8s.io"
	storageGroup   = "storage.k8s.io"
	snapshotGroup  = "snapshot.storage.k8s.io"
	storageVersion = storageGroup + "/v1"
)

// Kinds of dao.mayadata.io.
const (
	clusterConfigKind = pool.ConfigKind
	autoKind          = pool.AutoKind
	clusterPlanKind   = pool.PlanKind
	storageSetKind    = record.SetKind
	storageKind       = "Storage"
)

// Kinds of cStor, and of the node disk manager under it.
const (
	poolClusterKind        = pool.ClusterKind
	poolInstanceKind       = pool.InstanceKind
	cstorVolumeConfigKind  = volume.ConfigKind
	cstorVolumeKind        = volume.TargetKind
	cstorVolumeReplicaKind = pool.ReplicaKind
	blockDeviceKind        = "BlockDevice"
	blockDeviceClaimKind   = "BlockDeviceClaim"
)

// Kinds of Kubernetes.
const (
	nodeKind             = "Node"
	volumeClaimKind      = record.ClaimKind
	persistentVolumeKind = "PersistentVolume"
	volumeAttachmentKind = record.AttachmentKind
	storageClassKind     = "StorageClass"
	csiDriverKind        = "CSIDriver"
	volumeSnapshotKind   = "VolumeSnapshot"

	webhookConfigurationKind = "ValidatingWebhookConfiguration"
)
