package localvolume

import (
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
)

// declared is what a Volume or a VolumeGroup says: one of the two is set, or neither of what was
// nothing.
type declared struct {
	volume *volume
	group  *volumeGroup
}

// readDeclared reads a Volume or a VolumeGroup; nil is one that is not there.
func readDeclared(o *krm.Object) declared {
	switch {
	case o == nil:
		return declared{}
	case o.Kind == groupKind:
		g := readGroup(o)
		return declared{group: &g}
	}
	v := readVolume(o)
	return declared{volume: &v}
}

// isOf reports whether it is a Volume of a source.
func (d declared) isOf(source string) bool { return d.volume != nil && d.volume.source.kind == source }

// called names the object with its kind.
func (d declared) called() string {
	if d.group != nil {
		return groupKind + " " + d.group.name
	}
	return volumeKind + " " + d.volume.name
}

// node is the name of the node that the object is on.
func (d declared) node() string {
	if d.group != nil {
		return d.group.node
	}
	return d.volume.node
}

// named are the disks that the object names, in its order.
func (d declared) named() []device {
	switch {
	case d.group != nil:
		return d.group.disks
	case d.volume == nil:
		return nil
	}
	if of := d.volume.source.device(); !of.empty() {
		return []device{of}
	}
	return nil
}

// holds are the disks that the object holds.
func (d declared) holds() []disk.Hold {
	if d.group != nil {
		return d.group.holds()
	}
	return d.volume.holds()
}

// bytes is the size that is written of the object.
func (d declared) bytes() int64 {
	if d.group != nil {
		return d.group.size.bytes
	}
	return d.volume.source.size.bytes
}
