package snapshot

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
)

// item is an object as compact JSON, keys in order: as a tree, all objects of a
// large cluster would take ten times the memory.
type item struct{ namespace, name, json string }

// slimmer makes items of the objects of one kind.
type slimmer struct {
	mask        mask
	annotations []string // kept beside those of Poolwright
	buf         []byte
}

// slimmer is the one for a kind.
func (o Options) slimmer(kind *system.Kind) *slimmer {
	s := &slimmer{mask: parseMask(kind.Keep), annotations: kind.Annotations}
	if kind.Selected {
		s.annotations = slices.Concat(s.annotations, o.Annotations)
		for _, path := range o.Fields {
			s.mask = s.mask.with(strings.Split(path, "."))
		}
	}
	return s
}

// item copies what is kept of an object.
func (s *slimmer) item(n *document.Node) item {
	meta := n.Get("metadata")
	root := document.Object(
		document.F("apiVersion", document.Text(n.Str("apiVersion"))),
		document.F("kind", document.Text(n.Str("kind"))),
		document.F("metadata", s.metadata(meta)),
	)
	root.Fields = append(root.Fields, s.mask.apply(n).Fields...)
	s.buf = document.AppendJSON(s.buf[:0], &root)
	return item{
		namespace: strings.Clone(meta.Str("namespace")),
		name:      strings.Clone(meta.Str("name")),
		json:      string(s.buf),
	}
}

// metadataFields are kept of every object, in this order.
var metadataFields = [...]string{"name", "namespace", "labels", "annotations", "uid", "creationTimestamp", "deletionTimestamp"}

func (s *slimmer) metadata(meta *document.Node) document.Node {
	out := document.Object()
	for _, key := range metadataFields {
		value := meta.Get(key)
		if value == nil || value.Kind == document.Null {
			continue
		}
		kept := *value
		if kept.Kind == document.Map {
			kept.Fields = nil
			for _, f := range value.Fields {
				if key == "labels" || s.keepsAnnotation(f.Key) {
					f.Value.Value = clean(f.Value.Value)
					kept.Fields = append(kept.Fields, f)
				}
			}
			if len(kept.Fields) == 0 {
				continue
			}
			slices.SortFunc(kept.Fields, byKey)
		}
		out.Fields = append(out.Fields, document.F(key, kept))
	}
	return out
}

func (s *slimmer) keepsAnnotation(key string) bool {
	return strings.HasPrefix(key, "poolwright.io/") || slices.Contains(s.annotations, key)
}
