package schema

import (
	"fmt"
	"path"
	"strings"

	"cuelang.org/go/cue"

	"github.com/poolwright/poolwright/schema/document"
)

// crd is a CustomResourceDefinition with a structural schema.
func (s *Schemas) crd(d *definition) document.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := schemaWriter{dialect: CRD, parts: s.compiled.celParts(d.name.folder)}
	field := d.shape.field("status")
	var status *shape // where it is not the one of the definition
	if field != nil && field.live != "" {
		folder, name, _ := strings.Cut(field.live, ".")
		status = s.shapes.read(s.compiled.definition(definitionName{folder, name}))
	}
	version := document.Object(
		document.F("name", document.Text(d.Version)),
		document.F("served", document.Bool(true)),
		document.F("storage", document.Bool(true)),
		document.F("additionalPrinterColumns", columnList(d.columns())),
		document.F("schema", document.Object(
			document.F("openAPIV3Schema", w.root(d.shape, status)),
		)),
	)
	if selectable := d.selectable(); len(selectable) > 0 {
		fields := document.List()
		for _, path := range selectable {
			fields.Add(document.Object(document.F("jsonPath", document.Text(path))))
		}
		version.Set("selectableFields", fields)
	}
	if field != nil {
		version.Set("subresources", document.Object(document.F("status", document.Object())))
	}
	names := document.Object(
		document.F("kind", document.Text(d.Kind.Kind)),
		document.F("listKind", document.Text(d.Kind.Kind+"List")),
		document.F("plural", document.Text(d.Plural)),
		document.F("singular", document.Text(strings.ToLower(d.Kind.Kind))),
		document.F("categories", texts([]string{"poolwright", "storage"})),
	)
	if d.Short != "" {
		names.Set("shortNames", texts([]string{d.Short}))
	}
	meta := document.Object(document.F("name", document.Text(d.Plural+"."+d.Group)))
	if d.label != "" {
		meta.Set("labels", document.Object(document.F(d.label, document.Text("true"))))
	}
	return document.Object(
		document.F("apiVersion", document.Text("apiextensions.k8s.io/v1")),
		document.F("kind", document.Text("CustomResourceDefinition")),
		document.F("metadata", meta),
		document.F("spec", document.Object(
			document.F("group", document.Text(d.Group)),
			document.F("names", names),
			document.F("scope", document.Text(d.Scope)),
			document.F("versions", document.List(version)),
		)),
	)
}

// celParts are what the CEL of a package is put together from: $name by the
// hidden field _name of its folder cel.
func (c *compiled) celParts(folder string) map[string]string {
	folder = path.Join(folder, celFolder)
	if len(c.sources.files(c.parsed, folder)) == 0 {
		return nil
	}
	v := c.folder(folder)
	fields, err := v.Fields(cue.Hidden(true))
	if err != nil {
		panic(fmt.Sprintf("schema: %v", err))
	}
	parts := map[string]string{}
	for fields.Next() {
		if expr, err := fields.Value().String(); err == nil {
			parts["$"+strings.TrimPrefix(fields.Selector().String(), "_")] = expr
		}
	}
	return parts
}

func columnList(columns []column) document.Node {
	list := document.List()
	for _, c := range columns {
		n := document.Object(
			document.F("name", document.Text(c.name)),
			document.F("type", document.Text(c.kind)),
			document.F("jsonPath", document.Text(c.path)),
		)
		if c.wide {
			n.Set("priority", document.Int(1))
		}
		list.Add(n)
	}
	return list
}

