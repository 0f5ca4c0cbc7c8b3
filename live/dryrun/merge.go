package dryrun

import (
	"strings"

	"github.com/poolwright/poolwright/schema/document"
)

// merged is what an apply in the name of a manager would make of a live object, as
// far as that can be told without asking: maps are merged, lists replaced, and what
// the manager applied before and now leaves out goes.
func merged(live *document.Node, manager string, manifest *document.Node) *document.Node {
	out := overlaid(live, manifest)
	entries := live.Seq("metadata", "managedFields")
	for i := range entries {
		e := &entries[i]
		if isApply(e) && e.Str("manager") == manager {
			applied := fieldsOf(e.Get("fieldsV1"))
			dropped(&out, &applied, manifest)
		}
	}
	return &out
}

// overlaid is an object with the values of a manifest. Neither is changed by what
// dropped takes out of it.
func overlaid(object, manifest *document.Node) document.Node {
	if object.Kind() != document.Map || manifest.Kind() != document.Map {
		return *manifest
	}
	out := copied(object)
	for i := range manifest.Fields() {
		f := &manifest.Fields()[i]
		value := f.Value
		if was := object.Get(f.Key); was != nil {
			value = overlaid(was, &value)
		}
		out.Set(f.Key, value)
	}
	return out
}

// fieldsOf writes a set of managed fields as an object: its maps, down to values
// and lists, which are empty.
func fieldsOf(set *document.Node) document.Node {
	out := document.Object()
	if set == nil {
		return out
	}
	for i := range set.Fields() {
		if key, found := strings.CutPrefix(set.Fields()[i].Key, "f:"); found {
			out.Set(key, fieldsOf(&set.Fields()[i].Value))
		}
	}
	return out
}

// isApply tells the entry of a server-side apply from those of updates, and of a
// subresource.
func isApply(entry *document.Node) bool {
	return entry.Str("operation") == "Apply" && entry.Str("subresource") == ""
}
