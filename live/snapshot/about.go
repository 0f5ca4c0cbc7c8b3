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
// so that it does not send what Reads would leave out; "" for all.
func Fields(kind *system.Kind) string {
	only := ""
	switch one := len(kind.Of) == 1; {
	case kind.Tells == system.TellsDefinitions && one:
		return "metadata.name=" + kind.Of[0].Definition()
	case kind.Tells == system.TellsEvents && one:
		only = ",involvedObject.kind=" + kind.Of[0].Kind
		fallthrough
	case kind.Tells == system.TellsEvents:
		return "type!=" + inventory.EventNormal + only
	}
	return ""
}

// reads reports whether an object is kept at all: all are of a kind that tells of itself,
// and of others those about what some system asks for.
func reads(kind *system.Kind, n *document.Node) bool {
	switch kind.Tells {
	case system.TellsDefinitions:
		return slices.ContainsFunc(kind.Of, func(of system.Subject) bool { return n.Str("metadata", "name") == of.Definition() })
	case system.TellsEvents:
		about := inventory.EventAbout(n)
		return inventory.IsWarning(n) && slices.ContainsFunc(kind.Of, func(of system.Subject) bool { return about.GroupKind() == of.GroupKind })
	}
	return true
}

// eventMetadata names an event after the object that it is about: of the events of an
// object one is kept, and the name of that one changes with each.
func eventMetadata(n *document.Node) *document.Node {
	about := inventory.EventAbout(n)
	meta := document.Object(
		document.F("name", document.Text(strings.ToLower(about.Kind)+"."+about.Name)),
		document.F("namespace", document.Text(n.Str("metadata", "namespace"))),
	)
	return &meta
}

// sorted are the items of a kind by namespace and name; of the events about an object the
// newest.
func sorted(kind *system.Kind, items []item) []item {
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name), cmp.Compare(b.at, a.at), cmp.Compare(a.json, b.json))
	})
	if kind.Tells != system.TellsEvents {
		return items
	}
	return slices.CompactFunc(items, func(a, b item) bool { return a.namespace == b.namespace && a.name == b.name })
}
