// Package api is what the node agent reads and writes of the API server: Volumes and
// VolumeGroups of storage.metalk8s.scality.com/v1alpha1, and NodeInventories of
// poolwright.io/v1alpha1. Only what the agent needs stands here; the definitions are in
// deploy/crds.
package api

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/nodeagent/device"
)

// Kinds of objects.
const (
	KindVolume      = "Volume"
	KindVolumeGroup = "VolumeGroup"
)

// Group and version of Volumes and VolumeGroups.
const (
	Group   = "storage.metalk8s.scality.com"
	Version = "v1alpha1"
)

// Finalizer keeps a Volume, a VolumeGroup or a PersistentVolume until what it stands for
// has been seen to.
const Finalizer = Group + "/volume-protection"

// AdoptAnnotation names the mark of data that an object may take over.
const AdoptAnnotation = "poolwright.io/adopt"

// ForgetAnnotation names the disk, by serial number or WWN, of a Volume that is being deleted: it is dead,
// or gone for good, and is not waited for.
const ForgetAnnotation = "poolwright.io/forget-disk"

// Modes of a Volume.
const (
	Filesystem = "Filesystem"
	Block      = "Block"
)

// Policies of spec.wipe: how what is on the device of a Volume is erased.
const (
	WipeFull    = "full"    // with zeros; where it is left out
	WipeDiscard = "discard" // discarded, where the device then reads as zeros
	WipeNone    = "none"    // not at all: only what is kept
)

// Volume is a PersistentVolume to be made on a node.
type Volume struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              VolumeSpec   `json:"spec"`
	Status            VolumeStatus `json:"status"`
}

// VolumeSpec is what a person wrote: exactly one of the sources is set.
type VolumeSpec struct {
	NodeName         string `json:"nodeName"`
	StorageClassName string `json:"storageClassName"`
	Mode             string `json:"mode"` // Filesystem where it is left out
	Wipe             string `json:"wipe,omitempty"`

	Template Template `json:"template"`

	Sparse    *SparseLoopDevice `json:"sparseLoopDevice,omitempty"`
	Raw       *RawBlockDevice   `json:"rawBlockDevice,omitempty"`
	LVM       *LVMLogicalVolume `json:"lvmLogicalVolume,omitempty"`
	RAID      *RAIDDAS          `json:"raidDAS,omitempty"`
	Partition *PartitionSource  `json:"partition,omitempty"`
}

// Template is what a PersistentVolume gets besides what the agent says of it.
type Template struct {
	Metadata struct {
		Labels      map[string]string `json:"labels,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	} `json:"metadata"`
	Spec map[string]any `json:"spec,omitempty"`
}

// Quantity is an amount of bytes as it is written: 10Gi, or a number without quotes, which the definitions
// allow as well.
type Quantity string

// UnmarshalJSON reads a text or a number.
func (q *Quantity) UnmarshalJSON(data []byte) error {
	var number json.Number
	if json.Unmarshal(data, &number) == nil {
		*q = Quantity(number)
		return nil
	}
	return json.Unmarshal(data, (*string)(q))
}

// SparseLoopDevice is a sparse file.
type SparseLoopDevice struct {
	Size Quantity `json:"size"`
}

// DiskID is a disk by what it is.
type DiskID struct {
	WWN    string   `json:"wwn,omitempty"`
	Serial string   `json:"serial,omitempty"`
	Size   Quantity `json:"size,omitempty"`
}

// Identity is the same for package device.
func (d DiskID) Identity() device.Identity {
	return device.Identity{WWN: d.WWN, Serial: d.Serial, Size: string(d.Size)}
}

// RawBlockDevice is a whole disk, by a path or by what it is.
type RawBlockDevice struct {
	DevicePath string  `json:"devicePath,omitempty"`
	Disk       *DiskID `json:"disk,omitempty"`
}

// LVMLogicalVolume is a slice of a volume group.
type LVMLogicalVolume struct {
	VGName string   `json:"vgName"`
	Size   Quantity `json:"size"`
}

// RAIDDAS is a drive behind a RAID controller.
type RAIDDAS struct {
	Controller int `json:"controller"`
	Drive      struct {
		Serial    string `json:"serial,omitempty"`
		WWN       string `json:"wwn,omitempty"`
		Enclosure *int   `json:"enclosure,omitempty"`
		Slot      *int   `json:"slot,omitempty"`
	} `json:"drive"`
	Level       string `json:"level,omitempty"` // raid0 where it is left out, or jbod
	CachePolicy struct {
		Read  string `json:"read,omitempty"`  // ra or nora
		Write string `json:"write,omitempty"` // wt, wb or awb
		IO    string `json:"io,omitempty"`    // direct or cached
	} `json:"cachePolicy"`
}

// PartitionSource is a part of a disk.
type PartitionSource struct {
	DevicePath string   `json:"devicePath,omitempty"`
	Disk       *DiskID  `json:"disk,omitempty"`
	Size       Quantity `json:"size,omitempty"`
}

// VolumeGroup is an LVM volume group to be made on a node.
type VolumeGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              VolumeGroupSpec   `json:"spec"`
	Status            VolumeGroupStatus `json:"status"`
}

// VolumeGroupSpec is what a person wrote: exactly one of devices, sparse and volumeRef.
type VolumeGroupSpec struct {
	NodeName           string            `json:"nodeName"`
	Name               string            `json:"name,omitempty"` // of the LVM group; metadata.name where it is left out
	Devices            []GroupDevice     `json:"devices,omitempty"`
	Sparse             *SparseLoopDevice `json:"sparse,omitempty"`
	VolumeRef          *VolumeRef        `json:"volumeRef,omitempty"`
	PhysicalExtentSize Quantity          `json:"physicalExtentSize,omitempty"`
	Tags               map[string]string `json:"tags,omitempty"`
}

// GroupName is the name of the LVM group.
func (g *VolumeGroup) GroupName() string {
	if g.Spec.Name != "" {
		return g.Spec.Name
	}
	return g.Name
}

// GroupDevice is a disk of a group, by a path or by what it is.
type GroupDevice struct {
	DiskID     `json:",inline"`
	DevicePath string `json:"devicePath,omitempty"`
}

// VolumeRef names a Volume whose device a group takes.
type VolumeRef struct {
	Name string `json:"name"`
}
