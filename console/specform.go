package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/poolwright/poolwright/console/edit"
	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/console/view"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
)

// specField is a field of a kind, as its definition has it.
type specField struct {
	page.Field
	path []string
	text bool // its value is a text, whatever it looks like
}

// specFields are the fields of a kind, in the order of its definition; of its metadata the name, the namespace, and
// the annotations that the definition names, which are consents and wishes of a person.
func specFields(s *schema.Schemas, kind string) ([]specField, error) {
	text, err := s.Export(kind, schema.JSONSchema)
	if err != nil {
		return nil, err
	}
	documents, err := document.Parse(&document.Source{Data: text})
	if err != nil || len(documents) != 1 {
		return nil, errors.Join(err, fmt.Errorf("the definition of %s cannot be read", kind))
	}
	root := documents[0].Node
	meta := root.Get("properties", "metadata")
	var fields []specField
	for _, name := range []string{"name", "namespace"} {
		if n := meta.Get("properties", name); n != nil {
			fields = append(fields, leaf(n, []string{"metadata", name}, isRequired(meta, name)))
		}
	}
	fields = walk(fields, root.Get("properties", "spec"), []string{"spec"}, true)
	for _, f := range meta.Get("properties", "annotations", "properties").Fields() {
		fields = append(fields, leaf(&f.Value, []string{"metadata", "annotations", f.Key}, false))
	}
	return fields, nil
}

// walk adds the fields below an object of a definition; needed says that the object has to be there.
func walk(fields []specField, n *document.Node, path []string, needed bool) []specField {
	properties := n.Get("properties").Fields()
	if len(properties) == 0 {
		return append(fields, leaf(n, path, false))
	}
	for i := range properties {
		f := &properties[i]
		below, required := append(slices.Clone(path), f.Key), needed && isRequired(n, f.Key)
		switch {
		case f.Value.Str("type") == "object" && f.Value.Get("properties") != nil:
			fields = walk(fields, &f.Value, below, required)
		default:
			fields = append(fields, leaf(&f.Value, below, required))
		}
	}
	return fields
}

func isRequired(n *document.Node, name string) bool {
	return slices.ContainsFunc(n.Seq("required"), func(r document.Node) bool { return r.Value() == name })
}

// leaf is a field with one value, or with a list or an object that is written as YAML.
func leaf(n *document.Node, path []string, required bool) specField {
	f := specField{path: path, text: n.Str("type") == "string"}
	f.Name = strings.Join(path, ".")
	if len(path) == 3 && path[1] == "annotations" {
		f.Name = "metadata.annotations[" + path[2] + "]"
	}
	f.Label, f.Help = f.Name, n.Str("description")
	if required {
		f.Help += " Required."
	}
	if value := n.Get("default"); value != nil {
		f.Help += " Default: " + strings.TrimSpace(string(document.Append(nil, value, 0))) + "."
	}
	f.Help = strings.TrimSpace(f.Help)
	values := n.Seq("enum")
	if n.Str("type") == "boolean" {
		values = []document.Node{document.Plain("true"), document.Plain("false")}
	}
	if len(values) > 0 {
		f.Options = []page.Option{{Text: "not set"}}
		for _, v := range values {
			f.Options = append(f.Options, page.Option{Value: v.Value(), Text: v.Value()})
		}
	}
	if kind := n.Str("type"); kind == "array" || kind == "object" {
		f.Area = true
		f.Help = strings.TrimSpace(f.Help + " Written as YAML.")
	}
	return f
}

// shown is what a form shows of a value.
func (f *specField) shown(n *document.Node) string {
	switch {
	case n == nil:
		return ""
	case n.Kind() == document.Scalar:
		return n.Value()
	}
	f.Area, f.Options = true, nil
	return strings.TrimSuffix(string(document.Append(nil, n, 0)), "\n")
}

// value reads what was typed; nil for nothing.
func (f *specField) value(typed string) (*document.Node, error) {
	typed = strings.TrimRight(strings.ReplaceAll(typed, "\r\n", "\n"), " \n\t")
	switch {
	case strings.TrimSpace(typed) == "":
		return nil, nil
	case f.Area:
		all, err := document.Parse(&document.Source{Data: []byte(typed + "\n")})
		if err == nil && len(all) != 1 {
			err = errors.New("it is no value of YAML")
		}
		if err != nil {
			return nil, err
		}
		made := all[0].Node.Made()
		return &made, nil
	case f.text:
		n := document.Text(strings.TrimSpace(typed))
		return &n, nil
	}
	n := document.Plain(strings.TrimSpace(typed))
	return &n, nil
}

// without is an object without a field, and without what is empty then.
func without(n *document.Node, path []string) document.Node {
	next := n.Copy()
	if len(path) == 1 {
		next.Delete(path[0])
		return next
	}
	child := n.Get(path[0])
	if child == nil {
		return next
	}
	rest := without(child, path[1:])
	if len(rest.Fields()) == 0 {
		next.Delete(path[0])
	} else {
		next.Set(path[0], rest)
	}
	return next
}

