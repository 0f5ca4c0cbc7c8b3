package snapshot

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
)

// item is an object as compact JSON, keys in order: as a tree, all objects of a
// large cluster would take ten times the memory.
type item struct {
	namespace, name, json string
	node                  string // that it names
	at                    int64  // of an event, when it was seen last: microseconds of Unix time
}

// slimmer makes items of the objects of one kind.
type slimmer struct {
	kind        *system.Kind
	mask        mask
	annotations []string // kept beside those of Poolwright
	buf         []byte
}

// slimmer is the one for a kind.
func (o Options) slimmer(kind *system.Kind) *slimmer {
	s := &slimmer{kind: kind, mask: parseMask(kind.Keep), annotations: kind.Annotations}
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
	var at int64
	if s.kind.Tells == system.TellsEvents {
		at, meta = inventory.SeenLast(n).UnixMicro(), eventMetadata(n)
	}
	root := document.Object(
		document.F("apiVersion", document.Text(n.Str("apiVersion"))),
		document.F("kind", document.Text(n.Str("kind"))),
		document.F("metadata", s.metadata(meta, s.share(n))),
	)
	if !s.kind.Identity {
		rest := s.mask.apply(n)
		root.SetFields(append(root.Fields(), rest.Fields()...))
	}
	s.buf = document.AppendJSON(s.buf[:0], &root)
	node := ""
	for _, path := range s.kind.Node {
		node = cmp.Or(node, n.Str(path...))
	}
	return item{
		node:      strings.Clone(node),
		namespace: strings.Clone(meta.Str("namespace")),
		name:      strings.Clone(meta.Str("name")),
		json:      string(s.buf),
		at:        at,
	}
}

// metadataFields are kept of every object, in this order; the generation where the status
// says how far a controller is, or that distinguishes an old snapshot from a new one.
var metadataFields = [...]string{"name", "namespace", "labels", "annotations", "uid", "generation", "creationTimestamp", "deletionTimestamp"}

// share is how full an object is, in steps of five percent, rounded down; "" where it does
// not show it.
func (s *slimmer) share(n *document.Node) string {
	if len(s.kind.Used) == 0 {
		return ""
	}
	used, err := resource.ParseQuantity(n.Str(s.kind.Used...))
	if err != nil {
		return ""
	}
	total, err := resource.ParseQuantity(n.Str(s.kind.Total...))
	if err != nil || total.Sign() <= 0 {
		return ""
	}
	const step = 5
	percent := min(100, 100*used.AsApproximateFloat64()/total.AsApproximateFloat64()) // it may be behind with a total that has become smaller
	return strconv.Itoa(int(percent) / step * step)
}

func (s *slimmer) metadata(meta *document.Node, share string) document.Node {
	out := document.Object()
	for _, key := range metadataFields {
		if key == "generation" && !s.kind.Applied && !s.kind.Counted {
			continue
		}
		if s.kind.Identity && key != "name" && key != "uid" {
			continue
		}
		value := meta.Get(key)
		if key == "annotations" && share != "" {
			with := document.Object()
			if value != nil {
				with.SetFields(slices.Clone(value.Fields()))
			}
			with.Set(krm.AnnotationUsedPercent, document.Text(share))
			value = &with
		}
		if value == nil || value.Kind() == document.Null {
			continue
		}
		kept := *value
		if kept.Kind() == document.Map {
			kept.SetFields(nil)
			for _, f := range value.Fields() {
				if key == "labels" || s.keepsAnnotation(f.Key) {
					f.Value = cleaned(f.Value)
					kept.SetFields(append(kept.Fields(), f))
				}
			}
			if len(kept.Fields()) == 0 {
				continue
			}
			slices.SortFunc(kept.Fields(), byKey)
		}
		out.SetFields(append(out.Fields(), document.F(key, kept)))
	}
	if owners := meta.Seq("ownerReferences"); s.kind.Owners && len(owners) > 0 {
		out.SetFields(append(out.Fields(), document.F("ownerReferences", ownersOf(owners))))
	}
	return out
}

// ownersOf keeps who owns an object, by name and uid.
func ownersOf(owners []document.Node) document.Node {
	mask := parseMask("apiVersion kind name uid controller")
	kept := document.List()
	for i := range owners {
		kept.Add(mask.apply(&owners[i]))
	}
	return kept
}

func (s *slimmer) keepsAnnotation(key string) bool {
	return strings.HasPrefix(key, "poolwright.io/") || slices.Contains(s.annotations, key)
}
