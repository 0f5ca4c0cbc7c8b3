package localvolume

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// edit is an object held against what it was: only sizes grow, groups get disks, and tags and
// templates change.
type edit struct{ *entry }

func (e edit) check() {
	e.checkLive()
	switch {
	case e.volume != nil && e.was.volume != nil:
		e.ofVolume(e.volume, e.was.volume)
	case e.group != nil && e.was.group != nil:
		e.ofGroup(e.group, e.was.group)
	}
}

// checkLive reports that the lock has other disks than the live object of the name. A path alone does not
// show that.
func (e edit) checkLive() {
	if e.was.lock == nil || e.was.live == nil {
		return
	}
	locked, live := e.was.named(), readDeclared(e.was.live).named()
	for _, is := range live {
		if is.identity("").Empty() || slices.ContainsFunc(locked, func(was device) bool { return e.isSame(is, was) }) {
			return
		}
	}
	if len(locked) > 0 && len(live) > 0 {
		e.Report(finding.Error, "other-disk", "", "was rendered on %s, and the live one of that name is on %s; one of them is of another cluster or was edited by hand: put what is rendered right, from the history of Git", locked[0], live[0])
	}
}

// never reports that a field has changed that cannot.
func (e edit) never(field, was, is string) {
	if was == is {
		return
	}
	e.Report(finding.Error, "immutable", field, "was %s, and can never be %s: the data would be left behind; set it back, or write another %s, move the data, and take this one out then",
		quoted(was), quoted(is), e.Object.Kind)
}

func quoted(text string) string {
	if text == "" {
		return "not set"
	}
	return text
}

// grows reports that a size has shrunk.
func (e edit) grows(field string, was, is amount) {
	if is.bytes < was.bytes {
		e.Report(finding.Error, "shrinks", field, "was %s, and can never be less, %s: a size only grows; set it back", was.text, is.text)
	}
}

func (e edit) ofVolume(v, was *volume) {
	e.never("spec.nodeName", was.node, v.node)
	e.never("spec.storageClassName", was.class, v.class)
	e.never("spec.mode", was.mode, v.mode)
	s, before := &v.source, &was.source
	if s.kind != before.kind {
		e.never("spec", before.kind, s.kind)
		return
	}
	field := "spec." + s.kind
	switch s.kind {
	case lvm:
		e.never(field+".vgName", before.vg, s.vg)
	case raw, partition:
		e.sameDisk(s.disk, before.disk)
	case raid:
		e.never(field+".controller", fmt.Sprint(before.drive.controller), fmt.Sprint(s.drive.controller))
		e.never(field+".level", before.drive.level, s.drive.level)
		e.sameDisk(s.drive.device, before.drive.device)
	}
	if s.kind != raw && s.kind != raid {
		e.grows(field+".size", before.size, s.size)
	}
	e.checkTemplate(v, was)
}

// sameDisk reports that another disk is named than before. The same one in other words is no
// change, if the facts or the lock say that it is the same.
func (e edit) sameDisk(is, was device) {
	if e.isSame(is, was) {
		return
	}
	e.disk(is).report(finding.Error, "immutable", "is another disk than %s, by what the lock and the inventory show: the data would be left behind; revert it, or write another %s, move the data, and then remove this one",
		e.calledBefore(was), e.Object.Kind)
}

// calledBefore is how a disk was named, with what the lock knows of it.
func (e edit) calledBefore(was device) string {
	if known, found := e.was.known(was); found {
		if name := known.identity(e.node()).String(); name != was.String() && name != "" {
			return was.String() + " (" + name + ")"
		}
	}
	return was.String()
}

// isSame reports whether two descriptions are known to be of one disk.
func (e edit) isSame(is, was device) bool {
	if is.sameWords(was) {
		return true
	}
	_, part := disk.Partition(is.path)
	if _, before := disk.Partition(was.path); part != before {
		return false // another part of the disk
	}
	known := []device{was}
	if locked, found := e.was.known(was); found {
		known = append(known, locked)
	}
	now := is
	now.links = append(now.links, now.identity("").Links...)
	if now.wwn == "" {
		now.wwn = now.identity("").WWN
	}
	for _, one := range known {
		if one.wwn != "" && now.wwn != "" && one.wwn != now.wwn || one.serial != "" && now.serial != "" && one.serial != now.serial {
			continue
		}
		here, _ := e.host().resolve(is)
		if one.kernelName() && !is.kernelName() && !slices.ContainsFunc(known, device.lasts) && e.isBehind(here, one) {
			return true
		}
		one.path = "" // a kernel name may be that of another one now
		if now.shares(one) {
			return true
		}
		if len(here) > 0 {
			if before, _ := e.host().resolve(one); slices.ContainsFunc(before, func(d *disk.Disk) bool { return slices.Contains(here, d) }) {
				return true
			}
		}
	}
	return false
}

// checkTemplate warns of settings of a PersistentVolume that is there already.
func (e edit) checkTemplate(v, was *volume) {
	is, before := v.template.Get("spec"), was.template.Get("spec")
	if document.Equal(present(is), present(before)) || persistentOf(e.Facts, v.name).object == nil {
		return
	}
	e.Report(finding.Warning, "template-changed", "spec.template", "its spec is other than it was, and PersistentVolume %s is there: the API server takes few changes of one; labels and annotations are followed", v.name)
}

// present is a map, or an empty one in the place of none.
func present(n *document.Node) *document.Node {
	if n == nil {
		empty := document.Object()
		return &empty
	}
	return n
}

func (e edit) ofGroup(g, was *volumeGroup) {
	e.never("spec.nodeName", was.node, g.node)
	e.never("spec.name", was.vg, g.vg)
	if was.extent.bytes != g.extent.bytes {
		e.never("spec.physicalExtentSize", was.extent.text, g.extent.text)
	}
	if g.kind != was.kind {
		e.never("spec", was.kind, g.kind)
		return
	}
	switch g.kind {
	case sparseGroup:
		e.grows("spec.sparse.size", was.size, g.size)
	case volumeRef:
		e.never("spec.volumeRef.name", was.volume, g.volume)
	case devices:
		for _, before := range was.disks {
			if !slices.ContainsFunc(g.disks, func(is device) bool { return e.isSame(is, before) }) {
				e.Report(finding.Error, "disk-taken-out", "spec.devices", "%s was taken out; a group gets disks, and gives none back: put it in again", e.calledBefore(before))
			}
		}
	}
}
