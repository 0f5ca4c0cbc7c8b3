package snapshot

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Keep adds to the options what the selector terms of specs look at: the
// annotations, and the fields that are not kept anyway.
func (o *Options) Keep(specs []*krm.Object) {
	for _, spec := range specs {
		o.keep(spec.Node.Get("spec"))
	}
	o.Annotations, o.Fields = unique(o.Annotations), unique(o.Fields)
}

func (o *Options) keep(n *document.Node) {
	if n == nil {
		return
	}
	for i := range n.Items() {
		o.keep(&n.Items()[i])
	}
	for i := range n.Fields() {
		f := &n.Fields()[i]
		switch f.Key {
		case "matchAnnotations":
			for j := range f.Value.Fields() {
				o.Annotations = append(o.Annotations, f.Value.Fields()[j].Key)
			}
		case "matchFields":
			for j := range f.Value.Fields() { // path: value
				o.keepPath(f.Value.Fields()[j].Key)
			}
			for j := range f.Value.Items() { // key, operator, values
				o.keepPath(f.Value.Items()[j].Str("key"))
			}
		default:
			o.keep(&f.Value)
		}
	}
}

func (o *Options) keepPath(path string) {
	annotation, found := strings.CutPrefix(path, "metadata.annotations.")
	switch {
	case found:
		o.Annotations = append(o.Annotations, annotation)
	case path != "" && !strings.HasPrefix(path, "metadata"):
		o.Fields = append(o.Fields, path)
	}
}

func unique(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}
