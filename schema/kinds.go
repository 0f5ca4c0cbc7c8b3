package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// definitionName is where a definition stands.
type definitionName struct{ folder, name string }

// definition is that of a kind.
type definition struct {
	Kind
	name  definitionName
	value cue.Value
	shape *shape // nil until the definition is asked for
	label string // of the CustomResourceDefinition, with the value true; "" for none
	// For objects that are rendered for specs of a kind, where more is asked of them.
	narrowed map[finding.GroupKind]*definition
}

// definitions finds every definition of a kind. It reads the syntax only: most of
// them are never asked for.
func (s sources) definitions(parsed syntax) map[finding.GroupKind]*definition {
	kinds := map[finding.GroupKind]*definition{}
	byName := map[definitionName]*definition{}
	var narrowings []narrowing
	for _, folder := range s.folders() {
		for _, file := range s.files(parsed, folder, "@kind(", "@rendered(") {
			for _, decl := range file.Decls {
				f, ok := decl.(*ast.Field)
				if !ok {
					continue
				}
				label, _, _ := ast.LabelName(f.Label)
				name := definitionName{folder, label}
				if d := readKind(name, f); d != nil {
					if twin := kinds[d.GroupKind]; twin != nil {
						panic(fmt.Sprintf("schema: two definitions of %s: %v and %v", d.GroupKind, twin.name, name))
					}
					kinds[d.GroupKind], byName[name] = d, d
				}
				if n, ok := readNarrowing(name, f); ok {
					narrowings = append(narrowings, n)
				}
			}
		}
	}
	for _, n := range narrowings {
		base, spec := byName[n.of], byName[definitionName{n.name.folder, "#" + n.spec}]
		if base == nil || spec == nil || spec.Role != Spec {
			panic(fmt.Sprintf("schema: %v: want a kind & {@rendered(for=a kind of spec of the same package)}", n.name))
		}
		if base.narrowed == nil {
			base.narrowed = map[finding.GroupKind]*definition{}
		}
		base.Role = Rendered
		base.narrowed[spec.GroupKind] = &definition{name: n.name}
	}
	for _, d := range kinds {
		for _, n := range d.narrowed {
			n.Kind = d.Kind
		}
	}
	return kinds
}

// readKind reads a definition that is a kind; nil for any other.
func readKind(name definitionName, f *ast.Field) *definition {
	lit, ok := f.Value.(*ast.StructLit)
	if !ok {
		return nil
	}
	says := attribute(lit, "kind")
	if says == nil {
		return nil
	}
	d := &definition{name: name}
	d.Kind.Kind = literal(lit, "kind")
	apiVersion := literal(lit, "apiVersion")
	if apiVersion == "" || "#"+d.Kind.Kind != name.name {
		panic(fmt.Sprintf("schema: %v: want apiVersion!, and kind! by which the definition is called", name))
	}
	var found bool
	if d.Group, d.Version, found = strings.Cut(apiVersion, "/"); !found {
		d.Group, d.Version = "", apiVersion
	}
	d.Role = Role(cmp.Or(says["role"], string(Fact)))
	d.Scope, d.Plural, d.Short = says["scope"], says["plural"], says["short"]
	d.label = says["label"]
	_, d.Foreign = says["foreign"]
	_, d.File = says["file"]
	for _, group := range ast.Comments(f) {
		if group.Doc {
			d.Doc, _, _ = strings.Cut(strings.Join(strings.Fields(group.Text()), " "), ". ")
			d.Doc = strings.TrimSuffix(d.Doc, ".") + "."
		}
	}
	return d
}

// narrowing is a definition of what more a kind must be where it is rendered for
// specs of a kind.
type narrowing struct {
	name definitionName
	of   definitionName
	spec string
}

// readNarrowing reads a definition of the form package.#Kind & {@rendered(for=Spec)}.
func readNarrowing(name definitionName, f *ast.Field) (narrowing, bool) {
	both, ok := f.Value.(*ast.BinaryExpr)
	if !ok {
		return narrowing{}, false
	}
	lit, ok := both.Y.(*ast.StructLit)
	if !ok {
		return narrowing{}, false
	}
	says := attribute(lit, "rendered")
	n := narrowing{name: name, spec: says["for"]}
	switch of := both.X.(type) {
	case *ast.SelectorExpr:
		n.of = imported(of)
	case *ast.Ident:
		n.of = definitionName{name.folder, of.Name}
	}
	return n, says != nil
}

// attribute reads an attribute of a struct: what each word of it is, "" for a word
// alone; nil where there is none.
func attribute(lit *ast.StructLit, name string) map[string]string {
	for _, e := range lit.Elts {
		a, ok := e.(*ast.Attribute)
		if !ok {
			continue
		}
		key, body := a.Split()
		if key != name {
			continue
		}
		says := map[string]string{}
		for word := range strings.SplitSeq(body, ",") {
			key, value, _ := strings.Cut(strings.TrimSpace(word), "=")
			says[key] = value
		}
		return says
	}
	return nil
}

// literal is the text that a field of a struct must be, the first of several, or "".
func literal(lit *ast.StructLit, name string) string {
	for _, e := range lit.Elts {
		f, ok := e.(*ast.Field)
		if !ok {
			continue
		}
		if label, _, _ := ast.LabelName(f.Label); label != name {
			continue
		}
		value := f.Value
		for {
			either, ok := value.(*ast.BinaryExpr)
			if !ok {
				break
			}
			value = either.X
		}
		if marked, ok := value.(*ast.UnaryExpr); ok { // the default of several
			value = marked.X
		}
		if value, ok := value.(*ast.BasicLit); ok {
			if text, err := strconv.Unquote(value.Value); err == nil {
				return text
			}
		}
	}
	return ""
}

// column is one column of kubectl get.
type column struct {
	name, path, kind string
	wide             bool // only with -o wide
}

// columns are those of a definition.
func (d *definition) columns() []column {
	var columns []column
	for _, a := range d.value.Attributes(cue.DeclAttr) {
		if a.Name() != "column" {
			continue
		}
		c := column{kind: "string"}
		c.name, _ = a.String(0)
		c.path, _ = a.String(1)
		if kind, found, _ := a.Lookup(2, "type"); found {
			c.kind = kind
		}
		c.wide, _ = a.Flag(2, "wide")
		columns = append(columns, c)
	}
	return columns
}

// selectable are the paths of fields that objects can be selected by.
func (d *definition) selectable() []string {
	var paths []string
	for _, a := range d.value.Attributes(cue.DeclAttr) {
		if a.Name() == "selectable" {
			path, _ := a.String(0)
			paths = append(paths, path)
		}
	}
	return paths
}

// ownerOf is the kind of the spec that an object is rendered for.
func ownerOf(n *document.Node) finding.GroupKind {
	parts := strings.Split(n.Str("metadata", "annotations", "poolwright.io/owner"), "/")
	if len(parts) != 4 {
		return finding.GroupKind{}
	}
	return finding.GroupKind{Group: parts[0], Kind: parts[1]}
}

// docOf is the text of the comments on a definition or a field, in one line.
func docOf(v cue.Value) string {
	var parts []string
	for _, group := range v.Doc() {
		if text := strings.Join(strings.Fields(group.Text()), " "); text != "" && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " ")
}