// root is the schema of a CRD: the API server itself looks after apiVersion,
// kind and metadata, of which only the names may be restricted.
func (w *schemaWriter) root(s, status *shape) document.Node {
	n := w.schema(s)
	if len(w.lifted) > 0 {
		panic(fmt.Sprintf("schema: no object is so far above %s: %s", w.lifted[0].path, w.lifted[0].expr))
	}
	properties := n.Get("properties")
	for _, key := range []string{"apiVersion", "kind"} {
		properties.Set(key, document.Object(document.F("type", document.Text("string"))))
	}
	meta := document.Object(document.F("type", document.Text("object")))
	if m := s.field("metadata"); m != nil && m.field("name") != nil {
		name := w.schema(m.field("name").shape)
		name.Delete("description")
		names := document.Object(document.F("name", name))
		if g := m.field("generateName"); g != nil && g.unsupported != "" {
			names.Set("generateName", document.Object(document.F("type", document.Text("string"))))
			addValidations(&n, validation{celRule: celRule{
				expr:    "!has(self.metadata.generateName)",
				message: "is not supported: " + g.unsupported,
				at:      "generateName",
			}, path: ".metadata"})
		}
		meta.Set("properties", names)
	}
	properties.Set("metadata", meta)
	if status != nil {
		properties.Set("status", w.schema(status))
	}
	return n
}

// freeTarget has a field be left out that is written under an old name: it has no
// default then, which would look as if both names were given, and is required in
// CEL only.
func freeTarget(properties *document.Node, a alias) {
	for i, key := range a.new {
		target := properties.Get(key)
		if value := target.Get("default"); value != nil {
			if value.Kind() == document.Scalar {
				target.Set("description", document.Text(target.Str("description")+" Default: "+value.Value()+"."))
			}
			target.Delete("default")
		}
		if i == len(a.new)-1 {
			return
		}
		if required := target.Get("required"); required != nil {
			required.SetItems(without(required.Items(), a.new[i+1]))
			if len(required.Items()) == 0 {
				target.Delete("required")
			}
		}
		properties = target.Get("properties")
	}
}

func without(items []document.Node, text string) []document.Node {
	var rest []document.Node
	for _, item := range items {
		if item.Value() != text {
			rest = append(rest, item)
		}
	}
	return rest
}

// mapForm is the schema of a list of {key, operator, values} that may be written
// as key: value. A value of two types has none in a structural schema, so each
// keyword speaks of one of them: items of the list, additionalProperties of the
// map. CEL does not look into what has no type.
func (w *schemaWriter) mapForm(s *shape, items document.Node, n *document.Node) {
	items.Delete("x-kubernetes-validations")
	for i := range s.elem.rules {
		keywords := parsedYAML(s.elem.rules[i].text("schema"))
		items.SetFields(append(items.Fields(), keywords.Fields()...))
	}
	values := document.Object(
		document.F("description", document.Text("The value that the field has, or a list of the values that it may have.")),
		document.F("minItems", document.Int(1)),
		document.F("items", document.Object(document.F("type", document.Text("string")))),
	)
	untyped(&values)
	none(&values, "minProperties", "maxProperties")
	n.Set("minItems", document.Int(1))
	n.Set("minProperties", document.Int(1))
	if s.most > 0 {
		n.Set("maxItems", document.Int(int64(s.most)))
		n.Set("maxProperties", document.Int(int64(s.most)))
	}
	n.Set("items", items)
	n.Set("additionalProperties", values)
	untyped(n)
	none(n, "minLength", "maxLength")
}

// untyped is for a value of several types, of which none is a number or a boolean.
func untyped(n *document.Node) {
	n.Set("x-kubernetes-preserve-unknown-fields", document.Bool(true))
	none(n, "minimum", "maximum")
	n.Set("not", document.Object(document.F("enum", document.List(document.Bool(true), document.Bool(false)))))
}

// none sets bounds that no value keeps of the one type that they speak of.
func none(n *document.Node, least, most string) {
	n.Set(least, document.Int(1))
	n.Set(most, document.Int(0))
}

// parsedYAML is a document of the definitions.
func parsedYAML(text string) document.Node {
	docs, err := document.Parse(&document.Source{Name: "schema", Data: []byte(text)})
	if err != nil {
		panic(fmt.Sprintf("schema: %v", err))
	}
	if len(docs) == 0 {
		return document.Node{}
	}
	return docs[0].Node
}
