package applyset

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// applied is what of a live object the field manager poolwright applied, without the marks of the set.
// Whose it is, and the consent of a person, count whoever wrote them.
//
// Source: Kubernetes, FieldsV1 (k8s.io/api, meta/v1/types.go).
func applied(live *document.Node) *document.Node {
	out := document.Object()
	entries := live.Seq("metadata", "managedFields")
	for i := range entries {
		e := &entries[i]
		if e.Str("manager") == Manager && e.Str("operation") == "Apply" && e.Str("subresource") == "" {
			out = reduced(live, e.Get("fieldsV1"))
		}
	}
	root := document.Object(document.F("apiVersion", document.Text(live.Str("apiVersion"))), document.F("kind", document.Text(live.Str("kind"))))
	meta := document.Object(document.F("name", document.Text(live.Str("metadata", "name"))))
	if namespace := live.Str("metadata", "namespace"); namespace != "" {
		meta.Set("namespace", document.Text(namespace))
	}
	for _, field := range []string{"labels", "annotations"} {
		if kept := keptMeta(out.Get("metadata", field), live.Get("metadata", field)); len(kept.Fields()) > 0 {
			meta.Set(field, kept)
		}
	}
	rest := out.Get("metadata")
	for i := range rest.Fields() {
		if f := &rest.Fields()[i]; meta.Get(f.Key) == nil && f.Key != "labels" && f.Key != "annotations" {
			meta.Set(f.Key, f.Value)
		}
	}
	root.Set("metadata", meta)
	for i := range out.Fields() {
		if f := &out.Fields()[i]; f.Key != "metadata" && f.Key != "apiVersion" && f.Key != "kind" {
			root.Set(f.Key, f.Value)
		}
	}
	return &root
}

// keptMeta are the labels or annotations that were applied, without marks.
func keptMeta(applied, live *document.Node) document.Node {
	kept := copied(applied)
	kept.SetFields(slices.DeleteFunc(slices.Clone(kept.Fields()), func(f document.Field) bool { return isMark(f.Key) }))
	for _, key := range []string{krm.LabelManagedBy, krm.AnnotationOwner, krm.AnnotationRetained, krm.AnnotationAllowRemoval} {
		if value := live.Get(key); value != nil {
			kept.Set(key, *value)
		}
	}
	return kept
}

// reduced is a value without what is not in a set of fields.
func reduced(value, set *document.Node) document.Node {
	if leaf(set) {
		return *value
	}
	switch value.Kind() {
	case document.Map:
		out := document.Object()
		for i := range set.Fields() {
			f := &set.Fields()[i]
			name, isField := strings.CutPrefix(f.Key, "f:")
			if at := value.Get(name); isField && at != nil {
				out.Set(name, reduced(at, &f.Value))
			}
		}
		return out
	case document.Seq:
		var items []document.Node
		for i := range value.Items() {
			item := &value.Items()[i]
			for j := range set.Fields() {
				if f := &set.Fields()[j]; selects(f.Key, item) {
					items = append(items, reduced(item, &f.Value))
					break
				}
			}
		}
		return document.List(items...)
	}
	return *value
}

// leaf reports whether a set is of a whole value.
func leaf(set *document.Node) bool {
	return set == nil || !slices.ContainsFunc(set.Fields(), func(f document.Field) bool { return f.Key != "." })
}

// selects reports whether an entry of a set is that of an item of a list: by its value, or by fields
// that identify it.
func selects(entry string, item *document.Node) bool {
	decode := func(text []byte) (value any) {
		_ = json.Unmarshal(text, &value) // nil is equal to nothing here
		return value
	}
	have := decode(document.AppendJSON(nil, item))
	if text, is := strings.CutPrefix(entry, "v:"); is {
		return have != nil && reflect.DeepEqual(have, decode([]byte(text)))
	}
	text, is := strings.CutPrefix(entry, "k:")
	keys, _ := decode([]byte(text)).(map[string]any)
	fields, _ := have.(map[string]any)
	if !is || len(keys) == 0 {
		return false
	}
	for key, value := range keys {
		if !reflect.DeepEqual(fields[key], value) {
			return false
		}
	}
	return true
}
