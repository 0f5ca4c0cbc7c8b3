package inventory

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// BlockDevice is a disk as the node disk manager sees it (openebs.io/v1alpha1).
type BlockDevice struct {
	Namespace, Name string
	Hostname        string // its hostname label, which says where it is
	NodeName        string // spec.nodeAttributes.nodeName
	Path            string // such as /dev/sdb
	Capacity        int64  // bytes; 0 when it cannot be read
	DeviceType      string // disk, partition, sparse, loop, lvm, crypt ...
	DriveType       string // HDD, SSD, Unknown
	SectorSize      int64  // bytes, logical
	Serial          string
	Links           []string // all devlinks
	ByID            []string // those that name the disk itself, wherever it is plugged in
	Fault           string   // why what is said of it cannot be trusted, or ""
	Filesystem      string
	MountPoint      string
	Partitioned     bool
	Parent          string
	ClaimState      string // Claimed, Unclaimed, Released
	ClaimName       string
	State           string // Active, Inactive, Unknown
	Tagged          bool
	Tag             string
	Object          *krm.Object
	Index           int // its place among the devices of the facts
}

func newBlockDevice(o *krm.Object) *BlockDevice {
	spec, details := o.Node.Get("spec"), o.Node.Get("spec", "details")
	d := &BlockDevice{
		Namespace:   o.Namespace,
		Name:        o.Name,
		Hostname:    o.Label(LabelHostname),
		NodeName:    spec.Str("nodeAttributes", "nodeName"),
		Path:        spec.Str("path"),
		DeviceType:  details.Str("deviceType"),
		DriveType:   details.Str("driveType"),
		Serial:      strings.TrimSpace(details.Str("serial")),
		Filesystem:  spec.Str("filesystem", "fsType"),
		MountPoint:  spec.Str("filesystem", "mountPoint"),
		Partitioned: !slices.Contains([]string{"", "no"}, strings.ToLower(spec.Str("partitioned"))),
		Parent:      spec.Str("parentDevice"),
		ClaimState:  o.Node.Str("status", "claimState"),
		ClaimName:   spec.Str("claimRef", "name"),
		State:       o.Node.Str("status", "state"),
		Object:      o,
	}
	d.Capacity = bytes(spec.Str("capacity", "storage"))
	d.SectorSize = bytes(spec.Str("capacity", "logicalSectorSize"))
	if tag := o.Node.Get("metadata", "labels", LabelBlockDeviceTag); tag != nil {
		d.Tagged, d.Tag = true, tag.Value()
	}
	groups := spec.Seq("devlinks")
	count := 0
	for i := range groups {
		count += len(groups[i].Seq("links"))
	}
	d.Links = make([]string, 0, count)
	for i := range groups {
		for _, link := range groups[i].Seq("links") {
			d.Links = append(d.Links, link.Value())
			// The path decides, not the kind it is filed under: a LUN link of Azure is
			// a number, the same on every node.
			if strings.Contains(link.Value(), "/by-id/") {
				d.ByID = append(d.ByID, link.Value())
			}
		}
	}
	d.Fault = fault(o, d)
	return d
}

// fault finds what an unreadable or contradictory probe leaves behind.
func fault(o *krm.Object, d *BlockDevice) string {
	filesystem, links := o.Node.Get("spec", "filesystem"), o.Node.Get("spec", "devlinks")
	switch {
	case !isSubdomain(o.Name):
		return "its name is not one that Kubernetes allows: " + nameRule
	case filesystem != nil && filesystem.Kind() != document.Map && filesystem.Kind() != document.Null:
		return "its spec.filesystem cannot be read"
	case links != nil && links.Kind() != document.Seq && links.Kind() != document.Null:
		return "its spec.devlinks cannot be read"
	case o.Deleting():
		return "it is being deleted"
	case d.ClaimState == "Unclaimed" && d.ClaimName != "":
		return "it is Unclaimed, and yet names the claim " + d.ClaimName
	}
	return ""
}

// bytes reads an amount. The node disk manager writes whole numbers, which some
// tools turn into 4.0e+12 on the way. What cannot be read is 0.
func bytes(amount string) int64 {
	if n, err := strconv.ParseInt(amount, 10, 64); err == nil {
		return n
	}
	q, err := resource.ParseQuantity(amount)
	if err != nil {
		return 0
	}
	return q.Value()
}

// Whole reports whether the device is a disk of its own: a partition shares the serial
// number of its disk.
func (d *BlockDevice) Whole() bool { return d.DeviceType != "partition" && d.Parent == "" }

// Fast reports whether the device is an SSD or NVMe device.
func (d *BlockDevice) Fast() bool {
	return d.DriveType == "SSD" || strings.HasPrefix(d.Path, "/dev/nvme")
}

// Type is a class of devices that mix well in one group.
type Type struct {
	Device string // what it is: disk, partition ...
	Drive  string // how it turns: HDD, SSD, Unknown
	Sector string // 512 or 4Kn
}

func (t Type) String() string { return t.Device + "-" + t.Drive + "-" + t.Sector }

// Compare orders types by their names.
func (t Type) Compare(other Type) int {
	return cmp.Or(cmp.Compare(t.Device, other.Device), cmp.Compare(t.Drive, other.Drive), cmp.Compare(t.Sector, other.Sector))
}

// Type is the class of the device.
func (d *BlockDevice) Type() Type {
	t := Type{Device: d.DeviceType, Drive: "HDD", Sector: "512"}
	switch {
	case d.Fast():
		t.Drive = "SSD"
	case d.DriveType != "HDD":
		t.Drive = "Unknown"
	}
	if d.SectorSize == 4096 {
		t.Sector = "4Kn"
	}
	return t
}

// DeviceFields lists the fields of a BlockDevice that distinguish one from another
// (openebs.io/v1alpha1).
func DeviceFields() []string {
	return []string{
		"spec.capacity.logicalSectorSize", "spec.capacity.physicalSectorSize", "spec.capacity.storage",
		"spec.claimRef.apiVersion", "spec.claimRef.kind", "spec.claimRef.name", "spec.claimRef.namespace", "spec.claimRef.uid",
		"spec.details.compliance", "spec.details.deviceType", "spec.details.driveType", "spec.details.firmwareRevision",
		"spec.details.hardwareSectorSize", "spec.details.logicalBlockSize", "spec.details.model", "spec.details.physicalBlockSize",
		"spec.details.serial", "spec.details.vendor",
		"spec.aggregateDevice", "spec.filesystem.fsType", "spec.filesystem.mountPoint", "spec.nodeAttributes.nodeName",
		"spec.parentDevice", "spec.partitioned", "spec.path",
		"status.claimState", "status.state",
	}
}
