package localvolume

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// Tree implements system.Mapper. Downwards it goes from the claim over its PersistentVolume to
// the Volume, the logical volume, the group that it is in, the disks and their node; a disk, a
// group, and a node show what is on them, up to the claims, and a template what was rendered
// for it.
func (System) Tree(facts *inventory.Facts, disks *disk.Ledger, root krm.ID) []*health.Tree {
	f := &forest{facts: facts, ledger: disks}
	switch {
	case root == (krm.ID{}):
		return f.everything()
	case root.GroupKind() == disk.Kind():
		return system.TreeOf(f.diskUp(disks.At(root.Namespace, root.Name)))
	case root.GroupKind() == templateGroupKind():
		return system.TreeOf(f.template(root))
	}
	o := facts.Object(root)
	if o == nil {
		return nil
	}
	switch root.GroupKind() {
	case volumeGroupKind():
		return system.TreeOf(f.volumeUp(o))
	case groupGroupKind():
		return system.TreeOf(f.groupUp(o))
	case krm.GroupKind{Kind: pvKind}:
		return system.TreeOf(f.persistent(o))
	case krm.GroupKind{Kind: claimKind}:
		return system.TreeOf(f.claim(o))
	case krm.GroupKind{Kind: nodeKind}:
		return system.TreeOf(f.nodeUp(o))
	case inventory.DeviceKind():
		return system.TreeOf(f.diskUp(disks.Device(o.Namespace, o.Name)))
	}
	return nil
}

type forest struct {
	facts  *inventory.Facts
	ledger *disk.Ledger
}

// everything is every Volume under what has it, and the groups in which none is.
func (f *forest) everything() []*health.Tree {
	var trees []*health.Tree
	used := map[string]bool{}
	for _, o := range f.facts.Objects(group, volumeKind) {
		v := readVolume(o)
		if g := f.groupOf(&v); g != nil {
			used[g.Name] = true
		}
		trees = append(trees, f.top(o))
	}
	for _, o := range f.facts.Objects(group, groupKind) {
		if !used[o.Name] {
			trees = append(trees, f.group(o))
		}
	}
	return trees
}

// top is a Volume below its PersistentVolume, and that below its claim, as far as there are
// any.
func (f *forest) top(o *krm.Object) *health.Tree {
	pv := persistentOf(f.facts, o.Name).object
	if pv == nil {
		return f.volume(o)
	}
	ref := pv.Node.Get("spec", "claimRef")
	if claim := f.facts.Object(krm.ID{Kind: claimKind, Namespace: ref.Str("namespace"), Name: ref.Str("name")}); claim != nil {
		if t := f.claim(claim); t != nil {
			return t
		}
	}
	return f.persistent(pv)
}

// claim is a claim with the PersistentVolume of a Volume; nil for one of another system.
func (f *forest) claim(o *krm.Object) *health.Tree {
	pv := f.facts.Object(krm.ID{Kind: pvKind, Name: o.Node.Str("spec", "volumeName")})
	if pv == nil {
		return nil
	}
	below := f.persistent(pv)
	if below == nil {
		return nil
	}
	t := claimAlone(o)
	t.Children = []*health.Tree{below}
	return t
}

func claimAlone(o *krm.Object) *health.Tree {
	t := &health.Tree{Object: o.Ref, Phase: health.Error, State: o.Node.Str("status", "phase")}
	switch t.State {
	case "Bound":
		t.Phase = health.OK
	case "Pending", "":
		t.Phase = health.Progressing
	}
	return t
}

// persistent is a PersistentVolume with its Volume; nil for one of another system.
func (f *forest) persistent(o *krm.Object) *health.Tree {
	live := f.facts.Object(volumeID(o.Name))
	if live == nil {
		return nil
	}
	t := f.persistentAlone(o)
	t.Children = []*health.Tree{f.volume(live)}
	return t
}

func (f *forest) persistentAlone(o *krm.Object) *health.Tree {
	phase := o.Node.Str("status", "phase")
	t := &health.Tree{Object: o.Ref, Phase: health.OK, State: phase}
	if phase == "Failed" || phase == "Lost" {
		t.Phase = health.Error
	}
	return t
}

