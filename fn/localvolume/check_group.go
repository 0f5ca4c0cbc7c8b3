package localvolume

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// checkGroup holds a VolumeGroup against other groups, and against the Volume whose device
// it takes.
func (e *entry) checkGroup() {
	g := e.group
	for _, o := range e.all.sorted {
		if o == e {
			break
		}
		if o.group != nil && o.group.node == g.node && o.group.vg == g.vg {
			e.Report(finding.Error, "group-twice", "spec.name", "node %s gets a group %s from VolumeGroup %s already; write another name", g.node, g.vg, o.group.name)
		}
	}
	for _, lives := range groupsOf(e.Facts) {
		if lives.name != g.name && lives.node == g.node && lives.vg == g.vg {
			e.Report(finding.Error, "group-twice", "spec.name", "node %s has a group %s of the live VolumeGroup %s already; write another name", g.node, g.vg, lives.name)
		}
	}
	for _, reported := range e.host().report().named(g.vg) {
		if reported.owner == ownerOf(groupKind, g.name) || reported.owner == "" && wasMade(e.Facts, e.was.live) {
			continue
		}
		whose := "which is not ours"
		if reported.owner != "" {
			whose = "which is that of " + reported.owner
		}
		e.Report(finding.Error, "group-foreign", "spec.name", "node %s has a volume group %s already, %s; Volumes can be in it without a VolumeGroup: remove this one, or write another name", g.node, g.vg, whose)
	}
	if g.kind == volumeRef {
		e.checkVolumeRef()
	}
	if !e.was.exists() {
		e.checkExtents()
	}
}

// checkExtents refuses a new group on something that does not hold a single extent: LVM makes none.
func (e *entry) checkExtents() {
	const small = "is too small for one extent of %s beside the MiB that LVM keeps; lower spec.physicalExtentSize, or take something larger"
	for i, there := range e.disks {
		if there != nil && there.Size() > 0 && roundDown(there.Size()-mebi, e.group.extent.bytes) == 0 {
			e.disk(e.group.disks[i]).report(finding.Error, "extent-size", small, e.group.extent.text)
		}
	}
	if e.group.kind == devices {
		return
	}
	if holds, known := e.all.capacity(e); known && holds == 0 {
		e.Report(finding.Error, "extent-size", "spec."+e.group.kind, small, e.group.extent.text)
	}
}

// checkVolumeRef looks at the Volume whose device a group takes: LVM goes on the bare device,
// so that no pod may ever have it.
func (e *entry) checkVolumeRef() {
	const field = "spec.volumeRef.name"
	name := e.group.volume
	v := e.all.volumeNamed(name)
	if v == nil {
		if e.MayMake(volumeKind, templateKind) {
			return
		}
		if e.Facts.Tells(group, volumeKind, "") || len(e.all.entries) > 1 {
			e.Report(finding.Error, "no-volume", field, "there is no Volume %s in the package, nor among the facts; write one of mode Block", name)
		} else {
			e.Report(finding.Warning, "no-volume", field, "Volume %s is not in the package, and the inventory does not contain Volumes; the Volume must exist and have mode Block", name)
		}
		return
	}
	switch {
	case v.mode != block:
		e.Report(finding.Error, "volume-mode", field, "Volume %s is of mode %s; a group takes a bare device: write mode: Block there", name, v.mode)
	case v.node != e.group.node:
		e.Report(finding.Error, "volume-elsewhere", field, "Volume %s is on node %s, and the group on %s; both have to be on one node", name, v.node, e.group.node)
	}
	const twice = "Volume %s is taken by %s already; a Volume is of one group"
	for _, o := range e.all.sorted {
		if o == e {
			break
		}
		if o.group != nil && o.group.volume == name {
			e.Report(finding.Error, "volume-twice", field, twice, name, o.Object.Ref)
		}
	}
	for _, lives := range groupsOf(e.Facts) {
		if lives.volume == name && lives.name != e.group.name && !e.all.has(lives.id()) {
			e.Report(finding.Error, "volume-twice", field, twice, name, "the live "+lives.object.Ref.String())
		}
	}
	if chain := e.stands(v); chain != nil {
		e.Report(finding.Error, "volume-inside", field, "Volume %s is in the group itself (%s); write one on a disk", name, strings.Join(chain, ", "))
	}
	pv := persistentOf(e.Facts, name)
	switch claim := boundTo(e.Facts, name); {
	case claim != "":
		e.Report(finding.Error, "volume-bound", field, "the PersistentVolume of Volume %s is bound to %s; a group takes a device that nobody has: write another Volume", name, claim)
	case pv.phase == "Available" || pv.object != nil && pv.phase == "":
		e.Report(finding.Error, "volume-available", field, "Volume %s has a PersistentVolume that any claim may get; delete the PersistentVolume first, or write another Volume", name)
	}
}

// has reports whether an object is of the package.
func (r *rendering) has(id krm.ID) bool {
	return slices.ContainsFunc(r.entries, func(e *entry) bool { return e.Object.ID() == id })
}

// stands follows the Volume whose device a group takes down to its disk, and names what is on the way if
// that is the group itself; else nil.
func (e *entry) stands(v *volume) []string {
	var chain []string
	for v != nil && v.source.kind == lvm && !slices.Contains(chain, "Volume "+v.name) {
		chain = append(chain, "Volume "+v.name)
		below := e.all.groupOf(site{v.node, v.source.vg})
		switch {
		case below == e:
			return chain
		case below == nil || below.group.kind != volumeRef:
			return nil
		}
		chain = append(chain, "VolumeGroup "+below.group.name)
		v = e.all.volumeNamed(below.group.volume)
	}
	return nil
}

// volumeNamed finds a Volume in the package, or else among the facts; nil for none.
func (r *rendering) volumeNamed(name string) *volume {
	for _, o := range r.entries {
		if o.volume != nil && o.volume.name == name {
			return o.volume
		}
	}
	if live := r.Facts.Object(volumeID(name)); live != nil {
		v := readVolume(live)
		return &v
	}
	return nil
}
