package localvolume

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

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
	return f.withUsers(f.volume(o), o.Name, f.groupAlone)
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

// users are a Volume and what has it.
func (f *forest) users(o *krm.Object) *health.Tree {
	return f.withUsers(f.volumeAlone(o), o.Name, f.groupUsers)
}

// withUsers adds what has a Volume: a PersistentVolume and its claim, or the groups that take
// its device.
func (f *forest) withUsers(t *health.Tree, name string, group func(*krm.Object) *health.Tree) *health.Tree {
	if pv := persistentOf(f.facts, name).object; pv != nil {
		t.Children = append(t.Children, f.persistentUp(pv))
	}
	for _, g := range groupsOf(f.facts) {
		if g.volume == name {
			t.Children = append(t.Children, group(g.object))
		}
	}
	return t
}
