package snapshot

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
)

// Fields is the field selector with which an API server is asked for the objects of a kind,
// so that it does not send what reads would leave out; "" for all.
func Fields(kind *system.Kind) string {
	switch {
	case len(kind.Only) == 1 && len(kind.OnlyBy) == 0 && !strings.Contains(kind.Only[0], "*"):
		return "metadata.name=" + kind.Only[0]
	case kind.Tells == system.TellsEvents && len(kind.About) == 1:
		return "type!=" + inventory.EventNormal + ",involvedObject.kind=" + kind.About[0].Kind
	case kind.Tells == system.TellsEvents:
		return "type!=" + inventory.EventNormal
	}
	return ""
}

// reads reports whether an object is kept at all.
func reads(kind *system.Kind, n *document.Node) bool {
	if kind.Tells == system.TellsEvents {
		return inventory.IsWarning(n) && slices.Contains(kind.About, inventory.EventAbout(n).GroupKind())
	}
	if kind.Labelled != "" && n.Get("metadata", "labels", kind.Labelled) == nil {
		return false
	}
	names := []string{n.Str("metadata", "name")}
	for _, label := range kind.OnlyBy {
		names = append(names, n.Str("metadata", "labels", label))
	}
	return kind.Reads(names...)
}

// eventMetadata names an event after its object and its reason: of the events of an object with one reason one is kept,
// and the name of that one changes with each.
func eventMetadata(n *document.Node) *document.Node {
	about := inventory.EventAbout(n)
	meta := document.Object(
		document.F("name", document.Text(strings.ToLower(about.Kind+"."+about.Name+"."+n.Str("reason")))),
		document.F("namespace", document.Text(n.Str("metadata", "namespace"))),
	)
	return &meta
}

// sorted are the items of a kind by namespace and name; of the events about an object the
// newest of each reason.
func sorted(kind *system.Kind, items []item) []item {
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name), cmp.Compare(b.at, a.at), cmp.Compare(a.json, b.json))
	})
	if kind.Tells != system.TellsEvents {
		return items
	}
	return slices.CompactFunc(items, func(a, b item) bool { return a.namespace == b.namespace && a.name == b.name })
}
