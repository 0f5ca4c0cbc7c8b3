package system

import (
	"slices"

	"github.com/poolwright/poolwright/schema/document"
)

// Passing is a list of a lock whose entries mean nothing once what they are about is over. Each render
// finds that out from the facts again, so it does not matter when they leave the list.
type Passing struct {
	Path       []string // of the list
	Key, Value string   // a field that these entries have; none for all entries
}

// Without is an object of a lock as it was rendered, without the passing entries that it no longer has.
func (k *Kind) Without(was, now *document.Node) document.Node {
	left := *was
	for _, p := range k.Passing {
		left = p.without(left, now.Get(p.Path...), p.Path)
	}
	return left
}

// without copies a node along a path, and leaves out the entries that are not among those of now. A list
// that has none left stays only if it is there now.
func (p *Passing) without(n document.Node, now *document.Node, path []string) document.Node {
	f := n.Field(path[0])
	if f == nil {
		return n
	}
	n = n.Copy()
	f = n.Field(path[0])
	if len(path) > 1 {
		f.Value = p.without(f.Value, now, path[1:])
		return n
	}
	f.Value = f.Value.Copy()
	f.Value.SetItems(slices.DeleteFunc(slices.Clone(f.Value.Items()), func(entry document.Node) bool {
		stays := func(other document.Node) bool { return document.Equal(&entry, &other) }
		return (p.Key == "" || entry.Str(p.Key) == p.Value) && !slices.ContainsFunc(now.Seq(), stays)
	}))
	if now == nil && len(f.Value.Items()) == 0 {
		n.Delete(path[0])
	}
	return n
}
