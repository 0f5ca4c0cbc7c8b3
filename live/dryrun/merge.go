package dryrun

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/document"
)

// merged is what an apply in the name of a manager would make of a live object, as
// far as that is known without asking: maps are merged, and so are the items of lists
// that all have a name, as containers have; other lists are replaced, and what the manager
// applied before and now leaves out of a map goes.
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
	if named(object) && named(manifest) {
		return overlaidItems(object, manifest)
	}
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

// isApply distinguishes the entry of a server-side apply from those of updates, and of a
// subresource.
func isApply(entry *document.Node) bool {
	return entry.Str("operation") == "Apply" && entry.Str("subresource") == ""
}

// named reports whether all items of a list have a name.
func named(list *document.Node) bool {
	items := list.Items()
	return len(items) > 0 && !slices.ContainsFunc(items, func(item document.Node) bool { return item.Str("name") == "" })
}

// overlaidItems is a list of named items with what is known of each from another list.
func overlaidItems(list, manifest *document.Node) document.Node {
	var items []document.Node
	for _, item := range manifest.Items() {
		was := slices.IndexFunc(list.Items(), func(other document.Node) bool { return other.Str("name") == item.Str("name") })
		if was >= 0 {
			item = overlaid(&list.Items()[was], &item)
		}
		items = append(items, item)
	}
	return document.List(items...)
}
