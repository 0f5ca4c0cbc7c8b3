package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/quantity"
)

// quantityPattern is what Kubernetes itself writes for quantities.
const quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// schemaWriter writes a shape in one of the dialects of JSON Schema. The CRD
// dialect is the OpenAPI one, made structural: every value has one type. What
// that cannot say, it says in CEL.
type schemaWriter struct {
	dialect Format
	parts   map[string]string // what $name stands for in CEL
	lifted  []validation      // rules of inner objects that an outer one has to check
	items   int               // how many of what is written there may be, in lists of lists; 0 outside of lists
}

func (w *schemaWriter) schema(s *shape) document.Node {
	n := document.Object()
	if s.doc != "" {
		n.Set("description", document.Text(s.doc))
	}
	switch s.sort {
	case anything:
		w.anything(s, &n)
	case object:
		w.object(s, &n)
		if s.short != "" {
			w.short(s, &n)
		}
	case list:
		w.list(s, &n)
	case amount:
		w.quantity(s, &n)
	default:
		if s.numeral {
			w.numeral(s, &n)
			break
		}
		w.scalar(s, &n)
	}
	if s.deflt != "" && !s.computed {
		n.Set("default", valueOf(s.deflt))
	}
	return n
}

func (w *schemaWriter) anything(s *shape, n *document.Node) {
	switch {
	case w.dialect == CRD && s.open:
		n.Set("type", document.Text("object"))
		n.Set("x-kubernetes-preserve-unknown-fields", document.Bool(true))
	case w.dialect == CRD:
		n.Set("x-kubernetes-preserve-unknown-fields", document.Bool(true))
	case s.open:
		n.Set("type", document.Text("object"))
	}
}

func (w *schemaWriter) object(s *shape, n *document.Node) {
	n.Set("type", document.Text("object"))
	properties := document.Object()
	var required []document.Node
	outer := w.lifted
	w.lifted = nil
	for i := range s.fields {
		f := &s.fields[i]
		if f.unsupported != "" {
			continue
		}
		properties.Set(f.name, w.field(f))
		if f.required && !s.aliased(f.name) {
			required = append(required, document.Text(f.name))
		}
	}
	for _, a := range s.aliases {
		properties.Set(a.old, w.alias(s, a))
		if w.dialect == CRD {
			freeTarget(&properties, a)
		}
	}
	if len(required) > 0 {
		n.Set("required", document.List(required...))
	}
	if len(properties.Fields()) > 0 {
		n.Set("properties", properties)
	}
	if s.nonempty != "" {
		n.Set("minProperties", document.Int(1))
	}
	if s.most > 0 {
		n.Set("maxProperties", document.Int(int64(s.most)))
	}
	switch {
	case s.keys != nil && (w.dialect != CRD || len(properties.Fields()) == 0):
		if w.dialect == JSONSchema {
			names := w.schema(s.keys)
			names.Delete("description")
			if known := s.names(); len(known) > 0 {
				names = document.Object(document.F("anyOf", document.List(
					document.Object(document.F("enum", texts(known))), names)))
			}
			n.Set("propertyNames", names)
		}
		n.Set("additionalProperties", w.schema(s.elem))
	case s.keys != nil:
		// A structural schema has either properties or additionalProperties, so
		// the description explains the fields.
		n.Delete("properties")
		about := n.Str("description")
		for i := range s.fields {
			about += " " + s.fields[i].name + ": " + s.fields[i].doc
		}
		n.Set("description", document.Text(strings.TrimSpace(about)))
		n.Set("additionalProperties", w.schema(s.elem))
	case !s.open && w.dialect != CRD:
		n.Set("additionalProperties", document.Bool(false))
	}
	w.validate(s, n)
	w.lifted = append(outer, w.lifted...)
}

// field is the schema of one field.
func (w *schemaWriter) field(f *field) document.Node {
	from := len(w.lifted)
	n := w.schema(f.shape)
	for i := range w.lifted[from:] {
		w.lifted[from+i].up--
		w.lifted[from+i].path = pathStep(f.name) + w.lifted[from+i].path
	}
	// An API server fills in defaults only where the object around them is.
	if w.dialect == CRD && f.sort == object && !f.optional && !f.required && f.hasDefault() {
		n.Set("default", document.Object())
	}
	return n
}

// aliased reports whether a field may be there under an old name instead.
func (s *shape) aliased(name string) bool {
	return slices.ContainsFunc(s.aliases, func(a alias) bool { return a.new[0] == name })
}

// alias is the schema of an old name: that of the new one, marked as old.
func (w *schemaWriter) alias(s *shape, a alias) document.Node {
	for _, key := range a.new {
		s = s.field(key).shape
	}
	from := len(w.lifted)
	n := w.schema(s)
	w.lifted = w.lifted[:from] // they read the current name
	n.Delete("default")
	n.Set("description", document.Text("Old name of "+strings.Join(a.new, ".")+"."))
	if w.dialect != CRD {
		n.Set("deprecated", document.Bool(true))
	}
	return n
}

