package fn

import (
	"slices"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// Remembered lists the specs that are applied as they stand, as the locks among some objects
// remember them: a plan compares these, since they are no output.
func (f *Function) Remembered(objects []*krm.Object) []*krm.Object {
	var specs []*krm.Object
	for _, o := range objects {
		if f.kinds.IsApplied(o.GroupKind()) {
			continue // the output of another spec is compared itself
		}
		if spec := f.plain(o.RenderedFor(), o); spec != nil {
			specs = append(specs, spec)
		}
	}
	return specs
}

// Plain brings the specs among some objects that are applied as they stand into the form of
// Remembered. Other objects stay as they are, and so does what is rendered.
func (f *Function) Plain(objects []*krm.Object) []*krm.Object {
	all := slices.Clone(objects)
	for i, o := range all {
		if f.standsAlone(o) {
			if spec := f.plain(o.OwnerKey(), o); spec != nil {
				all[i] = spec
			}
		}
	}
	return all
}

// standsAlone reports whether an object is a spec that is applied as it stands, and nobody's
// output.
func (f *Function) standsAlone(o *krm.Object) bool {
	return f.kinds.IsApplied(o.GroupKind()) && o.RenderedFor() == ""
}

// plain asks the system of a spec for the form.
func (f *Function) plain(owner string, o *krm.Object) *krm.Object {
	s := f.of(owner)
	if s == nil {
		return nil
	}
	if remembers, does := s.System.(system.Rememberer); does {
		return remembers.Plain(o)
	}
	return nil
}

// owner is the key of the spec that a change is of: its own for one that is applied as it stands.
func (a assessor) owner(c *change.Change) string {
	of := c.New
	if of == nil {
		of = c.Old
	}
	if a.function.standsAlone(of) {
		return of.OwnerKey()
	}
	return c.Owner()
}

// applied turns the creation of a spec that exists already into a change of it; it reports
// false where that changes nothing.
func (a assessor) applied(c *change.Change, live *krm.Object) bool {
	if c.Old = a.function.plain(a.owner(c), live); c.Old == nil {
		return true
	}
	c.Action = change.Modify
	c.Fields = slices.DeleteFunc(change.Fields(c.Old.Node, c.New.Node), func(f change.Field) bool { return !f.Under("spec") })
	a.assess(c)
	return len(c.Fields) > 0
}

// along adds what goes with the specs that are removed.
func (a assessor) along(changes []*change.Change, manifests []*krm.Object) []*change.Change {
	for _, c := range slices.Clone(changes) {
		s := a.function.of(a.owner(c))
		if c.Action != change.Remove || s == nil {
			continue
		}
		remembers, does := s.System.(system.Rememberer)
		if !does {
			continue
		}
		for _, more := range remembers.Along(a.facts, manifests, c.Old) {
			at := slices.IndexFunc(changes, func(c *change.Change) bool { return c.Ref == more.Ref })
			if at < 0 {
				changes = append(changes, more)
				continue
			}
			for _, r := range more.Reasons {
				changes[at].Judge(r.Risk, r.Field, r.Text)
			}
		}
	}
	return changes
}
