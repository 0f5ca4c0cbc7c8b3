// Package rollout says in which order rendered objects are applied, and what each waits for: the levels
// of fn/gitops, one after the other, each awaited. It is pure.
package rollout

import (
	"cmp"
	"path"
	"slices"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
)

// Object is a rendered object in its place.
type Object struct {
	fn.Rendered
	owner string
	depth int // of needs, within the stage
}

// Level is the level of fn/gitops that an object is of, such as 2-operators; "" for none.
func (o *Object) Level() string {
	if folder := path.Base(path.Dir(o.Path)); gitops.IsLevel(folder) {
		return folder
	}
	return ""
}

// Order lists rendered objects in the order in which they are applied. Beside what a rendering says, an
// object needs its namespace and the definition of its kind, where they are rendered, too.
func Order(rendered []fn.Rendered) []Object {
	byID := make(map[krm.ID]int, len(rendered))
	definitions := map[krm.GroupKind]krm.ID{}
	for i := range rendered {
		o := rendered[i].Object
		byID[o.ID()] = i
		if o.Kind == "CustomResourceDefinition" {
			definitions[krm.GroupKind{Group: o.Node.Str("spec", "group"), Kind: o.Node.Str("spec", "names", "kind")}] = o.ID()
		}
	}
	all := make([]Object, len(rendered))
	for i := range rendered {
		o := Object{Rendered: rendered[i], owner: rendered[i].Object.RenderedFor(), depth: -1}
		needs := slices.Clone(o.Needs)
		if id, defined := definitions[o.Object.GroupKind()]; defined {
			needs = append(needs, id)
		}
		needs = append(needs, krm.ID{Kind: "Namespace", Name: o.Object.Namespace})
		o.Needs = slices.DeleteFunc(needs, func(id krm.ID) bool {
			_, there := byID[id]
			return !there || id == o.Object.ID()
		})
		all[i] = o
	}
	var depth func(i int) int
	depth = func(i int) int {
		if all[i].depth >= 0 {
			return all[i].depth
		}
		all[i].depth = 0 // of objects that need each other the first counts
		n := 0
		for _, id := range all[i].Needs {
			n = max(n, depth(byID[id])+1)
		}
		all[i].depth = n
		return n
	}
	for i := range all {
		depth(i)
	}
	slices.SortStableFunc(all, func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.depth, b.depth), a.Object.ID().Compare(b.Object.ID()))
	})
	return all
}

// Progress is how far an application has come. The zero value is its beginning.
type Progress struct {
	waiting map[krm.ID]bool
	lowest  map[string]lowest // by owner
}

type lowest struct {
	stage int
	id    krm.ID
}

// Blocked says whether an object has to wait for one that is not ready: one that it needs, or one of its
// spec of a lower stage. It is asked in the order of Order.
func (p *Progress) Blocked(o Object) (by krm.ID, blocked bool) {
	if low, found := p.lowest[o.owner]; found && low.stage < o.Stage {
		return low.id, true
	}
	for _, id := range o.Needs {
		if p.waiting[id] {
			return id, true
		}
	}
	return by, false
}

// Wait takes down that an object is not ready.
func (p *Progress) Wait(o Object) {
	if p.waiting == nil {
		p.waiting, p.lowest = map[krm.ID]bool{}, map[string]lowest{}
	}
	p.waiting[o.Object.ID()] = true
	if low, found := p.lowest[o.owner]; !found || o.Stage < low.stage {
		p.lowest[o.owner] = lowest{o.Stage, o.Object.ID()}
	}
}

// Waits reports whether an object of a spec is not ready: until then nothing of the spec is removed.
func (p *Progress) Waits(owner string) bool {
	_, found := p.lowest[owner]
	return found
}
