package localvolume

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/quantity"
)

// Assess implements system.Assessor.
func (System) Assess(facts *inventory.Facts, ledger *disk.Ledger, c *change.Change) {
	switch c.Ref.GroupKind() {
	case lockGroupKind():
		assessLock(c)
	case class.Kind():
		class.Assess(facts, c)
	case volumeGroupKind(), groupGroupKind():
		assessObject(facts, ledger, c)
	}
}

// assessLock judges a lock, which does nothing: what it remembers is judged itself.
func assessLock(c *change.Change) {
	if c.Action == change.Remove {
		l := readLock(c.Old)
		c.Judge(change.Safe, "", "no longer remembers "+l.called())
		return
	}
	l := readLock(c.New)
	c.Judge(change.Safe, "", "remembers "+l.called())
}

// assessObject judges a Volume or a VolumeGroup.
func assessObject(facts *inventory.Facts, ledger *disk.Ledger, c *change.Change) {
	switch c.Action {
	case change.Create:
		l := lockOfObject(c.New)
		risk, text := l.assessNew(facts, ledger)
		c.Judge(risk, "", text)
	case change.Remove:
		l := lockOfObject(c.Old)
		risk, text := l.assessRemoval(facts)
		c.Judge(risk, "", text)
	default:
		is, was := lockOfObject(c.New), lockOfObject(c.Old)
		is.assessEdit(&was, ledger, c)
	}
}

// assessNew judges an object that is new: what it is on has to be known to be empty.
func (l *lock) assessNew(facts *inventory.Facts, ledger *disk.Ledger) (change.Risk, string) {
	v, node, disks := l.volume, l.node(), l.disks
	if l.group != nil && l.group.volume != "" {
		if live := facts.Object(volumeID(l.group.volume)); live != nil {
			below := lockOfObject(live)
			disks = below.disks
		}
	}
	switch {
	case v != nil && v.source.kind == raid:
		return change.Destructive, "makes a volume of the drive, and nobody knows what is on it"
	case v != nil && v.source.kind == lvm:
		return v.assessSlice(facts)
	}
	for _, d := range disks {
		if doubt := newUse(ledger, node, d); doubt != "" {
			return change.Destructive, fmt.Sprintf("takes disk %s of node %s, and %s", d.identity(node), node, doubt)
		}
	}
	switch {
	case len(l.disks) > 0:
		return change.Safe, "takes what is known to be empty"
	case l.group != nil && l.group.volume != "":
		return change.Safe, "takes the device of Volume " + l.group.volume
	}
	return change.Safe, "takes no disk"
}

// assessSlice judges a logical volume that is new: its group has to be known to have room.
func (v *volume) assessSlice(facts *inventory.Facts) (change.Risk, string) {
	report := reportsOf(facts)[v.node]
	for _, reported := range report.named(v.source.vg) {
		if reported.free < roundUp(v.source.size.bytes, reported.extent) {
			return change.Destructive, fmt.Sprintf("wants %s of group %s on node %s, which has %s free", v.source.size.text, v.source.vg, v.node, quantity.Size(reported.free))
		}
	}
	if report == nil {
		return change.Destructive, fmt.Sprintf("is made in group %s of node %s, and nobody reports what room that has", v.source.vg, v.node)
	}
	return change.Safe, fmt.Sprintf("is made in group %s of node %s", v.source.vg, v.node)
}

// newUse says why a disk is not known to be empty, or "".
func newUse(ledger *disk.Ledger, node string, d device) string {
	for _, there := range ledger.Named(d.hold(node, "")) {
		if !there.Missing() && ledger.NodeOf(there) == node {
			return there.NotEmpty()
		}
	}
	return (*disk.Disk)(nil).NotEmpty()
}

// assessRemoval judges an object that goes.
//
// Source: Kubernetes, Persistent Volumes (Reclaiming), 1.36.
func (l *lock) assessRemoval(facts *inventory.Facts) (change.Risk, string) {
	if l.group != nil {
		return change.Destructive, "goes, with its LVM group"
	}
	switch reclaimPolicy(facts, nil, l.volume) {
	case "Delete":
		return change.Destructive, "goes, and what is on it is destroyed: its reclaim policy is Delete"
	case "":
		return change.Destructive, "goes, and what becomes of its data is not known: its class is not among the facts"
	}
	return change.Disruptive, "goes; its data stays on the node, as its reclaim policy says"
}

// assessEdit judges what changes of an object that stays.
func (l *lock) assessEdit(was *lock, ledger *disk.Ledger, c *change.Change) {
	if l.group != nil && was.group != nil {
		l.assessNewDisks(was, ledger, c)
	}
	for i := range c.Fields {
		switch f := &c.Fields[i]; {
		case f.Under("spec." + devices):
			c.Judge(change.Safe, f.Path, "the same disks, or empty ones beside them: others are refused")
		case f.Under("spec." + raw), f.Under("spec." + partition + ".disk"), f.Under("spec." + partition + ".devicePath"), f.Under("spec." + raid + ".drive"):
			c.Judge(change.Safe, f.Path, "the same disk in other words: another one is refused")
		case strings.HasSuffix(f.Shape, ".size") && f.New != nil && f.Old != nil:
			l.assessSize(was, f, c)
		case f.Path == "spec.physicalExtentSize" && was.group != nil && l.group.extent.bytes == was.group.extent.bytes:
			c.Judge(change.Safe, f.Path, "the same size in other words")
		case f.Under("metadata.annotations["+annotationAdopt+"]") && f.New != nil:
			c.Judge(change.Disruptive, f.Path, "takes over the data with that UUID, which was another object's")
		case f.Under("spec.wipe"):
			c.Judge(change.Safe, f.Path, "changes no data; it says how its device is erased once it is deleted")
		case f.Under("spec.template"), f.Under("spec.tags"), f.Under("metadata.annotations"), f.Under("metadata.labels"):
			c.Judge(change.Safe, f.Path, "changes no data")
		case f.Under("spec"):
			c.Judge(change.Disruptive, f.Path, "can never change: the node agent goes on with what it was")
		}
	}
}

// assessSize judges a size, which only grows.
func (l *lock) assessSize(was *lock, f *change.Field, c *change.Change) {
	switch is, before := l.bytes(), was.bytes(); {
	case is < before:
		c.Judge(change.Disruptive, f.Path, "can never be less: the node agent goes on with what it was")
	case is > before:
		c.Judge(change.Safe, f.Path, "grows")
	default:
		c.Judge(change.Safe, f.Path, "the same size in other words")
	}
}

// assessNewDisks judges the disks that a group gets.
func (l *lock) assessNewDisks(was *lock, ledger *disk.Ledger, c *change.Change) {
	node := l.group.node
	for _, d := range l.disks {
		had := slices.ContainsFunc(was.disks, func(before device) bool {
			return d.shares(before) || slices.ContainsFunc(ledger.Named(d.hold(node, "")), func(there *disk.Disk) bool {
				return slices.Contains(ledger.Named(before.hold(node, "")), there)
			})
		})
		if doubt := newUse(ledger, node, d); !had && doubt != "" {
			c.Judge(change.Destructive, "", fmt.Sprintf("takes disk %s of node %s, and %s", d.identity(node), node, doubt))
		}
	}
}
