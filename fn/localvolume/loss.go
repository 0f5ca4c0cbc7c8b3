package localvolume

import (
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/schema/finding"
)

// lossSystem is what a table of losses calls the system.
const lossSystem = "local"

// Storage implements system.Survivor: the VolumeGroups, and the Volumes.
func (System) Storage(facts *inventory.Facts, disks *disk.Ledger) resilience.Storage {
	f := &forest{facts: facts, ledger: disks}
	s := resilience.Storage{VolumeKind: krm.GroupKind{Group: group, Kind: volumeKind}}
	for _, o := range facts.Objects(group, groupKind) {
		g := readGroup(o)
		on := f.disksOfGroup(&g)
		s.Pools = append(s.Pools, newLoss(f, o, g.node, on, o.ID()).item(max(1, len(on))))
	}
	for _, o := range facts.Objects(group, volumeKind) {
		v := readVolume(o)
		on, named := f.disksOfVolume(&v), []krm.ID(nil)
		if g := f.groupOf(&v); g != nil {
			named = []krm.ID{g.ID()}
		}
		s.Volumes = append(s.Volumes, newLoss(f, o, v.node, on, named...).item(1))
		s.Covered = append(s.Covered, o.Name) // its PersistentVolume has its name
	}
	return s
}

// disksOfVolume lists the reported disks that a Volume is on; none of one in a file.
func (f *forest) disksOfVolume(v *volume) []*disk.Disk {
	if v.source.kind != lvm {
		of := v.source.device()
		if d := f.drive(v); d != nil && d.path != "" {
			of = device{path: d.path}
		}
		return f.reported(v.node, of)
	}
	if o := f.groupOf(v); o != nil {
		g := readGroup(o)
		return f.disksOfGroup(&g)
	}
	var on []*disk.Disk
	for _, g := range reportsOf(f.facts)[v.node].named(v.source.vg) {
		for _, path := range g.devices {
			on = append(on, f.reported(v.node, device{path: path})...)
		}
	}
	return on
}

// disksOfGroup lists the reported disks of a VolumeGroup: its own, or those of the Volume that it is on.
func (f *forest) disksOfGroup(g *volumeGroup) []*disk.Disk {
	var on []*disk.Disk
	for _, d := range g.disks {
		on = append(on, f.reported(g.node, d)...)
	}
	if live := f.facts.Object(volumeID(g.volume)); g.kind == volumeRef && live != nil {
		if v := readVolume(live); v.source.kind != lvm { // a group in a group is refused
			on = append(on, f.disksOfVolume(&v)...)
		}
	}
	return on
}

// reported lists the disks that a node reports under a description.
func (f *forest) reported(node string, of device) []*disk.Disk {
	if of.empty() {
		return nil
	}
	here, _ := host{node, f.facts, f.ledger}.resolve(of)
	return here
}

// loss is what a Volume or a VolumeGroup can lose: a Volume fares as its node, and each disk of a group has a part of every
// logical volume.
//
// Source: docs/local-volumes.md of this repository (logical volumes are linear), and LVM2, lvmtypes(7), 2.03.
type loss struct {
	object *krm.Object
	node   string
	disks  []*disk.Disk
	named  []krm.ID // pools that changes name
	serves bool     // by its own status
	rule   *resilience.Rule
}

func newLoss(f *forest, o *krm.Object, node string, disks []*disk.Disk, named ...krm.ID) *loss {
	failed := readyOf(o).status == "False" && wasMade(f.facts, o)
	l := &loss{object: o, node: node, disks: disks, named: named, serves: !failed}
	l.rule = &resilience.Rule{Nodes: []string{node}, Disks: disks, Pools: named, Judge: l.judge}
	return l
}

// judge is the state of the Volume or the VolumeGroup.
func (l *loss) judge(at *resilience.Situation) resilience.Verdict {
	condition := at.Node(l.node)
	for _, id := range l.named {
		condition = max(condition, at.Pool(id))
	}
	lost := 0
	for _, d := range l.disks {
		if at.IsLost(d) {
			lost++
		}
	}
	v := resilience.Verdict{State: resilience.Safe, Left: max(1, len(l.disks)) - lost}
	switch {
	case condition == resilience.Gone, lost > 0:
		v.State = resilience.Lost
	case condition == resilience.Stopped, !l.serves:
		v.State = resilience.Stops
	}
	if l.object.Kind == volumeKind {
		v.Left = 1
	}
	if condition == resilience.Gone || l.object.Kind == volumeKind && v.State != resilience.Safe {
		v.Left = 0
	}
	v.Worst = v.State
	return v
}

// item is the Volume, which has one copy, or the VolumeGroup, which needs all of its disks.
func (l *loss) item(copies int) resilience.Item {
	return resilience.Item{System: lossSystem, Object: l.object.Ref, Want: copies, Need: copies, Rule: l.rule, Advise: l.advise}
}

func (l *loss) advise(at *resilience.Situation, v resilience.Verdict) resilience.Advice {
	advice := resilience.Advice{Rebuild: resilience.Nothing()}
	switch {
	case v.State == resilience.Lost && l.object.Kind == volumeKind:
		advice.Remedy = "restore it from a backup into a new Volume"
	case v.State == resilience.Lost:
		advice.Remedy = "remove its Volumes and the group, and make both again on other disks"
	case at.Node(l.node) != resilience.Up:
		advice.Remedy = "bring back node " + l.node
	default:
		advice.Remedy = "see its condition Ready: poolwright tree " + finding.Ref{Kind: l.object.Kind, Name: l.object.Name}.String()
	}
	if slices.ContainsFunc(l.disks, at.IsLost) && v.State == resilience.Lost {
		advice.Remedy = "replace the disk, and " + advice.Remedy
	}
	return advice
}
