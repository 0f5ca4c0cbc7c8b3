// Package own is about the objects of Poolwright's own kinds in a live cluster: it
// reads them, makes a package of them, and writes their status.
package own

import (
	"context"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
)

// Object is a spec, or something rendered, with its status.
type Object struct {
	Resource cluster.Resource
	Object   *krm.Object
}

// Read reads the objects of those of the kinds that are our own and that
// the cluster has. Without a kind of spec it is an error: there is nothing to be found.
func Read(ctx context.Context, c *cluster.Cluster, served *cluster.Served, kinds *system.Kinds) ([]*Object, error) {
	resources, err := Resources(served, kinds)
	if err != nil {
		return nil, err
	}
	var all []*Object
	for _, r := range resources {
		var objects []*Object
		page := func(items []document.Node) error {
			for i := range items {
				o, err := Parse(r, Slim(&items[i]))
				if err != nil {
					return err
				}
				objects = append(objects, o)
			}
			return nil
		}
		if err := c.List(ctx, r, cluster.Selectors{}, page, func() { objects = nil }); err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

// Resources finds the own kinds that are served. Without a kind of spec among them
// it is an error.
func Resources(served *cluster.Served, kinds *system.Kinds) ([]cluster.Resource, error) {
	var resources []cluster.Resource
	specs := 0
	for _, kind := range kinds.Own() {
		r, found, err := served.Find(kind.Group, kind.Kind)
		switch {
		case err != nil:
			return nil, err
		case found:
			resources = append(resources, r)
			if kind.Role == system.RoleSpec {
				specs++
			}
		}
	}
	if specs == 0 {
		id := kinds.In(system.RoleSpec)[0]
		return nil, fmt.Errorf("the cluster has no kind %s (%s), so it has no specs: install its definition with poolwright schema %s -o crd | kubectl apply -f -, or leave out --cluster to take the specs from a folder",
			id.Kind, id.Group, id.Kind)
	}
	return resources, nil
}

// Slim copies an object without what only API servers and clients look at, as JSON.
func Slim(n *document.Node) []byte {
	meta := document.Object()
	for _, key := range []string{"name", "namespace", "uid", "generation", "resourceVersion", "creationTimestamp", "deletionTimestamp", "labels", "annotations"} {
		if value := n.Get("metadata", key); value != nil {
			meta.Set(key, *value)
		}
	}
	if annotations := meta.Get("annotations"); annotations != nil {
		annotations.SetFields(slices.DeleteFunc(slices.Clone(annotations.Fields()), func(f document.Field) bool {
			return f.Key == cluster.AnnotationLastApplied
		}))
	}
	root := document.Object(
		document.F("apiVersion", document.Text(n.Str("apiVersion"))), document.F("kind", document.Text(n.Str("kind"))), document.F("metadata", meta),
	)
	for _, key := range []string{"spec", "status"} {
		if value := n.Get(key); value != nil {
			root.Set(key, *value)
		}
	}
	return document.AppendJSON(nil, &root)
}

// Parse reads what Slim wrote.
func Parse(r cluster.Resource, text []byte) (*Object, error) {
	docs, err := document.Parse(&document.Source{Data: text})
	if err != nil {
		return nil, err
	}
	return &Object{Resource: r, Object: krm.NewObject(nil, &docs[0].Node)}, nil
}

// Plain lists the objects as any others are.
func Plain(own []*Object) []*krm.Object {
	objects := make([]*krm.Object, len(own))
	for i, o := range own {
		objects[i] = o.Object
	}
	return objects
}

// Package makes a package of what is in the cluster: its specs, and as the lock
// what was rendered for them and applied.
func Package(kinds *system.Kinds, own []*Object, facts []*krm.Object) fn.Package {
	p := fn.Package{Objects: kinds.Specs(Plain(own))}
	seen := map[krm.ID]bool{} // a kind of ours may be a fact, too
	for _, o := range p.Objects {
		seen[o.ID()] = true
	}
	for _, o := range append(Plain(own), facts...) {
		if o.Owner() != "" && !seen[o.ID()] {
			seen[o.ID()] = true
			p.Output = append(p.Output, o)
		}
	}
	return p
}