// typeIn puts what was typed into an object, and fills in the fields of a form.
func typeIn(f *form, fields []specField, object *document.Node, values url.Values, posted bool) *document.Node {
	wanted := object.Made()
	for i := range fields {
		field := &fields[i]
		now := object.Get(field.path...)
		field.Value = field.shown(now)
		if posted && values.Has(field.Name) || values.Has(field.Name) && now == nil {
			typed := values.Get(field.Name)
			unchanged := strings.ReplaceAll(typed, "\r\n", "\n") == field.Value
			field.Value = typed
			value, err := field.value(typed)
			switch {
			case err != nil:
				f.wrong[field.Name] = err.Error()
			case unchanged:
			case value == nil:
				wanted = without(&wanted, field.path)
			default:
				krm.SetPath(&wanted, *value, field.path...)
			}
		}
		if len(field.path) == 3 && field.path[1] == "annotations" {
			f.consent = append(f.consent, field.Field)
		} else {
			f.fields = append(f.fields, field.Field)
		}
	}
	f.fieldOf = func(path string) string {
		best := ""
		for i := range fields {
			if name := fields[i].Name; strings.HasPrefix(path, name) && len(name) > len(best) {
				best = name
			}
		}
		return best
	}
	return &wanted
}

// newSpecForm is the form of a new spec of a kind.
func newSpecForm(x *exchange, values url.Values) (*form, *problem) {
	const path = "/specs/new"
	schemas := x.server.config.Function.Schemas()
	var kinds []schema.Kind
	var names []string
	for _, k := range schemas.Kinds() {
		if x.server.config.Function.Kinds().IsSpec(k.GroupKind) {
			kinds, names = append(kinds, k), append(names, k.Kind)
		}
	}
	asked := values.Get("kind")
	i := slices.Index(names, asked)
	switch {
	case asked == "":
		f := &form{title: "New spec", path: path, guarded: choose}
		var links []page.Described
		for _, k := range kinds {
			links = append(links, page.Described{Link: page.Link{Text: k.Kind, Path: path + "?" + url.Values{"kind": {k.Kind}}.Encode()}, Sentence: k.Doc})
		}
		f.before = []page.Block{{Links: links}}
		return f, nil
	case i < 0:
		return nil, refuse(http.StatusNotFound, "not-found", "there is no kind of spec %q%s", asked, schema.DidYouMean(asked, names))
	}
	fields, err := specFields(schemas, asked)
	if err != nil {
		return nil, refuse(http.StatusInternalServerError, "internal", "%v", err)
	}
	f := &form{title: "New " + asked, path: path, wrong: map[string]string{}, hidden: []page.Option{{Text: "kind", Value: asked}}, intro: kinds[i].Doc}
	empty := document.Object(document.F("apiVersion", document.Text(kinds[i].APIVersion())), document.F("kind", document.Text(asked)))
	wanted := typeIn(f, fields, &empty, values, x.request.Method == http.MethodPost)
	text := document.Append(nil, wanted, 0)
	o := krm.NewObject(&document.Source{Name: "YAML", Data: text}, wanted)
	f.back = view.SpecLink(o.Ref)
	if o.Name == "" {
		f.wrong["metadata.name"] = "write a name"
	}
	f.writing = addSpec(o, text)
	return f, nil
}

// specForm is the form of a spec, with its state.
func specForm(x *exchange, values url.Values) (*form, *problem) {
	kind, namespace, name := x.named()
	s, near := x.SpecNamed(kind, namespace, name)
	if s == nil {
		return nil, missing("spec "+kind+" "+name, near, "specs", kind, nameSpace(namespace))
	}
	fields, err := specFields(x.server.config.Function.Schemas(), kind)
	if err != nil {
		return nil, refuse(http.StatusInternalServerError, "internal", "%v", err)
	}
	path, seen, posted := view.SpecLink(s.Object.Ref), etag(s.Object), x.request.Method == http.MethodPost
	if posted {
		seen = values.Get("etag")
	}
	fields = slices.DeleteFunc(fields, func(f specField) bool { return f.Name == "metadata.name" || f.Name == "metadata.namespace" })
	f := &form{title: s.Object.Ref.String(), path: path, back: path, wrong: map[string]string{}, hidden: []page.Option{{Text: "etag", Value: etag(s.Object)}}, actions: []page.Link{{Text: "YAML", Path: path + "/yaml"}}}
	f.failed = failure(s.State, s.Reason, s.Message)
	f.before = []page.Block{{Facts: &page.Facts{Rows: []page.Fact{
		fact("State", phase(s.State)), fact("Reason", plain(s.Reason)), fact("Message", plain(s.Message)), fact("File", code(fmt.Sprintf("%s:%d", s.File, s.Line))),
	}}}}
	if t := findingsTable(x.FindingsOf(s.Object.Ref)); len(t.Rows) > 0 {
		f.before = append(f.before, page.Block{Table: t})
	}
	wanted := typeIn(f, fields, s.Object.Node, values, posted)
	f.writing = editSpec(kind, namespace, name, seen, func(files edit.Files, old *krm.Object) (edit.Files, error) { return edit.Patch(files, old, wanted) })
	f.stale = func() []page.Block {
		now := diff.Diff("now", s.Object.Raw, "as typed", document.Append(nil, wanted, 0))
		return []page.Block{{Text: &page.Text{Heading: "The spec now, and as typed", Body: string(now)}}}
	}
	slices.SortStableFunc(f.fields, func(a, b page.Field) int { return cmp.Compare(unset(a), unset(b)) })
	return f, nil
}

// unset orders the fields that a spec has before those that it has not.
func unset(f page.Field) int {
	if f.Value == "" {
		return 1
	}
	return 0
}
