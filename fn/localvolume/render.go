package localvolume

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
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
		edit{e}.check()
		if e.group != nil {
			e.checkGroup()
		} else {
			e.checkCache()
			e.checkClass()
			e.checkWipe()
			e.checkMetadata()
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
		switch {
		case len(t.items) == 0:
			t.checkSpecimen()
		case !t.Failed():
			t.collect()
		}
	}
}
