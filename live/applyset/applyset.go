// Package applyset has the objects that a Hydration applied to its cluster: it finds them, reads what of
// them was applied, follows them, and writes them. The Hydration is the parent of an ApplySet, the
// objects are its members.
//
// Source: Kubernetes, KEP-3659 (ApplySet: kubectl apply --prune redesign), v1alpha1.
package applyset

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/schema/document"
)

// Manager is the field manager that applies.
const Manager = "poolwright"

// Keys of KEP-3659, and those that members have besides.
const (
	labelID              = "applyset.kubernetes.io/id"
	labelPartOf          = "applyset.kubernetes.io/part-of"
	annotationTooling    = "applyset.kubernetes.io/tooling"
	annotationKinds      = "applyset.kubernetes.io/contains-group-kinds"
	annotationNamespaces = "applyset.kubernetes.io/additional-namespaces"

	annotationHydration = "poolwright.io/hydration" // namespace/name of the Hydration, for people
	annotationStage     = "poolwright.io/stage"     // of fn.Rendered, for the way back
)

// tooling is what the parent calls the tool that manages the set.
const tooling = "poolwright/v1alpha1"

// Set is the ApplySet of a Hydration.
type Set struct {
	ID     string
	Parent hydrations.Key
}

// Of is the set of a Hydration.
func Of(parent hydrations.Key) Set {
	kind := hydrations.Kind()
	sum := sha256.Sum256([]byte(strings.Join([]string{parent.Name, parent.Namespace, kind.Kind, kind.Group}, ".")))
	return Set{ID: "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1", Parent: parent}
}

// Member is a live object of a set.
type Member struct {
	cluster.Resource
	Live    *krm.Object // as the API server has it
	Applied *krm.Object // what the field manager poolwright applied of it, without the marks of the set
}

// newMember reads a live object.
func newMember(r cluster.Resource, n *document.Node) *Member {
	live := krm.NewObject(nil, n)
	return &Member{Resource: r, Live: live, Applied: krm.NewObject(nil, applied(n))}
}

// Stage is that with which the object was applied.
func (m *Member) Stage() int {
	stage, _ := strconv.Atoi(m.Live.Annotation(annotationStage))
	return stage
}

// In reports whether a live object is a member of the set.
func (s Set) In(live *krm.Object) bool { return live.Label(labelPartOf) == s.ID }

// Taken names who else has a live object: the Hydration of another set, or else those who manage it. It
// is "" for a member, and for output of the spec with a key that is in no set.
func (s Set) Taken(live *krm.Object, owner string) string {
	switch of := live.Label(labelPartOf); {
	case of == s.ID:
		return ""
	case of != "":
		return cmp.Or(prefixed("Hydration ", live.Annotation(annotationHydration)), "the ApplySet "+of)
	case owner != "" && live.Owner() == owner:
		return ""
	case live.Owner() != "":
		return "output of the spec " + live.Owner()
	}
	return "managed by " + managers(live.Node)
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// managers names the field managers of an object.
func managers(live *document.Node) string {
	names := map[string]bool{}
	entries := live.Seq("metadata", "managedFields")
	for i := range entries {
		if name := entries[i].Str("manager"); name != Manager && entries[i].Str("subresource") == "" {
			names[strconv.Quote(name)] = true
		}
	}
	if len(names) == 0 {
		return "somebody else"
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

// marked is a rendered object with the marks of the set.
func (s Set) marked(o *krm.Object, stage int) *document.Node {
	n := o.Node.Copy()
	meta := copied(n.Get("metadata"))
	labels, annotations := copied(meta.Get("labels")), copied(meta.Get("annotations"))
	labels.Set(labelPartOf, document.Text(s.ID))
	annotations.Set(annotationHydration, document.Text(s.Parent.String()))
	annotations.Set(annotationStage, document.Text(strconv.Itoa(stage)))
	meta.Set("labels", labels)
	meta.Set("annotations", annotations)
	n.Set("metadata", meta)
	return &n
}

// copied is a map that can be changed without changing the original.
func copied(n *document.Node) document.Node {
	if n == nil {
		return document.Object()
	}
	return n.Copy()
}

// isMark reports whether a label or annotation is of the set, and not of the output.
func isMark(key string) bool {
	return key == labelPartOf || key == annotationHydration || key == annotationStage
}
