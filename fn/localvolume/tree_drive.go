package localvolume

import (
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
)

// diskOf is what a Volume is on: its disk, or the drive behind a RAID controller with the disk that
// the node has of it.
func (f *forest) diskOf(v *volume) *health.Tree {
	of := v.source.device()
	d := f.drive(v)
	if d == nil || slices.ContainsFunc(f.ledger.Named(of.hold(v.node, "")), func(there *disk.Disk) bool { return !there.Missing() }) {
		return f.disk(v.node, of)
	}
	t := &health.Tree{Object: d.ref(v.node), Phase: health.OK, Note: d.state}
	if d.state == "unusable" || d.state == "foreign" {
		t.Phase, t.Note = health.Error, joinNotes(d.state, d.reason)
	}
	if d.path != "" {
		t.Children = append(t.Children, f.disk(v.node, device{path: d.path}))
	} else {
		t.Children = append(t.Children, f.node(v.node))
	}
	return t
}

// isOn reports whether a Volume is on a disk.
func (f *forest) isOn(v *volume, there *disk.Disk) bool {
	of := v.source.device()
	if d := f.drive(v); d != nil && d.path != "" {
		of = device{path: d.path}
	}
	return !of.empty() && slices.Contains(f.ledger.Named(of.hold(v.node, "")), there)
}

// drive is the drive behind a RAID controller that a Volume names, as its node reports it; nil for none,
// and where several could be it.
func (f *forest) drive(v *volume) *reportedDrive {
	told := reportsOf(f.facts)[v.node]
	if told == nil || v.source.kind != raid {
		return nil
	}
	if found := drivesOf(told, v.source.device()); len(found) == 1 {
		return &found[0]
	}
	return nil
}
