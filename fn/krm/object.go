// Package krm is the edge between Poolwright and the Kubernetes Resource Model:
// objects with the place they were written at, who owns them, and the
// ResourceList of the KRM function specification.
package krm

import (
	"cmp"
	"strings"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Keys that Poolwright reads and writes.
const (
	LabelManagedBy         = "app.kubernetes.io/managed-by"
	ManagedBy              = "poolwright"
	AnnotationOwner        = "poolwright.io/owner"         // <group>/<kind>/<namespace>/<name> of the spec
	AnnotationInventory    = "poolwright.io/inventory"     // "true": a fact, wherever it lies
	AnnotationScope        = "poolwright.io/namespace"     // on an Inventory: the only namespace that it reports
	AnnotationMissing      = "poolwright.io/missing-nodes" // on the Inventory of Nodes: <node>=<since when>[/<when again>][,...]
	AnnotationAllowRemoval = "poolwright.io/allow-removal" // consent: <kind>/<name>[,...]
	AnnotationBlockDevice  = "poolwright.io/block-device"  // on a Storage: the block device it is
	AnnotationUsedPercent  = "poolwright.io/used-percent"  // on a fact: how full it is, in steps of five percent
	AnnotationReplicas     = "poolwright.io/replicas"      // on a CStorVolumeConfig that is drained: how many it is to have in the end
	AnnotationLeaves       = "poolwright.io/leaves"        // on the same: the CStorPoolInstance that it leaves
	AnnotationRetained     = "poolwright.io/retained-from" // on what is left to a person: the key of the spec that it was rendered for
	AnnotationLocalConfig  = "config.kubernetes.io/local-config"
)

// Object is one KRM object.
type Object struct {
	finding.Ref
	Source *document.Source // nil for a made object
	Node   *document.Node   // its content
	Raw    []byte           // its text, exactly as it was read or is to be written; ends with a newline
	Path   string           // its file inside the package, as a tool annotated it, or ""
	Index  int              // its place in that file

	origin *origin // where it stood in a ResourceList, or nil
}

// NewObject takes the identity of an object from its content.
func NewObject(src *document.Source, n *document.Node) *Object {
	return &Object{Ref: refOf(n), Source: src, Node: n}
}

func refOf(n *document.Node) finding.Ref {
	meta := n.Get("metadata")
	return finding.Ref{APIVersion: n.Str("apiVersion"), Kind: n.Str("kind"), Namespace: meta.Str("namespace"), Name: meta.Str("name")}
}

// Annotation returns one annotation, or "".
func (o *Object) Annotation(key string) string {
	return o.Node.Str("metadata", "annotations", key)
}

// AnnotationList returns the entries of an annotation that is a list with commas between them,
// without the space around them.
func (o *Object) AnnotationList(key string) []string {
	var entries []string
	for entry := range strings.SplitSeq(o.Annotation(key), ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			entries = append(entries, entry)
		}
	}
	return entries
}

// Label returns one label, or "".
func (o *Object) Label(key string) string {
	return o.Node.Str("metadata", "labels", key)
}

// Owner is the owner annotation of an object that Poolwright rendered, "" for
// anything else. Both marks are needed: people copy labels.
func (o *Object) Owner() string {
	if o.Label(LabelManagedBy) != ManagedBy {
		return ""
	}
	return o.Annotation(AnnotationOwner)
}

// Retained reports whether an object is left to a person by the spec that it was rendered for.
func (o *Object) Retained() bool { return o.Owner() == "" && o.Annotation(AnnotationRetained) != "" }

// RenderedFor is the key of the spec for which an object of an output folder was rendered: its
// owner, or the spec that leaves it to a person, "" for what others wrote there.
func (o *Object) RenderedFor() string {
	if owner := o.Owner(); owner != "" {
		return owner
	}
	return o.Annotation(AnnotationRetained)
}

// Deleting reports whether a live object is being deleted.
func (o *Object) Deleting() bool { return o.Node.Str("metadata", "deletionTimestamp") != "" }

// OwnerKey is the value of the owner annotation on what is rendered for o.
func (o *Object) OwnerKey() string {
	return strings.Join([]string{o.Group(), o.Kind, o.Namespace, o.Name}, "/")
}

// ParseOwner reads an owner annotation: the identity of the spec. It reports false
// for what no OwnerKey is.
func ParseOwner(key string) (ID, bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 4 {
		return ID{}, false
	}
	return ID{parts[0], parts[1], parts[2], parts[3]}, true
}

// ID identifies an object. Versions of one kind are one object to an API
// server, so it holds the group only.
type ID struct{ Group, Kind, Namespace, Name string }

// GroupKind is a kind of object in all of its versions.
type GroupKind = finding.GroupKind

// Compare orders objects by kind, then namespace and name.
func (id ID) Compare(other ID) int {
	return cmp.Or(id.GroupKind().Compare(other.GroupKind()), cmp.Compare(id.Namespace, other.Namespace), cmp.Compare(id.Name, other.Name))
}

// GroupKind is the kind of the object that it identifies.
func (id ID) GroupKind() GroupKind { return GroupKind{Group: id.Group, Kind: id.Kind} }

// ID returns the identity of the object.
func (o *Object) ID() ID { return ID{o.Group(), o.Kind, o.Namespace, o.Name} }

// Item is an object inside o: an entry of an Inventory or of a List.
func (o *Object) Item(n *document.Node) *Object {
	item := *o
	item.Ref, item.Node, item.Raw = refOf(n), n, nil
	return &item
}

// ToolAnnotation reports whether a tool remembers by an annotation where an item came
// from: it is no part of the object.
func ToolAnnotation(key string) bool {
	switch key {
	case "config.kubernetes.io/path", "config.kubernetes.io/index", "config.k8s.io/id", "config.kubernetes.io/origin":
		return true
	}
	return strings.HasPrefix(key, "internal.config.kubernetes.io/")
}