func (w *schemaWriter) list(s *shape, n *document.Node) {
	from, around := len(w.lifted), w.items
	w.items = max(1, around) * max(1, s.most)
	items := w.schema(s.elem)
	w.items = around
	if len(w.lifted) > from {
		panic("schema: a rule looks out of its list: " + w.lifted[from].expr)
	}
	switch {
	case s.mapform && w.dialect == CRD:
		w.mapForm(s, items, n)
		return
	case s.mapform:
		n.Set("anyOf", document.List(
			document.Object(
				document.F("type", document.Text("array")),
				document.F("minItems", document.Int(1)),
				document.F("items", items)),
			document.Object(
				document.F("type", document.Text("object")),
				document.F("minProperties", document.Int(1)),
				document.F("additionalProperties", document.Object(document.F("anyOf", document.List(
					document.Object(document.F("type", document.Text("string"))),
					document.Object(
						document.F("type", document.Text("array")),
						document.F("items", document.Object(document.F("type", document.Text("string"))))))))),
			),
		))
		return
	}
	if s.single && w.dialect != CRD { // a list in a CRD has one type
		n.Set("anyOf", document.List(document.Object(document.F("type", document.Text("array")), document.F("items", items)), items))
		return
	}
	n.Set("type", document.Text("array"))
	n.Set("items", items)
	if s.nonempty != "" {
		n.Set("minItems", document.Int(1))
	}
	if s.most > 0 {
		n.Set("maxItems", document.Int(int64(s.most)))
	}
	if s.mapkey != "" && w.dialect == CRD {
		n.Set("x-kubernetes-list-type", document.Text("map"))
		n.Set("x-kubernetes-list-map-keys", texts([]string{s.mapkey}))
	}
}

// short is the schema of an object in whose place a text may stand. Where a value has one
// type, each keyword speaks of one of the two, see mapForm.
func (w *schemaWriter) short(s *shape, n *document.Node) {
	field := s.field(s.short).shape
	if w.dialect != CRD {
		whole := n.Copy()
		whole.Delete("description")
		*n = document.Object()
		if s.doc != "" {
			n.Set("description", document.Text(s.doc))
		}
		n.Set("anyOf", document.List(w.schema(field), whole))
		return
	}
	n.Delete("type")
	n.Delete("x-kubernetes-validations")
	for i := range s.rules {
		keywords := parsedYAML(s.rules[i].text("schema"))
		n.SetFields(append(n.Fields(), keywords.Fields()...))
	}
	switch {
	case field.pattern != nil:
		n.Set("pattern", document.Text(field.pattern.String()))
	case len(field.enum) > 0:
		n.Set("pattern", document.Text("^("+strings.Join(field.enum, "|")+")$"))
	}
	if field.maxLen > 0 {
		n.Set("maxLength", document.Int(int64(field.maxLen)))
	}
	untyped(n)
	none(n, "minItems", "maxItems")
}

func (w *schemaWriter) quantity(s *shape, n *document.Node) {
	if w.dialect == JSONSchema {
		n.Set("type", texts([]string{"string", "number"}))
	} else {
		n.Set("anyOf", document.List(
			document.Object(document.F("type", document.Text("integer"))),
			document.Object(document.F("type", document.Text("string")))))
		n.Set("x-kubernetes-int-or-string", document.Bool(true))
	}
	n.Set("maxLength", document.Int(quantity.MaxLength))
	if w.dialect == CRD {
		if w.items <= mostChecked {
			addValidations(n, quantityRules(s)...)
		}
		return
	}
	n.Set("pattern", document.Text(quantityPattern))
}

// numeral writes a text that may be a number: of that, a pattern alone says nothing.
func (w *schemaWriter) numeral(s *shape, n *document.Node) {
	if w.dialect == JSONSchema {
		n.Set("type", texts([]string{"string", "integer"}))
	} else {
		n.Set("anyOf", document.List(
			document.Object(document.F("type", document.Text("integer"))),
			document.Object(document.F("type", document.Text("string")))))
		n.Set("x-kubernetes-int-or-string", document.Bool(true))
	}
	if s.maxLen > 0 {
		n.Set("maxLength", document.Int(int64(s.maxLen)))
	}
	if w.dialect == CRD {
		addValidations(n, validation{celRule: celRule{
			expr:    "string(self).matches(" + celText(s.pattern.String()) + ")",
			message: "must be " + s.wanted(),
		}})
		return
	}
	n.Set("pattern", document.Text(s.pattern.String()))
}

func (w *schemaWriter) scalar(s *shape, n *document.Node) {
	n.Set("type", document.Text(map[sort]string{
		text: "string", whole: "integer", number: "number", truth: "boolean",
	}[s.sort]))
	if len(s.enum) > 0 {
		values := texts(s.enum)
		if s.sort != text {
			for i := range values.Items() {
				values.Items()[i].Quoted = false
			}
		}
		n.Set("enum", values)
	}
	if s.sort == text && s.maxLen > 0 {
		n.Set("maxLength", document.Int(int64(s.maxLen)))
	}
	if s.pattern != nil {
		n.Set("pattern", document.Text(s.pattern.String()))
	}
	if s.time {
		n.Set("format", document.Text("date-time"))
	}
	w.bound(n, "minimum", "exclusiveMinimum", s.min)
	w.bound(n, "maximum", "exclusiveMaximum", s.max)
}

// bound writes a limit: draft 2020-12 has a number for an exclusive one,
// OpenAPI 3.0 a flag beside it.
func (w *schemaWriter) bound(n *document.Node, inclusive, exclusive string, b *bound) {
	if b == nil {
		return
	}
	value := valueOf(b.text)
	switch {
	case !b.exclusive:
		n.Set(inclusive, value)
	case w.dialect == JSONSchema:
		n.Set(exclusive, value)
	default:
		n.Set(inclusive, value)
		n.Set(exclusive, document.Bool(true))
	}
}

func texts(values []string) document.Node {
	items := make([]document.Node, len(values))
	for i, v := range values {
		items[i] = document.Text(v)
	}
	return document.List(items...)
}

// valueOf is a scalar that was written as JSON.
func valueOf(text string) document.Node {
	var s string
	if err := json.Unmarshal([]byte(text), &s); err == nil {
		return document.Text(s)
	}
	return document.Plain(text)
}
