package localvolume

import (
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
)

// named are the disks that the object names, in its order.
func (e *entry) named() []device {
	if e.group != nil {
		return e.group.disks
	}
	if d := e.volume.source.device(); !d.empty() {
		return []device{d}
	}
	return nil
}

// remembered is what the lock knows of a disk that the object names as it did before; of a
// path that leads elsewhere now, this is the disk that is meant.
func (e *entry) remembered(of device) (device, bool) {
	if e.before == nil {
		return device{}, false
	}
	var before []device
	if e.group != nil && e.before.group != nil {
		before = e.before.group.disks
	} else if e.volume != nil && e.before.volume != nil {
		before = []device{e.before.volume.source.device()}
	}
	i := slices.IndexFunc(before, func(was device) bool {
		return was.path == of.path && was.wwn == of.wwn && was.serial == of.serial
	})
	if i < 0 || i >= len(e.before.disks) {
		return device{}, false
	}
	known := e.before.disks[i]
	return known, known.wwn != "" || known.serial != "" || len(known.links) > 0
}

// resolve lists the disks that are reported under a description, those of the node first.
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
	node := e.Disks.NodeOf(there)
	if node == e.node() {
		return true
	}
	n := e.Facts.Node(e.node())
	return n != nil && (there.Node == n.Hostname || there.Node == n.Name)
}

// checkDisks looks for the disks that the object names.
func (e *entry) checkDisks() {
	for _, of := range e.named() {
		if known, found := e.remembered(of); found {
			of = known
		}
		var there *disk.Disk
		if here, _ := e.resolve(of); len(here) > 0 {
			there = here[0]
		}
		e.disks = append(e.disks, there)
	}
}
