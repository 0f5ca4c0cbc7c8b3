package localvolume

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// Start implements system.Renderer.
func (System) Start(in system.Input, specs []*system.Spec) system.Rendering {
	r := &rendering{Input: in}
	for _, spec := range specs {
		if spec.Object.Kind == templateKind {
			t := newTemplate(r, in, spec)
			r.templates = append(r.templates, t)
			r.work = append(r.work, t)
			continue
		}
		e := newEntry(in, spec)
		e.all = r
		r.entries = append(r.entries, e)
		r.work = append(r.work, e)
	}
	return r
}

// rendering is the Volumes, VolumeGroups and VolumeTemplates of a package at work.
type rendering struct {
	system.Input
	work      []interface{ output() system.Output } // in the order of the specs
	entries   []*entry                              // those of a person, then those of templates
	templates []*template

	// Once all entries are there:
	sorted     []*entry                // by kind and name
	partitions map[*disk.Disk][]sharer // on each disk
}

// entry is one Volume or VolumeGroup, of a person or of a template: one of the two is set.
type entry struct {
	*system.Collector
	system.Input
	volume *volume
	group  *volumeGroup
	before *lock        // of the last render; nil for none
	live   *krm.Object  // nil for none
	disks  []*disk.Disk // that it names, a nil for one that is not found
	// What it was: as the lock has it, else as it lives. Of the kind of the object one is
	// set, if it was anything.
	wasVolume *volume
	wasGroup  *volumeGroup

	all      *rendering
	template *template // that renders it; nil for what a person wrote
}

func newEntry(in system.Input, spec *system.Spec) *entry {
	e := &entry{Collector: system.NewCollector(spec, 0), Input: in, before: lockOf(spec.Before), live: in.Facts.Object(spec.Object.ID())}
	if spec.Object.Kind == groupKind {
		g := readGroup(spec.Object)
		e.group = &g
		if e.live != nil {
			lives := readGroup(e.live)
			e.wasGroup = &lives
		}
	} else {
		v := readVolume(spec.Object)
		e.volume = &v
		if e.live != nil {
			lives := readVolume(e.live)
			e.wasVolume = &lives
		}
	}
	if e.before != nil {
		e.wasVolume, e.wasGroup = e.before.volume, e.before.group
	}
	return e
}

// node is the name of the node that the object is on.
func (e *entry) node() string {
	if e.group != nil {
		return e.group.node
	}
	return e.volume.node
}

// ownerKey is the owner of the object: itself, or the template that renders it.
func (e *entry) ownerKey() string {
	if e.template != nil {
		return e.template.owner
	}
	return e.Object.OwnerKey()
}

// Keep implements system.Rendering: templates keep what they rendered. The disks of a person's
// objects are named, and not chosen, so that the ledger has them already.
func (r *rendering) Keep() {
	for _, t := range r.templates {
		if !t.Failed() {
			t.keep()
		}
	}
}

// Choose implements system.Rendering: templates choose, and all of it is checked, what a
// person wrote and what is rendered.
func (r *rendering) Choose() []system.Output {
	for _, t := range r.templates {
		if !t.Failed() {
			t.choose()
		}
		for _, i := range t.items {
			t.enter(i)
			r.entries = append(r.entries, i.entry)
		}
	}
	r.check()
	outputs := make([]system.Output, len(r.work))
	for i, w := range r.work {
		outputs[i] = w.output()
	}
	return outputs
}

// check holds every object against the facts and the others.
func (r *rendering) check() {
	r.sorted = slices.SortedFunc(slices.Values(r.entries), func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.Object.Kind, b.Object.Kind), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	r.partitions = r.findPartitions()
	for _, e := range r.sorted {
		e.checkNode()
		e.checkDisks()
	}
	for _, e := range r.sorted {
		e.checkNames()
		e.checkChange()
		if e.group != nil {
			e.checkGroup()
		} else {
			e.checkClass()
			e.checkClaimRef()
		}
	}
	r.checkGroups()
	r.checkPartitions()
	for _, e := range r.entries {
		if e.template == nil {
			e.explainSource()
		}
	}
	for _, t := range r.templates {
		if !t.Failed() {
			t.collect()
		}
	}
}

// output is the lock.
func (e *entry) output() system.Output {
	now := lock{volume: e.volume, group: e.group}
	if v := e.volume; v != nil {
		if e.before != nil && e.before.volume != nil {
			v.reclaim = e.before.volume.reclaim // where nothing says it now
		}
		v.reclaim = reclaimPolicy(e.Facts, e.Manifests, v)
	}
	return e.Output([]gitops.Object{{File: "volumelock.yaml", Object: makeLock(now, e.disks, e.before)}}, nil)
}
