package cstor

import (
	"encoding/json"
	"maps"
	"slices"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespace is that of cStor.
const Namespace = "openebs"

// Labels, annotations and finalizers of cStor and of the node disk manager.
const (
	labelHostname   = "kubernetes.io/hostname"
	labelTag        = "openebs.io/block-device-tag"
	labelCluster    = "openebs.io/cstor-pool-cluster"
	labelInstance   = "cstorpoolinstance.openebs.io/name"
	labelVolume     = "cstorvolume.openebs.io/name"
	labelVersion    = "openebs.io/version"
	replicaHost     = "cstorpoolinstance.openebs.io/hostname"
	predecessor     = "openebs.io/bd-predecessor"
	allowedTags     = "openebs.io/allowed-bd-tags"
	poolFinalizer   = "cstorpoolcluster.openebs.io/finalizer"
	memberFinalizer = "cstorpoolinstance.openebs.io/finalizer"
	replFinalizer   = "cstorvolumereplica.openebs.io/finalizer"
	zfsMember       = "zfs_member"
	version         = "3.6.0"
)

// header is what every object has.
type header struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
}

func (h *header) head() *header { return h }

func newHeader(apiVersion, kind, namespace, name string) header {
	return header{
		meta.TypeMeta{APIVersion: apiVersion, Kind: kind},
		meta.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{}, Annotations: map[string]string{}},
	}
}

// going reports whether somebody has deleted the object, which finalizers may still hold.
func (h *header) going() bool { return h.DeletionTimestamp != nil }

// Node is a Node.
type Node struct {
	header
	Spec   struct{}   `json:"spec"`
	Status nodeStatus `json:"status"`
}