// persistentUp is a PersistentVolume with the claim that has it.
func (f *forest) persistentUp(o *krm.Object) *health.Tree {
	t := f.persistentAlone(o)
	ref := o.Node.Get("spec", "claimRef")
	if ref.Str("name") == "" {
		return t
	}
	if claim := f.facts.Object(krm.ID{Kind: claimKind, Namespace: ref.Str("namespace"), Name: ref.Str("name")}); claim != nil {
		t.Children = append(t.Children, claimAlone(claim))
	} else {
		t.Note = "of claim " + ref.Str("namespace") + "/" + ref.Str("name")
	}
	return t
}

// volume is a Volume with what it is on.
func (f *forest) volume(o *krm.Object) *health.Tree {
	v := readVolume(o)
	t := f.volumeAlone(o)
	switch of := v.source.device(); {
	case v.source.kind == lvm:
		t.Children = append(t.Children, f.logical(&v))
	case !of.empty():
		t.Children = append(t.Children, f.diskOf(&v))
	default:
		t.Children = append(t.Children, f.node(v.node))
	}
	return t
}

func (f *forest) volumeAlone(o *krm.Object) *health.Tree {
	v := readVolume(o)
	s := stateOf(f.facts, o)
	notes := []string{v.source.kind, v.source.size.text}
	if v.mode == block {
		notes = append(notes, block)
	}
	if s.phase != health.OK {
		notes = append(notes, s.reason, s.message)
	}
	return &health.Tree{Object: o.Ref, Phase: s.phase, State: s.word, Note: joinNotes(notes...)}
}

func joinNotes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(note string) bool { return note == "" }), ", ")
}

// volumeUp is a Volume with what it is on, and what has it.
func (f *forest) volumeUp(o *krm.Object) *health.Tree {
	t := f.volume(o)
	if pv := persistentOf(f.facts, o.Name).object; pv != nil {
		t.Children = append(t.Children, f.persistentUp(pv))
	}
	for _, g := range groupsOf(f.facts) {
		if g.volume == o.Name {
			t.Children = append(t.Children, f.groupAlone(g.object))
		}
	}
	return t
}

// logical is the logical volume of a Volume, in its group.
func (f *forest) logical(v *volume) *health.Tree {
	t := f.logicalAlone(v)
	if o := f.groupOf(v); o != nil {
		t.Children = append(t.Children, f.group(o))
	} else {
		t.Children = append(t.Children, f.reportedGroup(v.node, v.source.vg))
	}
	return t
}

func (f *forest) logicalAlone(v *volume) *health.Tree {
	t := &health.Tree{Object: logicalRef(v.source.vg, logicalName(v.name))}
	for _, reported := range reportsOf(f.facts)[v.node].named(v.source.vg) {
		for _, lv := range reported.volumes {
			if lv.isOf(v.name) {
				t.Phase, t.Note = health.OK, quantity.Size(lv.size)
			}
		}
		if reported.tells && t.Phase == "" {
			t.Phase, t.State = health.Progressing, health.Missing
		}
	}
	return t
}

func logicalRef(vg, name string) finding.Ref {
	return finding.Ref{Kind: "LogicalVolume", Name: vg + "/" + name}
}

// isOf reports whether a logical volume is that of a Volume.
func (lv *logicalVolume) isOf(volume string) bool {
	return lv.owner == ownerOf(volumeKind, volume) || lv.owner == "" && lv.name == logicalName(volume)
}

// inGroup are the logical volumes of a group with the Volumes of which they are, and those of
// others.
func (f *forest) inGroup(o *krm.Object) []*health.Tree {
	g := readGroup(o)
	var trees []*health.Tree
	var ours []string
	for _, live := range f.facts.Objects(group, volumeKind) {
		if v := readVolume(live); f.groupOf(&v) == o {
			t := f.logicalAlone(&v)
			t.Children = append(t.Children, f.users(live))
			trees = append(trees, t)
			ours = append(ours, v.name)
		}
	}
	for _, reported := range reportsOf(f.facts)[g.node].named(g.vg) {
		for _, lv := range reported.volumes {
			if slices.ContainsFunc(ours, lv.isOf) {
				continue
			}
			note := "of others"
			if lv.owner != "" {
				note = "of " + lv.owner
			}
			trees = append(trees, &health.Tree{Object: logicalRef(g.vg, lv.name), Phase: health.OK, Note: joinNotes(quantity.Size(lv.size), note)})
		}
	}
	return trees
}

