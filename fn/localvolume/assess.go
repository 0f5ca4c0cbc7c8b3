package localvolume

import (
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/quantity"
)

// Assess implements system.Assessor: the lock of a person's object changes with the object,
// and so stands for it; what a template renders is compared itself.
func (System) Assess(facts *inventory.Facts, ledger *disk.Ledger, c *change.Change) {
	read := readLock
	switch c.Ref.GroupKind() {
	case lockGroupKind():
	case volumeGroupKind(), groupGroupKind(): // of a template, and its own lock
		read = lockOfObject
	case class.Kind():
		class.Assess(facts, c)
		return
	default:
		return
	}
	switch c.Action {
	case change.Create:
		l := read(c.New)
		risk, text := l.assessNew(facts, ledger)
		c.Judge(risk, "", text)
	case change.Remove:
		l := read(c.Old)
		risk, text := l.assessRemoval(facts)
		c.Judge(risk, "", text)
	default:
		is, was := read(c.New), read(c.Old)
		is.assessEdit(&was, ledger, c)
	}
}

// called names the object of a lock.
func (l *lock) called() string {
	if l.group != nil {
		return groupKind + " " + l.group.name
	}
	return volumeKind + " " + l.volume.name
}

// assessNew judges an object that is new: what it is on may have to be known to be empty.
func (l *lock) assessNew(facts *inventory.Facts, ledger *disk.Ledger) (change.Risk, string) {
	node := ""
	if l.group != nil {
		node = l.group.node
	} else {
		node = l.volume.node
	}
	if l.volume != nil && l.volume.source.kind == raid {
		return change.Destructive, l.called() + " makes a volume of the drive, and nobody knows what is on it"
	}
	for _, d := range l.disks {
		if doubt := newUse(ledger, node, d); doubt != "" {
			return change.Destructive, fmt.Sprintf("%s takes disk %s of node %s, and %s", l.called(), d.identity(node), node, doubt)
		}
	}
	if l.volume != nil && l.volume.source.kind == lvm {
		v := l.volume
		for _, reported := range reportsOf(facts)[v.node].named(v.source.vg) {
			if reported.free < roundUp(v.source.size.bytes, reported.extent) {
				return change.Destructive, fmt.Sprintf("%s wants %s of group %s on node %s, which has %s free", l.called(), v.source.size.text, v.source.vg, v.node, quantity.Size(reported.free))
			}
		}
		return change.Safe, fmt.Sprintf("%s is made in group %s of node %s", l.called(), v.source.vg, v.node)
	}
	if len(l.disks) > 0 {
		return change.Safe, l.called() + " takes what is known to be empty"
	}
	return change.Safe, l.called() + " takes no disk"
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
func (l *lock) assessRemoval(facts *inventory.Facts) (change.Risk, string) {
	switch {
	case l.group != nil && l.group.cascade:
		return change.Destructive, l.called() + " goes, and before it the Volumes in it that no claim has"
	case l.group != nil:
		return change.Destructive, l.called() + " goes, with its LVM group"
	case reclaimPolicy(facts, nil, l.volume) == "Delete":
		return change.Destructive, l.called() + " goes, and what is on it is destroyed: its reclaim policy is Delete"
	case reclaimPolicy(facts, nil, l.volume) == "":
		return change.Destructive, l.called() + " goes, and what becomes of its data is not known: its class is not among the facts"
	}
	return change.Disruptive, l.called() + " goes; its data stays on the node, as its reclaim policy says"
}

// assessEdit judges what changes of an object that stays.
func (l *lock) assessEdit(was *lock, ledger *disk.Ledger, c *change.Change) {
	if l.group != nil && was.group != nil {
		for _, d := range l.disks {
			isNew := true
			for _, before := range was.disks {
				isNew = isNew && !d.shares(before)
			}
			if doubt := newUse(ledger, l.group.node, d); isNew && doubt != "" {
				c.Judge(change.Destructive, "", fmt.Sprintf("%s takes disk %s of node %s, and %s", l.called(), d.identity(l.group.node), l.group.node, doubt))
			}
		}
	}
	for i := range c.Fields {
		switch f := &c.Fields[i]; {
		case strings.HasSuffix(f.Shape, ".size") && !f.Under("spec.disks") && !f.Under("spec."+devices):
			c.Judge(change.Safe, f.Path, l.called()+" grows")
		case f.Under("spec.disks"), f.Under("spec.volume"), f.Under("spec.group"), f.Under("spec." + devices):
			c.Judge(change.Safe, f.Path, "the same disks, or empty ones beside them: others are refused")
		case f.Under("spec.template"), f.Under("spec.cascade"), f.Under("spec.reclaimPolicy"), f.Under("spec.tags"):
			c.Judge(change.Safe, f.Path, "changes no data")
		}
	}
}
