package localvolume

import (
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
)

// named are the disks that a Volume or a VolumeGroup names, in its order: one of the two is
// set.
func named(v *volume, g *volumeGroup) []device {
	switch {
	case g != nil:
		return g.disks
	case v == nil:
		return nil
	}
	if d := v.source.device(); !d.empty() {
		return []device{d}
	}
	return nil
}

// former are the disks that the object named before: by what the lock knew them, and as the
// lock or the live object has them.
func (e *entry) former() []device {
	if e.before != nil {
		return slices.Concat(named(e.before.volume, e.before.group), e.before.disks)
	}
	if e.wasVolume == nil && e.wasGroup == nil {
		return nil
	}
	return named(e.wasVolume, e.wasGroup)
}

// had reports whether the object was on a disk before.
func (e *entry) had(there *disk.Disk) bool {
	return slices.ContainsFunc(e.former(), func(was device) bool {
		here, _ := e.resolve(was)
		return slices.Contains(here, there)
	})
}

// remembered is what the lock knows of a disk that the object names as it did before; of a
// path that leads elsewhere now, this is the disk that is meant.
func (e *entry) remembered(of device) (device, bool) {
	if e.before == nil {
		return device{}, false
	}
	i := slices.IndexFunc(named(e.before.volume, e.before.group), func(was device) bool {
		return was.path == of.path && was.wwn == of.wwn && was.serial == of.serial
	})
	if i < 0 || i >= len(e.before.disks) {
		return device{}, false
	}
	known := e.before.disks[i]
	return known, known.wwn != "" || known.serial != "" || len(known.links) > 0
}

// resolve lists the disks that are reported under a description: those of the node, and
// those of others.
func (e *entry) resolve(of device) (here, elsewhere []*disk.Disk) {
	for _, there := range e.Disks.Named(of.hold(e.node(), "")) {
		switch {
		case there.Missing():
		case e.isHere(there):
			here = append(here, there)
		default:
			elsewhere = append(elsewhere, there)
		}
	}
	return here, elsewhere
}

func (e *entry) isHere(there *disk.Disk) bool {
	node := e.node()
	if e.Disks.NodeOf(there) == node || there.Node == node {
		return true
	}
	n := e.Facts.Node(node)
	return n != nil && n.Hostname != "" && there.Node == n.Hostname
}