// groupOf finds the VolumeGroup that a Volume is in; nil for none.
func (f *forest) groupOf(v *volume) *krm.Object {
	if v.source.kind != lvm {
		return nil
	}
	for _, g := range groupsOf(f.facts) {
		if g.node == v.node && g.vg == v.source.vg {
			return g.object
		}
	}
	return nil
}

// reportedGroup is a group that only its node has.
func (f *forest) reportedGroup(node, vg string) *health.Tree {
	ref := finding.Ref{Kind: reportedGroupKind, Name: vg}
	named := reportsOf(f.facts)[node].named(vg)
	if len(named) == 0 {
		t := health.Absent(ref, "nobody reports it")
		t.Children = []*health.Tree{f.node(node)}
		return t
	}
	t := &health.Tree{Object: ref, Phase: health.OK, Note: roomOf(named[0].size, named[0].free)}
	for _, path := range named[0].devices {
		t.Children = append(t.Children, f.disk(node, device{path: path}))
	}
	return t
}

func roomOf(size, free int64) string {
	if size <= 0 {
		return ""
	}
	return quantity.Size(free) + " free of " + quantity.Size(size)
}

// group is a VolumeGroup with its disks.
func (f *forest) group(o *krm.Object) *health.Tree {
	g := readGroup(o)
	t := f.groupAlone(o)
	for _, d := range g.disks {
		t.Children = append(t.Children, f.disk(g.node, d))
	}
	if live := f.facts.Object(volumeID(g.volume)); g.kind == volumeRef && live != nil {
		t.Children = append(t.Children, f.volume(live))
	}
	if len(t.Children) == 0 {
		t.Children = append(t.Children, f.node(g.node))
	}
	return t
}

func (f *forest) groupAlone(o *krm.Object) *health.Tree {
	g := readGroup(o)
	s := stateOf(f.facts, o)
	size, _ := o.Node.Get("status", "size").Int()
	free, _ := o.Node.Get("status", "free").Int()
	for _, reported := range reportsOf(f.facts)[g.node].named(g.vg) {
		size, free = reported.size, reported.free
	}
	notes := []string{"group " + g.vg, roomOf(size, free)}
	if s.phase != health.OK {
		notes = append(notes, s.reason, s.message)
	}
	return &health.Tree{Object: o.Ref, Phase: s.phase, State: s.word, Note: joinNotes(notes...), Place: health.Place{Role: health.Pool, Node: g.node, Used: max(0, size-free), Total: size}}
}

// groupUp is a VolumeGroup with its disks, and what is in it with what has that.
func (f *forest) groupUp(o *krm.Object) *health.Tree {
	t := f.group(o)
	t.Children = append(t.Children, f.inGroup(o)...)
	return t
}

// users are a Volume and what has it: a PersistentVolume and its claim, or the group that
// takes its device.
func (f *forest) users(o *krm.Object) *health.Tree {
	t := f.volumeAlone(o)
	if pv := persistentOf(f.facts, o.Name).object; pv != nil {
		t.Children = append(t.Children, f.persistentUp(pv))
	}
	for _, g := range groupsOf(f.facts) {
		if g.volume == o.Name {
			t.Children = append(t.Children, f.groupUsers(g.object))
		}
	}
	return t
}

// groupUsers are a VolumeGroup and what is in it.
func (f *forest) groupUsers(o *krm.Object) *health.Tree {
	t := f.groupAlone(o)
	t.Children = f.inGroup(o)
	return t
}

