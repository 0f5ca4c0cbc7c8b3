// Package snapshot reads what exists in a live cluster, as far as it matters for
// storage: a few kinds, and of each only the fields that are used. The inventory
// of a package and the live facts of status, tree and plan come from here, so
// that both say the same.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
)

// Options say what is read.
type Options struct {
	// Selector are labels of nodes, as kubectl takes them; "" is every node. What
	// belongs to a node, its block devices and its NodeInventory, is left out with
	// it. All other kinds are read whole.
	Selector string
	// Kinds are the kinds to read, with what is kept of each.
	Kinds []system.Kind
	// Annotations are kept beside those of Poolwright on what specs select, and Fields
	// are: dotted paths such as status.nodeInfo.architecture. See Keep.
	Annotations []string
	Fields      []string
	// Served is what the cluster serves, if that is known; else it is asked for.
	Served *cluster.Served
	// Readable says that kinds that may not be read are left out, and named in Snapshot.Denied.
	Readable bool
	// Progress gets how many objects of a kind there are so far. It may be
	// called by several goroutines at once, and may be nil.
	Progress func(kind string, objects int)
}

// Snapshot is what was there. It is in order, and two snapshots of an unchanged
// cluster are equal.
type Snapshot struct {
	Kinds  []Kind          // those that the cluster has, in the order of Options
	Absent []krm.GroupKind // those that it does not have
	Denied []krm.GroupKind // those that may not be read, in the order of Options
}

// Objects gives all objects, as facts. Of a kind without objects it gives the
// Inventory: that there is none is a fact, too.
func (s *Snapshot) Objects() []*krm.Object {
	var objects []*krm.Object
	for i := range s.Kinds {
		k := &s.Kinds[i]
		if k.Len() == 0 {
			objects = append(objects, krm.NewObject(nil, mustParse([]byte(k.header(JSON)+"]}"))))
		}
		objects = append(objects, k.Objects()...)
	}
	return objects
}

// Len is the number of objects.
func (s *Snapshot) Len() int {
	n := 0
	for i := range s.Kinds {
		n += s.Kinds[i].Len()
	}
	return n
}

// Cluster is the identity of the cluster, "" if it is not known: the uid of a Namespace that no
// cluster lacks and none gets again.
func (s *Snapshot) Cluster() string {
	for i := range s.Kinds {
		if k := &s.Kinds[i]; k.declared.Identity && k.Len() > 0 {
			return k.Objects()[0].Node.Str("metadata", "uid")
		}
	}
	return ""
}

// Kind is one kind with its objects.
type Kind struct {
	cluster.Resource
	Scope    string // the only namespace that was looked at; "" for all of them
	missing  string // of Nodes: see NoteMissing
	declared system.Kind
	items    []item // sorted by namespace and name
}

// Len is the number of objects.
func (k *Kind) Len() int { return len(k.items) }

// Objects gives the objects of the kind, as facts.
func (k *Kind) Objects() []*krm.Object {
	size := 2
	for i := range k.items {
		size += len(k.items[i].json) + 1
	}
	text := append(make([]byte, 0, size), '[')
	for i := range k.items {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, k.items[i].json...)
	}
	items := mustParse(append(text, ']')).Seq()
	objects := make([]*krm.Object, len(items))
	for i := range items {
		objects[i] = krm.NewObject(nil, &items[i])
	}
	return objects
}

// mustParse reads JSON that was written here.
func mustParse(text []byte) *document.Node {
	docs, err := document.Parse(&document.Source{Data: text})
	if err != nil {
		panic(err)
	}
	return &docs[0].Node
}

// Take reads the cluster. If the permission to read some kinds is missing, the
// error is a *DeniedError that names all of them.
func Take(ctx context.Context, c *cluster.Cluster, o Options) (*Snapshot, error) {
	served := o.Served
	if served == nil {
		var err error
		if served, err = c.Served(ctx); err != nil {
			return nil, err
		}
	}
	s := &Snapshot{}
	for _, k := range o.Kinds {
		r, found, err := served.Find(k.Group, k.Kind)
		switch {
		case err != nil:
			return nil, err
		case !found:
			s.Absent = append(s.Absent, k.GroupKind)
			continue
		}
		taken := Kind{Resource: r, declared: k}
		if r.Namespaced {
			taken.Scope = c.Namespace
		}
		s.Kinds = append(s.Kinds, taken)
	}
	t := &taking{cluster: c, options: o}
	err := t.run(ctx, s.Kinds)
	if denied := (*DeniedError)(nil); o.Readable && errors.As(err, &denied) {
		s.leaveOut(denied)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// leaveOut leaves out the kinds that may not be read.
func (s *Snapshot) leaveOut(denied *DeniedError) {
	s.Kinds = slices.DeleteFunc(s.Kinds, func(k Kind) bool {
		left := slices.Contains(denied.Kinds, k.String())
		if left {
			s.Denied = append(s.Denied, k.declared.GroupKind)
		}
		return left
	})
}

// DeniedError says which kinds may not be read.
type DeniedError struct {
	Server string
	Kinds  []string // plural.group
	Err    error    // what the API server says to the first of them
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("no permission to list %s at %s: %v; ask for the read-only role of deploy/rbac", strings.Join(e.Kinds, ", "), e.Server, e.Err)
}

func (e *DeniedError) Unwrap() error { return e.Err }
