// Package localvolume is the system of local volumes: partitions, LVM and RAID on the
// disks of a node. Until the rest of it is built, it says which disks a Volume and a
// VolumeGroup hold.
package localvolume

import (
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
)

const (
	group           = "storage.metalk8s.scality.com"
	volumeKind      = "Volume"
	volumeGroupKind = "VolumeGroup"
)

// System is the local volume system.
type System struct{ system.FactsOnly }

// Declare implements system.System.
func (System) Declare() system.Declaration {
	return system.Declaration{
		Name: "local volumes",
		Kinds: []system.Kind{
			{
				GroupKind: krm.GroupKind{Group: group, Kind: volumeKind}, Version: "v1alpha1",
				Plural: "volumes", Cluster: true, Holds: true,
				Keep: "spec status{deviceName " + system.KeepConditions + "}",
			},
			{
				GroupKind: krm.GroupKind{Group: group, Kind: volumeGroupKind}, Version: "v1alpha1",
				Plural: "volumegroups", Cluster: true, Holds: true,
				Keep: "spec status{" + system.KeepConditions + "}",
			},
		},
		Domains: []string{"metalk8s.scality.com"},
	}
}

// Holds implements system.Holder: the disk of a Volume on a raw block device, and the
// disks of a VolumeGroup.
func (System) Holds(o *krm.Object) []disk.Hold {
	if o.Group() != group {
		return nil
	}
	node := o.Node.Str("spec", "nodeName")
	var holds []disk.Hold
	switch o.Kind {
	case volumeKind:
		if path := o.Node.Str("spec", "rawBlockDevice", "devicePath"); path != "" {
			holds = append(holds, disk.Hold{Identity: disk.ByPath(node, devicePath(path)), Role: "volume"})
		}
	case volumeGroupKind:
		devices := o.Node.Seq("spec", "devices")
		for i := range devices {
			if id, found := identity(node, &devices[i]); found {
				holds = append(holds, disk.Hold{Identity: id, Role: "volume group"})
			}
		}
	}
	return holds
}

// identity reads a device: {wwn, serial, size}, {devicePath}, or a path alone.
func identity(node string, n *document.Node) (id disk.Identity, found bool) {
	path := n.Str("devicePath")
	if n.Kind() == document.Scalar {
		path = n.Value()
	}
	id.Node = node
	if path != "" {
		id = disk.ByPath(node, devicePath(path))
	}
	if wwn := disk.WWN(n.Str("wwn")); wwn != "" {
		id.WWN = wwn
	}
	id.Serial = strings.TrimSpace(n.Str("serial"))
	return id, path != "" || id.WWN != "" || id.Serial != ""
}

// devicePath is the path of a device that is called by its kernel name alone.
func devicePath(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return "/dev/" + name
}