// nodeUp is a node with the groups and Volumes on it; nil for none.
func (f *forest) nodeUp(o *krm.Object) *health.Tree {
	t := f.node(o.Name)
	for _, g := range groupsOf(f.facts) {
		if g.node == o.Name && g.kind != volumeRef { // that is above its Volume
			t.Children = append(t.Children, f.groupUsers(g.object))
		}
	}
	for _, live := range f.facts.Objects(group, volumeKind) {
		if v := readVolume(live); v.node == o.Name && f.groupOf(&v) == nil {
			t.Children = append(t.Children, f.users(live))
		}
	}
	if len(t.Children) == 0 {
		return nil
	}
	return t
}

// template is a VolumeTemplate with what was rendered for it and lives, each with what it is on
// and what has it; nil for none.
func (f *forest) template(root krm.ID) *health.Tree {
	t := &health.Tree{Object: finding.Ref{APIVersion: ownGroup + "/" + ownVersion, Kind: templateKind, Name: root.Name}}
	isOurs := func(o *krm.Object) bool {
		owner, _ := krm.ParseOwner(o.Owner())
		return owner == root
	}
	for _, o := range f.facts.Objects(class.Kind().Group, class.Kind().Kind) {
		if isOurs(o) {
			t.Children = append(t.Children, &health.Tree{Object: o.Ref, Phase: health.OK, Note: o.Node.Str("provisioner")})
		}
	}
	for _, o := range f.facts.Objects(group, volumeKind) {
		if isOurs(o) {
			t.Children = append(t.Children, f.volumeUp(o))
		}
	}
	for _, o := range f.facts.Objects(group, groupKind) {
		if isOurs(o) {
			t.Children = append(t.Children, f.groupUp(o))
		}
	}
	if len(t.Children) == 0 {
		return nil
	}
	t.Phase = health.OK
	for _, child := range t.Children {
		if child.Phase.WorseThan(t.Phase) {
			t.Phase = child.Phase
		}
	}
	return t
}

// diskUp is a disk with its node, and what is on it. One that is reported as an object is
// nothing of ours where nothing of ours is on it; nil then.
func (f *forest) diskUp(there *disk.Disk) *health.Tree {
	if there == nil || there.Missing() {
		return nil
	}
	t := &health.Tree{Place: health.Place{Role: health.Disk, Node: f.ledger.NodeOf(there)}}
	f.describe(t, there)
	for _, g := range groupsOf(f.facts) {
		if slices.ContainsFunc(g.disks, func(d device) bool { return slices.Contains(f.ledger.Named(d.hold(g.node, "")), there) }) {
			t.Children = append(t.Children, f.groupUsers(g.object))
		}
	}
	for _, o := range f.facts.Objects(group, volumeKind) {
		if v := readVolume(o); f.isOn(&v, there) {
			t.Children = append(t.Children, f.users(o))
		}
	}
	if t.Unused = len(t.Children) == 0; t.Unused && there.Device != nil {
		return nil
	}
	if !t.Unused {
		t.Children = append(t.Children, f.node(f.ledger.NodeOf(there)))
	}
	return t
}

// describe says of a disk in a tree what it is.
func (f *forest) describe(t *health.Tree, there *disk.Disk) {
	t.Object, t.Phase, t.Note = there.Ref(), health.OK, quantity.Size(there.Size())
	if there.Device != nil {
		t.State = there.Device.State
		return
	}
	t.Note = joinNotes(t.Note, there.Identity.String())
}

// disk is a disk with its node.
func (f *forest) disk(node string, of device) *health.Tree {
	t := &health.Tree{
		Object: finding.Ref{Kind: "Disk", Namespace: node, Name: of.String()}, Place: health.Place{Role: health.Disk, Node: node},
		Children: []*health.Tree{f.node(node)},
	}
	for _, there := range f.ledger.Named(of.hold(node, "")) {
		if there.Missing() || f.ledger.NodeOf(there) != node {
			continue
		}
		f.describe(t, there)
		return t
	}
	if reportsOf(f.facts)[node] != nil {
		t.Phase, t.State = health.Error, health.Missing
	}
	return t
}

func (f *forest) node(name string) *health.Tree {
	return system.NodeTree(f.facts, name, "a Volume or a VolumeGroup")
}
