package dryrun

import (
	"slices"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
)

// defaultManager applies what nobody applied before.
const defaultManager = "poolwright"

// liveObject is an object as it is in the cluster, and who applies it.
type liveObject struct {
	krm.Object
	manager     string         // see managerOf
	lastApplied *document.Node // what a client-side apply sent last, or nil
}

func newLive(n *document.Node) *liveObject {
	l := &liveObject{Object: *krm.NewObject(nil, n), manager: managerOf(n)}
	if docs, err := document.Parse(&document.Source{Data: []byte(l.Annotation(cluster.AnnotationLastApplied))}); err == nil && len(docs) == 1 {
		l.lastApplied = &docs[0].Node
	}
	return l
}

// managerOf finds who applied an object as ours, server-side: who holds our owner
// annotation, the first by name. An apply in another name would add fields, and
// never see what is gone from Git.
func managerOf(n *document.Node) string {
	var owning []string
	entries := n.Seq("metadata", "managedFields")
	for i := range entries {
		e := &entries[i]
		held := e.Get("fieldsV1", "f:metadata", "f:annotations", "f:"+krm.AnnotationOwner) != nil
		if held && isApply(e) {
			owning = append(owning, e.Str("manager"))
		}
	}
	if len(owning) == 0 {
		return ""
	}
	return slices.Min(owning)
}

// isClientSide reports whether a manager, or whoever applied the object if none is
// named, applies it as kubectl did before server-side apply. Such an apply is an
// update to the API server, in the name of the manager.
func (l *liveObject) isClientSide(manager string) bool {
	if manager == "" {
		return l.manager == ""
	}
	entries := l.Node.Seq("metadata", "managedFields")
	of := func(operation string) bool {
		return slices.ContainsFunc(entries, func(e document.Node) bool {
			return e.Str("manager") == manager && e.Str("operation") == operation && e.Str("subresource") == ""
		})
	}
	return of("Update") && !of("Apply")
}

// isMark finds the labels and annotations that engines add to what they apply.
// They are not in Git, and do not go when the same engine applies again.
func isMark(key string) bool {
	switch key {
	case "argocd.argoproj.io/tracking-id", "argocd.argoproj.io/installation-id", "app.kubernetes.io/instance",
		"config.k8s.io/owning-inventory",
		"kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace", "kustomize.toolkit.fluxcd.io/checksum":
		return true
	}
	return false
}

// withMarks gives a manifest the marks of the live object.
func withMarks(manifest, live *document.Node) *document.Node {
	out := *manifest
	for _, field := range []string{"labels", "annotations"} {
		marks := live.Get("metadata", field)
		if marks == nil {
			continue
		}
		for i := range marks.Fields() {
			f := &marks.Fields()[i]
			if !isMark(f.Key) || out.Get("metadata", field, f.Key) != nil {
				continue
			}
			meta := copied(out.Get("metadata"))
			inner := copied(meta.Get(field))
			inner.Set(f.Key, f.Value)
			meta.Set(field, inner)
			out = copied(&out)
			out.Set("metadata", meta)
		}
	}
	return &out
}

// copied is a map that can be changed without changing the original.
func copied(n *document.Node) document.Node {
	if n == nil {
		return document.Object()
	}
	return n.Copy()
}

// dropped takes out of an object what a client-side apply would take out: what it
// sent last and the new manifest leaves out. Lists are replaced in any case.
func dropped(object, last, manifest *document.Node) {
	if object == nil || last == nil || last.Kind() != document.Map || object.Kind() != document.Map {
		return
	}
	for i := range last.Fields() {
		f := &last.Fields()[i]
		if now := manifest.Get(f.Key); now != nil {
			dropped(object.Get(f.Key), &f.Value, now)
		} else if !isMark(f.Key) {
			object.Delete(f.Key)
		}
	}
}

// strip leaves out what only the API server and controllers keep.
func strip(o *krm.Object) *krm.Object {
	root := copied(o.Node)
	root.Delete("status")
	meta := copied(root.Get("metadata"))
	for _, key := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"} {
		meta.Delete(key)
	}
	if annotations := copied(meta.Get("annotations")); len(annotations.Fields()) > 0 {
		annotations.Delete(cluster.AnnotationLastApplied)
		meta.Set("annotations", annotations)
	}
	root.Set("metadata", meta)
	return krm.NewObject(nil, &root)
}
