// Package toy is a storage system that exists for tests alone: whatever a system needs is
// in this folder, its declaration, its definitions and what it does. A Tank (namespaced)
// and a Reservoir (cluster-scoped, of another API group) ask for disks, and get a Basin on
// each.
package toy

import (
	"embed"
	"io/fs"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

//go:embed cue
var definitions embed.FS

// Definitions are what schema.Load takes.
func Definitions() fs.FS {
	cue, err := fs.Sub(definitions, "cue")
	if err != nil {
		panic(err) // the files are part of the program
	}
	return cue
}

const (
	group      = "toy.example"
	version    = "v1"
	waterGroup = "water.example"
)

func kind(name string) krm.GroupKind { return krm.GroupKind{Group: group, Kind: name} }

// System is the toy.
type System struct{}

// Declare implements system.System.
func (System) Declare() system.Declaration {
	return system.Declaration{
		Name: "toy",
		Kinds: []system.Kind{
			{GroupKind: kind("Tank"), Version: version, Role: system.RoleSpec, Whole: "Tank", Plural: "tanks", Health: true},
			{
				GroupKind: krm.GroupKind{Group: waterGroup, Kind: "Reservoir"}, Version: version, Role: system.RoleSpec, Whole: "Reservoir",
				Plural: "reservoirs", Cluster: true, Health: true,
			},
			{
				GroupKind: kind("Basin"), Version: version, Role: system.RoleRendered, Stateful: true, Holds: true,
				Plural: "basins", Names: []string{"bs"}, Cluster: true, Health: true, Keep: "spec status{phase}", Awaits: health.Awaits,
			},
			{GroupKind: kind("Level"), Version: version, Role: system.RoleLock, Plural: "levels", Cluster: true, Health: true},
			{GroupKind: kind("Sign"), Version: version, Role: system.RoleRendered, Plural: "signs", Cluster: true, Health: true, Awaits: health.Awaits},
			{GroupKind: kind("Gauge"), Version: version, Role: system.RoleFact, Plural: "gauges", Cluster: true, Keep: "status{reading}"},
		},
		Facts:   []krm.GroupKind{kind("Basin"), kind("Gauge")},
		Roots:   []krm.GroupKind{kind("Basin")},
		Domains: []string{group},
	}
}

// Holds implements system.Holder.
func (System) Holds(o *krm.Object) []disk.Hold {
	if o.GroupKind() != kind("Basin") {
		return nil
	}
	return []disk.Hold{{Device: device(o)}}
}

func device(o *krm.Object) inventory.Key {
	return inventory.Key{Namespace: o.Node.Str("spec", "device", "namespace"), Name: o.Node.Str("spec", "device", "name")}
}

// Assess implements system.Assessor.
func (System) Assess(_ *inventory.Facts, _ *disk.Ledger, c *change.Change) {
	switch {
	case c.Ref.Kind != "Basin":
		c.Judge(change.Safe, "", "holds no data")
	case c.Action == change.Create:
		c.Judge(change.Safe, "", "fills an empty disk")
	default:
		c.Judge(change.Destructive, "", "spills what is in it")
	}
}

// Status implements system.Reporter.
func (System) Status(facts *inventory.Facts, spec *system.Spec, out system.Output) health.Status {
	var r health.Report
	if finding.Failed(out.Findings) {
		r.Step("render").Add(health.Problem{Phase: health.Error, Reason: health.CannotRender, Message: health.FirstError(out.Findings)})
	}
	step := r.Step("basins")
	for _, o := range out.Objects {
		if o.Kind != "Basin" {
			continue
		}
		switch live := facts.Object(o.ID()); {
		case live == nil:
			step.Add(health.Problem{Phase: health.Progressing, Reason: health.NotApplied, Message: o.Name + " is not there yet"})
		case live.Node.Str("status", "phase") != "Full":
			step.Add(health.Problem{Phase: health.Error, Reason: "Leaking", Message: o.Name + " leaks"})
		}
	}
	reading := ""
	for _, gauge := range facts.Objects(group, "Gauge") {
		reading = ", at " + gauge.Node.Str("status", "reading")
	}
	return r.Status(spec.Object.Ref, "all basins are full"+reading)
}

// Tree implements system.Mapper.
func (System) Tree(facts *inventory.Facts, _ *disk.Ledger, root krm.ID) []*health.Tree {
	var trees []*health.Tree
	for _, o := range facts.Objects(group, "Basin") {
		if root != (krm.ID{}) && root != o.ID() {
			continue
		}
		d := device(o)
		on := health.Absent(finding.Ref{APIVersion: "openebs.io/v1alpha1", Kind: "BlockDevice", Namespace: d.Namespace, Name: d.Name}, "")
		if found := facts.Device(d.Namespace, d.Name); found != nil {
			on = &health.Tree{Object: found.Object.Ref, Phase: health.OK, State: found.State}
		}
		trees = append(trees, &health.Tree{Object: o.Ref, Phase: health.OK, State: o.Node.Str("status", "phase"), Children: []*health.Tree{on}})
	}
	return trees
}

// Storage implements system.Survivor: a basin is a pool of one disk, and a volume of one copy.
func (System) Storage(facts *inventory.Facts, disks *disk.Ledger) resilience.Storage {
	var s resilience.Storage
	for _, o := range facts.Objects(group, "Basin") {
		d := disks.Device(device(o).Namespace, device(o).Name)
		rule := &resilience.Rule{Nodes: []string{disks.NodeOf(d)}, Disks: []*disk.Disk{d}}
		rule.Judge = func(at *resilience.Situation) resilience.Verdict {
			v := resilience.Verdict{State: resilience.Safe, Worst: resilience.Safe, Left: 1}
			switch node := at.Node(disks.NodeOf(d)); {
			case node == resilience.Gone, at.IsLost(d):
				v = resilience.Verdict{State: resilience.Lost, Worst: resilience.Lost}
			case node == resilience.Stopped:
				v.State, v.Worst = resilience.Stops, resilience.Stops
			}
			return v
		}
		item := resilience.Item{System: "toy", Object: o.Ref, Want: 1, Need: 1, Rule: rule}
		item.Advise = func(*resilience.Situation, resilience.Verdict) resilience.Advice {
			return resilience.Advice{Remedy: "fill it again", Rebuild: resilience.Nothing()}
		}
		s.Volumes, s.Pools = append(s.Volumes, item), append(s.Pools, item)
	}
	return s
}
