package localvolume

import (
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
)

// Holds implements system.Holder: the disk of a Volume, the disks of a VolumeGroup, and
// those that the lock of one of them remembers.
func (System) Holds(o *krm.Object) []disk.Hold {
	switch o.GroupKind() {
	case volumeGroupKind(), groupGroupKind():
		return readDeclared(o).holds()
	case lockGroupKind():
		l := readLock(o)
		return l.holds()
	}
	return nil
}
