package system

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Converter is a System that can say as specs of its own what was made without any: by
// people, or by other tools. The declaration lists the kinds (Kind.Converts).
type Converter interface {
	// Convert makes specs that render objects as they are. The objects are of kinds that the
	// system declares, nobody owns them, and they are sorted; those that go along with no
	// object of a kind that is converted may be passed over. A spec may say what is the
	// default all the same. facts may be empty.
	Convert(facts *inventory.Facts, objects []*krm.Object) []Conversion
}

// Conversion is a spec, and what it stands for.
type Conversion struct {
	Spec     *krm.Object   // nil where it cannot be said what is there
	From     []*krm.Object // what the spec renders
	Findings []finding.Finding
}

// Reading is an object that is being converted. It remembers which of its fields were
// looked at, so that no other is passed over in silence.
type Reading struct {
	*krm.Object
	Findings []finding.Finding
	read     map[*document.Node]bool
	lives    bool
}

// NewReading begins to read an object, which exists if the facts have it, or an API server
// has marked it.
func NewReading(facts *inventory.Facts, o *krm.Object) *Reading {
	lives := facts.Object(o.ID()) != nil || o.Node.Str("metadata", "uid") != ""
	return &Reading{Object: o, read: map[*document.Node]bool{}, lives: lives}
}

// Take returns what stands at a path below a node of the object, nil if nothing does, and
// counts all of it as said.
func (r *Reading) Take(n *document.Node, path ...string) *document.Node {
	found := n.Get(path...)
	r.read[found] = true
	return found
}

// Report adds a finding about a node of the object, whose field is named by its path.
func (r *Reading) Report(severity finding.Severity, rule string, n *document.Node, field, format string, args ...any) {
	f := finding.Finding{Severity: severity, Rule: rule, Object: r.Ref, Field: field, Pos: r.At(), Message: fmt.Sprintf(format, args...)}
	if n != nil {
		f.Pos = r.Position(n.Off)
	}
	r.Findings = append(r.Findings, f)
}

// RestIs reports the fields that were not taken: a spec of the kind cannot say them. That is
// an error, but of an object that exists a warning where applying what is rendered leaves the
// field as it is: lists are applied as a whole. What is empty says nothing.
func (r *Reading) RestIs(kind string) {
	for i := range r.Node.Fields() {
		switch f := &r.Node.Fields()[i]; f.Key {
		case "apiVersion", "kind", "metadata", "status":
		default:
			r.rest(f.Key, f.Off, &f.Value, kind)
		}
	}
	var keys []string
	for _, of := range []string{"labels", "annotations"} {
		for _, f := range r.Node.Get("metadata", of).Fields() {
			if !r.read[r.Node.Get("metadata", of, f.Key)] && !ofTools(f.Key) {
				keys = append(keys, f.Key)
			}
		}
	}
	if len(keys) > 0 {
		slices.Sort(keys)
		r.Report(finding.Info, "not-rendered", nil, "metadata", "its labels and annotations are not rendered, and stay as they are in the cluster: %s", finding.Names(keys))
	}
}

// ofTools reports whether a tool wrote a label or annotation for itself.
func ofTools(key string) bool {
	return krm.ToolAnnotation(key) || strings.HasPrefix(key, "kubectl.kubernetes.io/") || strings.Contains(key, "poolwright.io/") ||
		key == krm.AnnotationLocalConfig || key == krm.LabelManagedBy
}

// rest reports what of a value was not taken; keyOff is where its key stands.
func (r *Reading) rest(path string, keyOff int32, n *document.Node, kind string) {
	switch {
	case r.read[n]:
	case n.Kind() == document.Map:
		for i := range n.Fields() {
			f := &n.Fields()[i]
			r.rest(path+"."+f.Key, f.Off, &f.Value, kind)
		}
	case n.Kind() == document.Seq:
		for i := range n.Items() {
			item := &n.Items()[i]
			r.rest(fmt.Sprintf("%s[%d]", path, i), item.Off, item, kind)
		}
	case n.Kind() == document.Scalar && n.Value() != "":
		f := finding.Finding{
			Severity: finding.Error, Rule: "not-sayable", Object: r.Ref, Field: path, Pos: r.Position(keyOff),
			Message: fmt.Sprintf("is %s, and a %s has no field that says so; remove it first, or keep this %s as a manifest of your own", n.Value(), kind, r.Kind),
		}
		if r.lives && !strings.Contains(path, "[") {
			f.Severity = finding.Warning
			f.Message = fmt.Sprintf("is %s, and a %s has no field that says so: it is not rendered, and stays as it is in the cluster", n.Value(), kind)
		}
		r.Findings = append(r.Findings, f)
	}
}
