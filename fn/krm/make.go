package krm

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/schema/document"
)

// Make starts an object. The fields come after apiVersion, kind and metadata.
func Make(apiVersion, kind, namespace, name string, fields ...document.Field) *Object {
	meta := document.Object(append(make([]document.Field, 0, 4), document.F("name", document.Text(name)))...) // most get labels and annotations
	if namespace != "" {
		meta.Set("namespace", document.Text(namespace))
	}
	root := document.Object(slices.Concat([]document.Field{
		document.F("apiVersion", document.Text(apiVersion)),
		document.F("kind", document.Text(kind)),
		document.F("metadata", meta),
	}, fields)...)
	return NewObject(nil, &root)
}

// SetAnnotation sets an annotation, keeping them in order of their keys. What is stateful has
// the owner, and three of deletion and one or two of its system besides.
func (o *Object) SetAnnotation(key, value string) { o.setMeta("annotations", 6, key, value) }

// SetLabel sets a label, keeping them in order of their keys. Most objects have one.
func (o *Object) SetLabel(key, value string) { o.setMeta("labels", 1, key, value) }

// setMeta makes room for so many entries where an object has none.
func (o *Object) setMeta(field string, room int, key, value string) {
	meta := o.Node.Get("metadata")
	if meta.Get(field) == nil {
		meta.Set(field, document.Object(make([]document.Field, 0, room)...))
		metaOrder := []string{"name", "namespace", "labels", "annotations"} // as people write them
		slices.SortStableFunc(meta.Fields(), func(a, b document.Field) int {
			return slices.Index(metaOrder, a.Key) - slices.Index(metaOrder, b.Key)
		})
	}
	m := meta.Get(field)
	m.Set(key, document.Text(value))
	slices.SortFunc(m.Fields(), func(a, b document.Field) int { return cmp.Compare(a.Key, b.Key) })
}
