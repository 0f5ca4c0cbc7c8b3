package localvolume

import (
	"slices"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// inGroup are the logical volumes of a group with the Volumes of which they are, and those of
// others.
func (f *forest) inGroup(o *krm.Object) []*health.Tree {
	g := readGroup(o)
	var trees []*health.Tree
	var ours []string
	for _, v := range livingOf(f.facts).inside[site{g.node, g.vg}] {
		if f.groupOf(&v) == o {
			t := f.logicalAlone(&v)
			t.Children = append(t.Children, f.users(v.object))
			trees = append(trees, t)
			ours = append(ours, v.name)
		}
	}
	for _, reported := range reportsOf(f.facts)[g.node].named(g.vg) {
		for _, lv := range reported.volumes {
			if slices.ContainsFunc(ours, lv.isOf) {
				continue
			}
			note := "unmanaged"
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
	if g := livingOf(f.facts).group[site{v.node, v.source.vg}]; g != nil {
		return g.object
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

// groupUsers are a VolumeGroup and what is in it.
func (f *forest) groupUsers(o *krm.Object) *health.Tree {
	t := f.groupAlone(o)
	t.Children = f.inGroup(o)
	return t
}