type nodeStatus struct {
	Conditions []condition `json:"conditions,omitempty"`
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// BlockDevice is what the node disk manager says of a disk.
type BlockDevice struct {
	header
	Spec   blockDeviceSpec   `json:"spec"`
	Status blockDeviceStatus `json:"status"`
}

type blockDeviceSpec struct {
	Capacity       blockDeviceCapacity  `json:"capacity"`
	Details        blockDeviceDetails   `json:"details"`
	NodeAttributes nodeAttributes       `json:"nodeAttributes"`
	Path           string               `json:"path"`
	Partitioned    string               `json:"partitioned"`
	DevLinks       []devLink            `json:"devlinks"`
	FileSystem     *fileSystem          `json:"filesystem,omitempty"`
	ClaimRef       *objectReferenceName `json:"claimRef,omitempty"`
}

type blockDeviceCapacity struct {
	Storage           int64 `json:"storage"` // bytes
	LogicalSectorSize int64 `json:"logicalSectorSize"`
}

type blockDeviceDetails struct {
	DeviceType string `json:"deviceType"`
	DriveType  string `json:"driveType"`
	Serial     string `json:"serial"`
}

type nodeAttributes struct {
	NodeName string `json:"nodeName"`
}

type devLink struct {
	Kind  string   `json:"kind"`
	Links []string `json:"links"`
}

type fileSystem struct {
	FSType string `json:"fsType"`
}

type objectReferenceName struct {
	Name string `json:"name"`
}

type blockDeviceStatus struct {
	State      string `json:"state"`      // Active | Inactive
	ClaimState string `json:"claimState"` // Unclaimed | Claimed
}

func (d *BlockDevice) active() bool { return d.Status.State == "Active" }

func (d *BlockDevice) fsType() string {
	if d.Spec.FileSystem == nil {
		return ""
	}
	return d.Spec.FileSystem.FSType
}

// BlockDeviceClaim asks the node disk manager for a BlockDevice.
type BlockDeviceClaim struct {
	header
	Spec   blockDeviceClaimSpec `json:"spec"`
	Status phase                `json:"status"`
}

type blockDeviceClaimSpec struct {
	BlockDeviceName string `json:"blockDeviceName"`
}

type phase struct {
	Phase string `json:"phase,omitempty"`
}

func (c *BlockDeviceClaim) bound() bool { return c.Status.Phase == "Bound" }

// PoolCluster is a CStorPoolCluster.
type PoolCluster struct {
	header
	Spec           PoolClusterSpec   `json:"spec"`
	Status         poolClusterStatus `json:"status"`
	VersionDetails versionDetails    `json:"versionDetails"`
}

type poolClusterStatus struct {
	Desired     int `json:"desiredInstances"`
	Healthy     int `json:"healthyInstances"`
	Provisioned int `json:"provisionedInstances"`
}

// PoolClusterSpec is what a person or an engine writes of it.
type PoolClusterSpec struct {
	Pools             []Pool          `json:"pools"`
	Resources         json.RawMessage `json:"resources,omitempty"`
	AuxResources      json.RawMessage `json:"auxResources,omitempty"`
	Tolerations       json.RawMessage `json:"tolerations,omitempty"`
	PriorityClassName string          `json:"priorityClassName,omitempty"`
}

// Pool is one pool of a CStorPoolCluster.
type Pool struct {
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	PoolContent
}

// PoolContent is what a pool of a CStorPoolCluster and a CStorPoolInstance have alike.
type PoolContent struct {
	Data   []RAIDGroup `json:"dataRaidGroups"`
	Cache  []RAIDGroup `json:"writeCacheRaidGroups,omitempty"`
	Config PoolConfig  `json:"poolConfig"`
}

// PoolConfig are the settings of a pool.
type PoolConfig struct {
	DataRAIDGroupType  string `json:"dataRaidGroupType,omitempty"`
	WriteCacheType     string `json:"writeCacheGroupType,omitempty"`
	Compression        string `json:"compression,omitempty"`
	ThickProvision     bool   `json:"thickProvision,omitempty"`
	ROThresholdPercent *int64 `json:"roThresholdLimit,omitempty"`
}

// RAIDGroup is one RAID group.
type RAIDGroup struct {
	BlockDevices []GroupDevice `json:"blockDevices"`
}

// GroupDevice is a disk of a RAID group.
type GroupDevice struct {
	Name string `json:"blockDeviceName"`
}

func (g RAIDGroup) names() []string {
	names := make([]string, len(g.BlockDevices))
	for i, d := range g.BlockDevices {
		names[i] = d.Name
	}
	return names
}

func namesOf(groups []RAIDGroup) []string {
	var names []string
	for _, g := range groups {
		names = append(names, g.names()...)
	}
	return names
}

func (p *PoolContent) disks() []string { return append(namesOf(p.Data), namesOf(p.Cache)...) }

func (p *Pool) host() string { return p.NodeSelector[labelHostname] }

func (s *PoolClusterSpec) disks() []string {
	var names []string
	for i := range s.Pools {
		names = append(names, s.Pools[i].disks()...)
	}
	return names
}

// on is the first pool of a host, or nil.
func (s *PoolClusterSpec) on(host string) *Pool {
	for i := range s.Pools {
		if s.Pools[i].host() == host {
			return &s.Pools[i]
		}
	}
	return nil
}

// Instance is a CStorPoolInstance.
type Instance struct {
	header
	Spec   instanceSpec   `json:"spec"`
	Status instanceStatus `json:"status"`
}

type instanceSpec struct {
	HostName     string            `json:"hostName"`
	NodeSelector map[string]string `json:"nodeSelector"`
	PoolContent
}

type instanceStatus struct {
	Phase      string           `json:"phase,omitempty"` // as zpool says: ONLINE, DEGRADED, OFFLINE
	ReadOnly   bool             `json:"readOnly"`
	Capacity   instanceCapacity `json:"capacity"`
	Conditions []condition      `json:"conditions,omitempty"`
}

type instanceCapacity struct {
	Free  string `json:"free"`
	Total string `json:"total"`
	Used  string `json:"used"`
}

func (i *Instance) cluster() string { return i.Labels[labelCluster] }

// host is the hostname that the instance was made with: a pool that was moved keeps it.
func (i *Instance) host() string { return i.Labels[labelHostname] }

// selects is the host on which its pool manager runs.
func (i *Instance) selects() string { return i.Spec.NodeSelector[labelHostname] }

// VolumeConfig is a CStorVolumeConfig.
type VolumeConfig struct {
	header
	Spec           volumeConfigSpec   `json:"spec"`
	Publish        publish            `json:"publish"`
	Status         volumeConfigStatus `json:"status"`
	VersionDetails versionDetails     `json:"versionDetails"`
}

type publish struct {
	NodeID string `json:"nodeId,omitempty"`
}

type volumeConfigSpec struct {
	Capacity  capacity  `json:"capacity"`
	Ref       *named    `json:"cstorVolumeRef,omitempty"`
	Source    string    `json:"cstorVolumeSource,omitempty"` // volume@snapshot
	Provision provision `json:"provision"`
	Policy    policy    `json:"policy"`
}

type capacity struct {
	Storage string `json:"storage"`
}

type named struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type provision struct {
	Capacity     capacity `json:"capacity"`
	ReplicaCount int      `json:"replicaCount"`
}

type policy struct {
	ReplicaPoolInfo []poolName `json:"replicaPoolInfo,omitempty"`
}

type poolName struct {
	PoolName string `json:"poolName"`
}

func (s *volumeConfigSpec) pools() []string {
	names := make([]string, len(s.Policy.ReplicaPoolInfo))
	for i, p := range s.Policy.ReplicaPoolInfo {
		names[i] = p.PoolName
	}
	return names
}

type volumeConfigStatus struct {
	Phase    string   `json:"phase,omitempty"` // Pending | Bound | Failed
	PoolInfo []string `json:"poolInfo,omitempty"`
	Capacity capacity `json:"capacity"`
}

type versionDetails struct {
	Desired string        `json:"desired"`
	Status  versionStatus `json:"status"`
}

type versionStatus struct {
	Current string `json:"current"`
}

// Volume is a CStorVolume.
type Volume struct {
	header
	Spec   volumeSpec   `json:"spec"`
	Status volumeStatus `json:"status"`
}

type volumeSpec struct {
	Capacity                 string `json:"capacity"`
	ReplicationFactor        int    `json:"replicationFactor"`
	ConsistencyFactor        int    `json:"consistencyFactor"`
	DesiredReplicationFactor int    `json:"desiredReplicationFactor"`
}

type volumeStatus struct {
	Phase    string `json:"phase,omitempty"` // Healthy | Degraded | Offline
	Capacity string `json:"capacity,omitempty"`
}

// Replica is a CStorVolumeReplica.
type Replica struct {
	header
	Spec   replicaSpec `json:"spec"`
	Status phase       `json:"status"` // Init, Recreate, Rebuilding, Healthy, Degraded, Offline
}

type replicaSpec struct {
	Capacity  string `json:"capacity"`
	ReplicaID string `json:"replicaid,omitempty"` // of one that came later
}

func (r *Replica) volume() string   { return r.Labels[labelVolume] }
func (r *Replica) instance() string { return r.Labels[labelInstance] }

// VolumeClaim is a PersistentVolumeClaim.
type VolumeClaim struct {
	header
	Spec   volumeClaimSpec   `json:"spec"`
	Status volumeClaimStatus `json:"status"`
}

type volumeClaimSpec struct {
	StorageClassName string    `json:"storageClassName"`
	VolumeName       string    `json:"volumeName,omitempty"`
	VolumeMode       string    `json:"volumeMode,omitempty"`
	AccessModes      []string  `json:"accessModes,omitempty"`
	Resources        resources `json:"resources"`
}

type resources struct {
	Requests capacity `json:"requests"`
}

type volumeClaimStatus struct {
	Phase    string   `json:"phase,omitempty"`
	Capacity capacity `json:"capacity"`
}

// PersistentVolume is a PersistentVolume of a CSI driver.
type PersistentVolume struct {
	header
	Spec   persistentVolumeSpec `json:"spec"`
	Status phase                `json:"status"`
}

type persistentVolumeSpec struct {
	Capacity         capacity        `json:"capacity"`
	StorageClassName string          `json:"storageClassName,omitempty"`
	CSI              csiSource       `json:"csi"`
	ClaimRef         *claimReference `json:"claimRef,omitempty"`
}

type csiSource struct {
	Driver       string `json:"driver"`
	VolumeHandle string `json:"volumeHandle"`
}

type claimReference struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// VolumeAttachment is a VolumeAttachment.
type VolumeAttachment struct {
	header
	Spec   volumeAttachmentSpec   `json:"spec"`
	Status volumeAttachmentStatus `json:"status"`
}

type volumeAttachmentSpec struct {
	Attacher string           `json:"attacher"`
	NodeName string           `json:"nodeName"`
	Source   attachmentSource `json:"source"`
}

type attachmentSource struct {
	PersistentVolumeName string `json:"persistentVolumeName"`
}

type volumeAttachmentStatus struct {
	Attached bool `json:"attached"`
}

// StorageClass is a StorageClass.
type StorageClass struct {
	header
	Provisioner          string            `json:"provisioner"`
	Parameters           map[string]string `json:"parameters,omitempty"`
	AllowVolumeExpansion bool              `json:"allowVolumeExpansion"`
	VolumeBindingMode    string            `json:"volumeBindingMode"`
}

// WebhookConfiguration is the ValidatingWebhookConfiguration of cStor.
type WebhookConfiguration struct {
	header
	Webhooks []webhookEntry `json:"webhooks"`
}

type webhookEntry struct {
	Name           string `json:"name"`
	TimeoutSeconds int    `json:"timeoutSeconds"`
}

// sorted lists the objects of a kind by name.
func sorted[T any](all map[string]T) []T {
	list := make([]T, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list
}

// where lists the objects of a kind that are so, by name.
func where[T any](all map[string]T, is func(T) bool) []T {
	var names []string
	for name, o := range all {
		if is(o) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	list := make([]T, len(names))
	for i, name := range names {
		list[i] = all[name]
	}
	return list
}

// own makes another object the owner of this one.
func (h *header) own(owner *header) {
	h.OwnerReferences = []meta.OwnerReference{{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID}}
}
