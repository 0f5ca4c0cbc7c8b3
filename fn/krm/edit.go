package krm

import "github.com/poolwright/poolwright/schema/document"

// Edited is a copy of an object after an edit, which may set anything below metadata, spec and status with SetPath. Both share
// what it does not set.
func (o *Object) Edited(edit func(*document.Node)) *Object {
	root := o.Node.Copy()
	for _, field := range []string{"metadata", "spec", "status"} {
		if part := root.Get(field); part != nil {
			root.Set(field, part.Copy())
		}
	}
	edit(&root)
	return o.Item(&root)
}

// SetPath sets a field; the maps on the way to it are copied, or made.
func SetPath(n *document.Node, value document.Node, path ...string) {
	for _, key := range path[:len(path)-1] {
		next := document.Object()
		if part := n.Get(key); part.Kind() == document.Map {
			next = part.Copy()
		}
		n.Set(key, next)
		n = n.Get(key)
	}
	n.Set(path[len(path)-1], value)
}
