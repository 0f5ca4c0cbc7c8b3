package localvolume

import (
	"cmp"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// The sources of a Volume, by the names of their fields.
const (
	sparse    = "sparseLoopDevice"
	raw       = "rawBlockDevice"
	lvm       = "lvmLogicalVolume"
	raid      = "raidDAS"
	partition = "partition"
)

// The modes of a Volume.
const (
	filesystem = "Filesystem"
	block      = "Block"
)

// How the device of a Volume is erased.
const (
	wipeFull = "full"
	wipeNone = "none"
)

// volume is a Volume as a person wrote it, as it is in the cluster, or as the lock remembers it.
type volume struct {
	object            *krm.Object // nil for the lock
	name, node, class string
	mode              string
	wipe              string         // how its device is erased
	reclaim           string         // of the lock: what becomes of its data when it is deleted, or ""
	adopt             string         // the UUID of data that it takes over, or ""
	template          *document.Node // of its PersistentVolume; nil for none
	source            source
}

// source is what a Volume is made of.
type source struct {
	kind  string         // the name of its field, "" for none
	node  *document.Node // as it is written
	disk  device         // of raw and partition
	vg    string         // of lvm: the LVM name of a group
	size  amount         // of sparse, lvm and partition
	drive drive          // of raid
}

// drive is a drive behind a RAID controller.
type drive struct {
	controller      int64
	level           string
	device          device
	enclosure, slot *int64
}

// readVolume reads a Volume.
func readVolume(o *krm.Object) volume {
	spec := o.Node.Get("spec")
	return volume{
		object: o, name: o.Name, node: spec.Str("nodeName"), class: spec.Str("storageClassName"),
		mode: cmp.Or(spec.Str("mode"), filesystem), wipe: cmp.Or(spec.Str("wipe"), wipeFull), adopt: o.Annotation(annotationAdopt), reclaim: o.Annotation(annotationReclaim),
		template: spec.Get("template"), source: readSource(spec, "spec"),
	}
}

// wipeWritten is how its device is erased, or "" for what needs no word.
func (v *volume) wipeWritten() string {
	if v.wipe == wipeFull {
		return ""
	}
	return v.wipe
}

// readSource reads the source among the fields of a struct.
func readSource(n *document.Node, field string) source {
	for _, kind := range []string{sparse, raw, lvm, raid, partition} {
		of := n.Get(kind)
		if of == nil {
			continue
		}
		s := source{kind: kind, node: of, size: readAmount(of, "size"), vg: of.Str("vgName")}
		switch kind {
		case raw, partition:
			s.disk = readDevice(of, field+"."+kind)
			if of.Get("disk") == nil {
				s.disk.size = amount{} // a size beside the path is that of the partition
			}
		case raid:
			s.drive = readDrive(of, field+"."+kind)
		}
		return s
	}
	return source{}
}

func readDrive(n *document.Node, field string) drive {
	of := n.Get("drive")
	d := drive{level: n.Str("level"), device: readDevice(of, field+".drive")}
	d.controller, _ = n.Get("controller").Int()
	for _, hint := range []struct {
		key   string
		value **int64
	}{{"enclosure", &d.enclosure}, {"slot", &d.slot}} {
		if number, found := of.Get(hint.key).Int(); found {
			*hint.value = &number
		}
	}
	return d
}

// Roles of disks.
const (
	roleVolume    = "volume"
	rolePartition = "partition" // of a disk that several Volumes share
	roleGroup     = "volume group"
)

// holds are the disks that the Volume holds: one, or none.
func (v *volume) holds() []disk.Hold {
	d, role := v.source.device(), roleVolume
	if v.source.kind == partition {
		role = rolePartition
	} else if _, number := disk.Partition(d.path); number != "" {
		role = rolePart + number
	}
	if d.empty() {
		return nil
	}
	return []disk.Hold{d.hold(v.node, role)}
}

// rolePart begins the role of a partition that somebody else made.
const rolePart = "partition "

// device is the disk or the drive that the source names; empty for none.
func (s *source) device() device {
	if s.kind == raid {
		return s.drive.device
	}
	return s.disk
}
