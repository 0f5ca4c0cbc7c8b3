// Package change compares two sets of objects: what is there against what is
// wanted. It finds every field that differs, and pairs the items of lists by what
// people know them by, not by their place, so that a new pool in front of a list
// is one pool added and not every pool changed. What a change risks is for the
// system to say that the object belongs to.
package change

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Action is what becomes of an object, or of a field of it.
type Action string

// The actions. Objects are created, changed and removed; fields are added,
// changed, removed, and lists also reordered.
const (
	Create  Action = "create"
	Add     Action = "add"
	Modify  Action = "change"
	Remove  Action = "remove"
	Reorder Action = "reorder"
)

// Risk ranks what a change may do to data and to those who use it.
type Risk string

// The risks, from least to greatest.
const (
	Safe        Risk = "safe"
	Disruptive  Risk = "disruptive"  // I/O pauses, a rebuild, a restart, a disk detached, or it will be refused
	Destructive Risk = "destructive" // data can be lost
)

// AtLeast reports whether a risk is as great as another.
func (r Risk) AtLeast(other Risk) bool { return r.rank() >= other.rank() }

func (r Risk) rank() int { return slices.Index([]Risk{Safe, Disruptive, Destructive}, r) }

// Reason is one thing that a change risks, or why it risks nothing.
type Reason struct {
	Risk  Risk
	Field string // the path of a field, "" for the whole object
	Text  string // one line
}

// Change is what becomes of one object.
type Change struct {
	Ref     finding.Ref
	Action  Action
	Old     *krm.Object // nil if it is created
	New     *krm.Object // nil if it is removed
	Fields  []Field     // what differs; nil unless it is changed, or is created and exists already
	Risk    Risk        // the greatest of the reasons
	Reasons []Reason    // the gravest first, once Sort was called
}

// GitOnly reports whether the object is for people and the next render, and not
// for the cluster, both before and after.
func (c *Change) GitOnly() bool { return isLocal(c.Old) && isLocal(c.New) }

func isLocal(o *krm.Object) bool {
	return o == nil || o.Annotation(krm.AnnotationLocalConfig) == "true"
}

// Owner is the key of the spec for which the object is rendered, or was if it is removed.
func (c *Change) Owner() string {
	if c.New != nil {
		return c.New.RenderedFor()
	}
	return c.Old.RenderedFor()
}

// Judge adds a reason, and raises the risk of the change to it. A reason for the
// whole object holds for each of its fields.
func (c *Change) Judge(risk Risk, field, text string) {
	c.Reasons = append(c.Reasons, Reason{risk, field, text})
	if c.Risk == "" || risk.AtLeast(c.Risk) {
		c.Risk = risk
	}
}

// Between lists what becomes of each object when old makes place for new, by
// kind, namespace and name. The order of the input does not matter, nor does that
// of the keys in it. No object may be in a set twice.
func Between(old, new []*krm.Object) []*Change {
	before := make(map[krm.ID]*krm.Object, len(old))
	for _, o := range old {
		before[o.ID()] = o
	}
	var changes []*Change
	for _, n := range new {
		o := before[n.ID()]
		delete(before, n.ID())
		if o == nil {
			changes = append(changes, &Change{Ref: n.Ref, Action: Create, New: n})
			continue
		}
		if o == n || document.Equal(o.Node, n.Node) {
			continue
		}
		if fields := Fields(o.Node, n.Node); len(fields) > 0 {
			changes = append(changes, &Change{Ref: n.Ref, Action: Modify, Old: o, New: n, Fields: fields})
		}
	}
	for _, o := range before {
		changes = append(changes, &Change{Ref: o.Ref, Action: Remove, Old: o})
	}
	slices.SortFunc(changes, compare)
	return changes
}

// Sort puts the riskiest change first, then what is in Git only last, and the
// gravest reason of each first.
func Sort(changes []*Change) {
	for _, c := range changes {
		slices.SortStableFunc(c.Reasons, func(a, b Reason) int { return b.Risk.rank() - a.Risk.rank() })
	}
	slices.SortFunc(changes, func(a, b *Change) int {
		return cmp.Or(b.Risk.rank()-a.Risk.rank(), rank(a.GitOnly())-rank(b.GitOnly()), compare(a, b))
	})
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

func compare(a, b *Change) int {
	return cmp.Or(
		cmp.Compare(a.Ref.Kind, b.Ref.Kind),
		cmp.Compare(a.Ref.APIVersion, b.Ref.APIVersion),
		cmp.Compare(a.Ref.Namespace, b.Ref.Namespace),
		cmp.Compare(a.Ref.Name, b.Ref.Name),
	)
}
