package hypercloud

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/finding"
)

// classes are those of the disks of a cluster, each with what it is known from.
type classes struct {
	known   []string // some disk has it, or will have it
	unknown bool     // of some disk it is not known which of Rook's own it gets
}

// own lists the classes that Rook gives to disks by itself: it goes by whether a disk rotates,
// and whether its path is that of an NVMe disk.
//
// Source: Rook, pkg/operator/ceph/cluster/osd, 1.14 to 1.21.
func own() []string { return []string{"hdd", "ssd", "nvme"} }

// classes lists those of the disks that the cluster has or gets, and of the running OSDs.
func (r *redundancy) classes() classes {
	var c classes
	for _, h := range r.members.hosts {
		for _, v := range h.devices {
			class := v.class()
			c.unknown = c.unknown || class == ""
			c.known = append(c.known, class)
		}
	}
	if r.live != nil {
		for _, of := range r.live.Node.Seq("status", "storage", "deviceClasses") {
			c.known = append(c.known, of.Str("name"))
		}
	}
	slices.Sort(c.known)
	c.known = slices.DeleteFunc(slices.Compact(c.known), func(name string) bool { return name == "" })
	return c
}

// have reports whether a disk has a class, or may get it.
func (c classes) have(name string) bool {
	return slices.Contains(c.known, name) || c.unknown && slices.Contains(own(), name)
}

// String lists the classes for people.
func (c classes) String() string {
	text := finding.Names(c.known)
	if c.unknown {
		text = strings.TrimPrefix(text+", and disks that get one of "+finding.Names(own())+" from Rook", ", and ")
	}
	return text
}

// class is the class of a disk: that of the spec, or else the one that Rook gives it; "" if
// the inventory does not say enough.
//
// Source: node-disk-manager, BlockDevice (spec.details.driveType), 2.1.0.
func (v *device) class() string {
	report := v.disk.Report()
	switch {
	case v.DeviceClass != "" || report == nil:
		return v.DeviceClass
	case strings.HasPrefix(report.Node.Str("spec", "path"), "/dev/nvme"):
		return "nvme"
	}
	switch report.Node.Str("spec", "details", "driveType") {
	case "SSD":
		return "ssd"
	case "HDD":
		return "hdd"
	}
	return ""
}

// checkClass refuses a class that no disk has: Rook makes no pool of it. It reports whether
// the class is fine.
func (r *redundancy) checkClass(c *copied) bool {
	there := r.classes()
	if c.DeviceClass == "" || there.have(c.DeviceClass) {
		return true
	}
	r.reportAt(finding.Error, "no-such-class", []any{"spec", c.list, c.index, "deviceClass"}, "no disk of the cluster has class %s; there are %s: write one of these, or deviceClass: %s at the disks that are meant", c.DeviceClass, there, c.DeviceClass)
	return false
}
