// Package device is the block devices of a machine, as its kernel describes them in sysfs.
// udev's database and links are hints that are believed only once udev has settled a device.
package device

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Kind is what a device is.
type Kind string

// The kinds of devices.
const (
	Disk      Kind = "disk"
	Partition Kind = "partition"
	Loop      Kind = "loop"
	Mapper    Kind = "dm"
	MD        Kind = "md"
	Other     Kind = "other" // ram, zram, CD, floppy: never a disk for us
)

// Device is a block device.
type Device struct {
	Name  string // of the kernel, such as sda
	Path  string // such as /dev/sda
	Kind  Kind
	Major uint32
	Minor uint32
	Seq   uint64 // diskseq: another one each time that a device appears; 0 where the kernel has none
	Size  int64  // bytes
	// Sector is the size of a logical sector in bytes.
	Sector     int64
	ReadOnly   bool
	Removable  bool
	Rotational bool
	Transport  string

	WWN    string // 0x and lower case hexadecimal digits, or ""
	Serial string
	Model  string
	Links  []string // below /dev/disk and /dev/mapper, sorted

	Parent string // of a partition: the name of its disk
	Number int    // of a partition
	Start  int64  // of a partition, bytes

	Holders []string // names of devices that are on this one
	Slaves  []string // names of devices that this one is on
	Mapped  string   // name that device mapper gives it
	UUID    string   // UUID that device mapper or md gives it
	Backing *Backing // file of a loop device
	Mounts  []string // of the device itself, sorted
	// Roots are those of Mounts at which the root of its filesystem is. At others is what a tenant
	// has in it, which may be a FIFO or a device node: such a path is never opened.
	Roots   []string
	Swap    bool
	Settled bool // udev has finished with it, or there is no udev
}

// Backing is the file of a loop device. A path alone does not identify a file: kubelet puts
// loop devices over bind mounts of a device's node.
type Backing struct {
	Path   string // as the kernel says it; it ends in " (deleted)" for a file that is gone
	Device uint64
	Inode  uint64
	// Node is the number of the block device whose node the file is, or 0 where it is no node.
	Node   uint64
	Known  bool // the kernel has said Device, Inode and Node
	Offset int64
}

// Over reports whether the file is a node of the device.
func (b *Backing) Over(d *Device) bool {
	if b.Known {
		return b.Node != 0 && b.Node == unix.Mkdev(d.Major, d.Minor)
	}
	return b.Path == d.Path || slices.Contains(d.Links, b.Path)
}

// String is the device for people.
func (d *Device) String() string {
	if d.Serial != "" {
		return fmt.Sprintf("%s (serial %s)", d.Path, d.Serial)
	}
	return d.Path
}

// ID distinguishes a device from every other that had its name in this boot, as far as the kernel numbers them.
func (d *Device) ID() string {
	return fmt.Sprintf("%s (%d:%d, diskseq %d)", d.Path, d.Major, d.Minor, d.Seq)
}

// Devices are all block devices of a machine, sorted by name.
type Devices struct {
	All []*Device
	// System are names of the devices that the machine itself runs on, through every
	// layer, each with the reason.
	System map[string]string
}

// Named is the device of a name, or nil.
func (ds *Devices) Named(name string) *Device {
	i, found := slices.BinarySearchFunc(ds.All, name, func(d *Device, name string) int { return strings.Compare(d.Name, name) })
	if !found {
		return nil
	}
	return ds.All[i]
}

// At is the device of a path: its own, or a link to it.
func (ds *Devices) At(path string) *Device {
	for _, d := range ds.All {
		if d.Path == path || slices.Contains(d.Links, path) {
			return d
		}
	}
	return nil
}

// Numbered is the device of a device number, or nil.
func (ds *Devices) Numbered(major, minor uint32) *Device {
	for _, d := range ds.All {
		if d.Major == major && d.Minor == minor {
			return d
		}
	}
	return nil
}

// Partitions are those of a device, in their order.
func (ds *Devices) Partitions(of *Device) []*Device {
	var parts []*Device
	for _, d := range ds.All {
		if d.Parent == of.Name {
			parts = append(parts, d)
		}
	}
	slices.SortFunc(parts, func(a, b *Device) int { return a.Number - b.Number })
	return parts
}

// Whole is the device that a partition is on, or the device itself.
func (ds *Devices) Whole(d *Device) *Device {
	if parent := ds.Named(d.Parent); parent != nil {
		return parent
	}
	return d
}

// Below are the names of all devices that one is on, itself among them: its disk, and the
// devices that it is made of.
func (ds *Devices) Below(d *Device) []string {
	seen := map[string]bool{}
	var walk func(*Device)
	walk = func(d *Device) {
		if d == nil || seen[d.Name] {
			return
		}
		seen[d.Name] = true
		walk(ds.Named(d.Parent))
		for _, slave := range d.Slaves {
			walk(ds.Named(slave))
		}
	}
	walk(d)
	return sorted(seen)
}

// Disks are the devices that NodeInventory reports: disks and multipath maps. Loop devices,
// md arrays and logical volumes are made of something, and that is what counts.
func (ds *Devices) Disks() []*Device {
	var disks []*Device
	for _, d := range ds.All {
		if d.Kind == Disk || d.Multipath() {
			disks = append(disks, d)
		}
	}
	return disks
}

// Multipath reports whether the device stands for several paths to one disk.
func (d *Device) Multipath() bool { return d.Kind == Mapper && strings.HasPrefix(d.UUID, "mpath-") }

// Candidates are the disks that have the identity wanted, in every part that is declared.
func (ds *Devices) Candidates(want Identity) []*Device {
	var found []*Device
	for _, d := range ds.Disks() {
		if want.Matches(d) == nil && !ds.pathOf(d) {
			found = append(found, d)
		}
	}
	return found
}

// pathOf reports whether a disk is one of the paths of a multipath map.
func (ds *Devices) pathOf(d *Device) bool {
	return slices.ContainsFunc(d.Holders, func(name string) bool {
		holder := ds.Named(name)
		return holder != nil && holder.Multipath()
	})
}

// Twins are other disks of the same WWN, or of the same serial number where one of them has
// no WWN. Paths of one multipath map are no twins of it.
func (ds *Devices) Twins(d *Device) []*Device {
	var twins []*Device
	for _, o := range ds.Disks() {
		if o == d || ds.pathOf(o) {
			continue
		}
		switch {
		case d.WWN != "" && o.WWN != "":
			if d.WWN == o.WWN {
				twins = append(twins, o)
			}
		case d.Serial != "" && d.Serial == o.Serial:
			twins = append(twins, o)
		}
	}
	return twins
}

func sorted(set map[string]bool) []string {
	var names []string
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
