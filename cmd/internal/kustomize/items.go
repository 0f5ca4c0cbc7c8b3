package kustomize

import (
	"fmt"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

const (
	annotationOrigin = "config.kubernetes.io/origin"
	annotationKept   = "poolwright.io/local-config"
)

// keepLocalConfig is a step that hides the mark of local-config objects, which
// are for functions to see and are dropped at the end of every build.
func keepLocalConfig() *types.Kustomization {
	k := emptyStep()
	k.Patches = []types.Patch{{
		Target: &types.Selector{AnnotationSelector: krm.AnnotationLocalConfig},
		Patch: `- op: move
  from: /metadata/annotations/config.kubernetes.io~1local-config
  path: /metadata/annotations/poolwright.io~1local-config
`,
	}}
	return k
}

// items turns resources into what the function sees. An object that nothing
// changed is taken from its file, so that findings name line and column; one
// that was patched keeps at least the place where it starts.
func (b *builder) items(m resmap.ResMap, dir string) ([]*krm.Object, error) {
	files := map[string][]*krm.Object{}
	var items []*krm.Object
	for _, r := range m.Resources() {
		file := b.originFile(r, dir)
		if fact := b.disk.facts.object(r, b.shown(file)); fact != nil {
			items = append(items, fact)
			continue
		}
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		o, err := parseObject(&document.Source{Data: text})
		if err != nil {
			return nil, err
		}
		restore(o.Node)
		if _, known := files[file]; !known {
			files[file] = b.readFile(file)
			b.record(files[file])
		}
		o = locate(o, files[file])
		if inInventory(b.disk, file) {
			o.SetAnnotation(krm.AnnotationInventory, "true") // items of kustomize have no path that shows it
		}
		items = append(items, o)
	}
	return items, nil
}

// inInventory reports whether a file lies in the inventory of its package, which is the
// nearest folder above it that has a kustomization.
func inInventory(disk filesys.FileSystem, file string) bool {
	for dir := filepath.Dir(file); file != "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if slices.ContainsFunc(kustomizationNames(), func(name string) bool { return disk.Exists(filepath.Join(dir, name)) }) {
			rel, err := filepath.Rel(dir, file)
			return err == nil && fn.InInventory(filepath.ToSlash(rel))
		}
	}
	return false
}

// originFile is the file of the disk that a resource comes from, or "".
func (b *builder) originFile(r *resource.Resource, dir string) string {
	origin, err := r.GetOrigin()
	if err != nil || origin == nil || origin.Path == "" || origin.Repo != "" {
		return ""
	}
	at := b.disk.find(filepath.Join(dir, origin.Path))
	if at.inMemory {
		return ""
	}
	return at.real
}

// readFile reads the objects of a file for their places. What cannot be read
// has none: kustomize has read it already.
func (b *builder) readFile(file string) []*krm.Object {
	if file == "" {
		return nil
	}
	data, err := b.disk.FileSystem.ReadFile(file)
	if err != nil {
		return nil
	}
	objects, err := krm.Parse(&document.Source{Name: b.shown(file), Data: data})
	if err != nil {
		return nil
	}
	return objects
}

// locate gives an object the places of the one in its file that it comes from.
func locate(o *krm.Object, written []*krm.Object) *krm.Object {
	var kin []*krm.Object
	for _, w := range written {
		if w.Kind != o.Kind || w.Group() != o.Group() {
			continue
		}
		if document.Equal(w.Node, o.Node) {
			o.Node, o.Source = w.Node, w.Source
			return o
		}
		kin = append(kin, w)
	}
	// Of several, the name decides; of one, it may have got a prefix.
	for _, w := range kin {
		if len(kin) == 1 || w.Name == o.Name && (w.Namespace == o.Namespace || w.Namespace == "") {
			o.Source = w.Source
			setOffset(o.Node, w.Node.Off)
			return o
		}
	}
	setOffset(o.Node, document.NoOffset)
	return o
}

func setOffset(n *document.Node, off int32) {
	n.Off = off
	for i := range n.Fields() {
		n.Fields()[i].Off = off
		setOffset(&n.Fields()[i].Value, off)
	}
	for i := range n.Items() {
		setOffset(&n.Items()[i], off)
	}
}

// restore undoes what was done to an object to bring it through kustomize.
func restore(n *document.Node) {
	meta := n.Get("metadata")
	annotations := meta.Get("annotations")
	if annotations == nil {
		return
	}
	annotations.Delete(annotationOrigin)
	if kept := annotations.Field(annotationKept); kept != nil {
		kept.Key = krm.AnnotationLocalConfig
	}
	if len(annotations.Fields()) == 0 {
		meta.Delete("annotations")
	}
}

// parseObject reads a source of one document.
func parseObject(src *document.Source) (*krm.Object, error) {
	objects, err := krm.Parse(src)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%s: want one object, found %d", src.Name, len(objects))
	}
	objects[0].Raw = src.Data
	return objects[0], nil
}
