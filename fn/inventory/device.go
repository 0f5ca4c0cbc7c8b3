package inventory

import (
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
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
	ByID            []string // those of kind by-id
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
		Partitioned: strings.EqualFold(spec.Str("partitioned"), "yes"),
		Parent:      spec.Str("parentDevice"),
		ClaimState:  o.Node.Str("status", "claimState"),
		ClaimName:   spec.Str("claimRef", "name"),
		State:       o.Node.Str("status", "state"),
		Object:      o,
	}
	d.Capacity, _ = strconv.ParseInt(spec.Str("capacity", "storage"), 10, 64)
	d.SectorSize, _ = strconv.ParseInt(spec.Str("capacity", "logicalSectorSize"), 10, 64)
	if tag := o.Node.Get("metadata", "labels", LabelBlockDeviceTag); tag != nil {
		d.Tagged, d.Tag = true, tag.Value
	}
	for i := range spec.Seq("devlinks") {
		group := &spec.Seq("devlinks")[i]
		for _, link := range group.Seq("links") {
			d.Links = append(d.Links, link.Value)
			if group.Str("kind") == "by-id" {
				d.ByID = append(d.ByID, link.Value)
			}
		}
	}
	return d
}

// Fast reports whether the device is an SSD or NVMe device.
func (d *BlockDevice) Fast() bool {
	return d.DriveType == "SSD" || strings.HasPrefix(d.Path, "/dev/nvme")
}

// Type names the class of device within which disks mix well in one group: what
// it is, how it turns, and its sector size.
func (d *BlockDevice) Type() string {
	kind := "HDD"
	switch {
	case d.Fast():
		kind = "SSD"
	case d.DriveType != "HDD":
		kind = "Unknown"
	}
	return d.DeviceType + "-" + kind + "-" + sector(d.SectorSize)
}

func sector(bytes int64) string {
	if bytes == 4096 {
		return "4Kn"
	}
	return "512"
}
