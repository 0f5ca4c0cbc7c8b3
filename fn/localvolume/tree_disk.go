package localvolume

import (
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

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
