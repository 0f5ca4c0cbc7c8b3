package fn

import (
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/schema/finding"
)

// Question is what may happen to a package and its cluster.
type Question struct {
	Package Package
	// Facts are others than those of the package, nil for these. Live says that they are all that a cluster has, but for the kinds that
	// are Unread.
	Facts  []*krm.Object
	Live   bool
	Unread []krm.GroupKind

	Changes      []resilience.Change
	Every        string // of what each loss is asked, see resilience.Kinds; "" for nothing
	Requirements []resilience.Requirement
}

// WhatIf is what comes of it.
type WhatIf struct {
	resilience.Answer
	Next    Result  // the next render; empty for a package without a spec
	Package Package // with the changes, for Assess

	storage *resilience.Ledger
	course  *resilience.Course
}

// ZoneOf is the zone of a node, a disk or a zone, "" if it is not known.
func (w *WhatIf) ZoneOf(kind, name string) string { return w.storage.ZoneOf(kind, name) }

// LossNames lists the nodes, zones, disks in use or pools that changes may name.
func (f *Function) LossNames(facts *inventory.Facts, kind string) []string {
	return f.storage(facts).Names(kind)
}

// WhatIf applies changes in memory, and says how the volumes and pools fare before any rebuild, and what the next render
// changes. The error is a resilience.UsageError, or a resilience.UnknownError of what the facts lack.
func (f *Function) WhatIf(q Question) (WhatIf, error) {
	w := WhatIf{Package: q.Package}
	var err error
	if w.Package.Objects, err = f.setFields(q.Package.Objects, q.Changes); err != nil {
		return w, err
	}
	pkg := f.prepareFor(w.Package, q)
	facts := pkg.index()
	storage := f.storage(facts)
	w.storage = storage
	edits, err := resilience.Resolve(facts, storage, q.Changes)
	if err != nil {
		return w, err
	}
	before := *pkg.objects()
	added, err := w.carryOut(f, q, pkg, edits)
	if err != nil {
		return w, err
	}
	course := w.course
	drain := w.Answer.Drain
	w.Answer = course.Answer()
	w.Answer.Drain = drain
	if q.Every != "" {
		w.Answer.Every, w.Answer.Rows = q.Every, course.After().Every(q.Every, added)
	}
	for _, r := range q.Requirements {
		checked, err := course.After().Check(r)
		if err != nil {
			return w, err
		}
		w.Answer.Requirements = append(w.Answer.Requirements, checked)
	}
	next, index := pkg, func() *inventory.Facts { return facts }
	if w.Answer.Drain != nil { // with consent in the specs, and what was rendered on the way
		next = f.prepareFor(w.Package, q)
		next.setObjects(*pkg.objects())
	}
	if w.Answer.Drain != nil || !sameObjects(before, *next.objects()) {
		index = next.index
	}
	if len(next.classified.specs) > 0 || len(next.owners) > 0 {
		w.Next = next.renderFrom(index)
	}
	return w, nil
}

// prepareFor prepares a package for a look at the facts of a question.
func (f *Function) prepareFor(p Package, q Question) *prepared {
	if q.Facts == nil {
		return f.prepare(p)
	}
	p.Objects = f.withoutFacts(p.Objects)
	pkg := f.prepare(p)
	if q.Live {
		pkg.live, pkg.unreadable = q.Facts, q.Unread
	} else {
		pkg.facts = q.Facts
	}
	return pkg
}

// withoutFacts leaves out the facts of a package.
func (f *Function) withoutFacts(objects []*krm.Object) []*krm.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(o *krm.Object) bool {
		return o.Group() == ownGroup && o.Kind == inventoryKind || isFact(f.kinds, o)
	})
}

// objects are the facts, flat.
func (pkg *prepared) objects() *[]*krm.Object {
	if pkg.live != nil {
		return &pkg.live
	}
	return &pkg.facts
}

// setObjects puts other facts in their place.
func (pkg *prepared) setObjects(facts []*krm.Object) { *pkg.objects() = facts }

// sameObjects reports whether two lists are the same list.
func sameObjects(a, b []*krm.Object) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// carryOut applies edits to the facts in order. added are the nodes that are new.
func (w *WhatIf) carryOut(f *Function, q Question, pkg *prepared, edits []resilience.Edit) (added []string, err error) {
	settled, before := *pkg.objects(), w.storage.Today()
	after := before
	for i := range edits {
		e := &edits[i]
		if e.Verb == resilience.Drain {
			for _, node := range e.Nodes() {
				var d *resilience.DrainPlan
				w.Package, settled, d = f.drain(w.Package, q, pkg, node, settled)
				w.Answer.Drain = w.Answer.Drain.And(d)
			}
			continue
		}
		facts, names := e.Apply(*pkg.objects())
		pkg.setObjects(facts)
		added = append(added, names...)
	}
	if w.Answer.Drain != nil { // data have moved
		drained := f.prepareFor(w.Package, q)
		drained.setObjects(settled)
		facts := drained.index()
		w.storage = f.storage(facts)
		if edits, err = resilience.Resolve(facts, w.storage, q.Changes); err != nil {
			return nil, err
		}
		after = w.storage.Today()
	}
	w.course = resilience.NewCourse(before, after, edits)
	return added, nil
}

// storage lists the volumes and pools of all systems, with the disks that running objects hold.
func (f *Function) storage(facts *inventory.Facts) *resilience.Ledger {
	disks := f.holdings(&classified{}, facts).open(f, facts, nil)
	var storages []resilience.Storage
	for i := range f.systems {
		storages = append(storages, f.systems[i].Storage(facts, disks))
	}
	return resilience.NewLedger(facts, disks, storages...)
}

// setFields sets the fields of specs that changes name.
func (f *Function) setFields(objects []*krm.Object, changes []resilience.Change) ([]*krm.Object, error) {
	for _, c := range changes {
		if c.Verb != resilience.Set {
			continue
		}
		var specs []*krm.Object
		for _, o := range objects {
			if f.kinds.IsSpec(o.GroupKind()) {
				specs = append(specs, o)
			}
		}
		spec, changed, err := c.SetField(specs)
		if err != nil {
			return nil, err
		}
		objects = slices.Clone(objects)
		objects[slices.Index(objects, spec)] = changed
	}
	return objects, nil
}

// Failures are the requirements that do not hold, as findings.
func (w *WhatIf) Failures() []finding.Finding {
	var fs []finding.Finding
	for i := range w.Requirements {
		if r := &w.Requirements[i]; !r.Holds {
			fs = append(fs, finding.Finding{Severity: finding.Error, Rule: "require", Message: r.Failure()})
		}
	}
	return fs
}
