package schema

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/ast/astutil"
	"cuelang.org/go/cue/format"
)

// forServer finds what definitions carry for an API server only, which a reader of
// CUE does not need.
var forServer = regexp.MustCompile(`(?m)^[ \t]*@(cel|nocel|schema|column|selectable)\(.*\)\n`)

// ofPackage finds the package before a definition in an attribute.
var ofPackage = regexp.MustCompile(`^@live\([a-z]+\.`)

// exportCUE writes the definition of a kind and everything that it refers to,
// as one CUE file that needs nothing else.
func (s *Schemas) exportCUE(d *definition) ([]byte, error) {
	e := cueExport{
		decls:   map[definitionName]*ast.Field{},
		wanted:  map[definitionName]bool{},
		names:   map[string]definitionName{},
		imports: map[string]bool{},
	}
	for _, folder := range s.sources.folders() {
		e.add(s.sources.files(syntax{}, folder), folder)
	}
	if err := e.want(d.name); err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "// %s, %s: definition by Poolwright.\npackage schema\n\n", d.Kind.Kind, d.APIVersion())
	for _, path := range e.builtins {
		if e.imports[path] {
			fmt.Fprintf(&b, "import %q\n\n", path)
		}
	}
	// The kind itself comes first, for whoever reads it.
	order := slices.DeleteFunc(e.order, func(name definitionName) bool { return name == d.name })
	for _, name := range append([]definitionName{d.name}, order...) {
		if !e.wanted[name] {
			continue
		}
		text, err := format.Node(inOneFile(e.decls[name]))
		if err != nil {
			return nil, fmt.Errorf("write the definition %s: %w", name.name, err)
		}
		b.Write(bytes.ReplaceAll(forServer.ReplaceAll(text, nil), []byte("{\n\n"), []byte("{\n")))
		b.WriteString("\n\n")
	}
	return []byte(strings.TrimRight(b.String(), "\n") + "\n"), nil
}

// cueExport collects what one definition refers to.
type cueExport struct {
	decls    map[definitionName]*ast.Field
	order    []definitionName // as in the files
	builtins []string         // packages of CUE itself that any file imports, sorted
	wanted   map[definitionName]bool
	names    map[string]definitionName // of what is wanted
	imports  map[string]bool           // that it needs
}

// add reads the files of a package.
func (e *cueExport) add(files []*ast.File, folder string) {
	for _, file := range files {
		for spec := range file.ImportSpecs() {
			p := strings.Trim(spec.Path.Value, `"`)
			if at, found := slices.BinarySearch(e.builtins, p); !found && !strings.HasPrefix(p, module) {
				e.builtins = slices.Insert(e.builtins, at, p)
			}
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.Field); ok {
				label, _, _ := ast.LabelName(f.Label)
				name := definitionName{folder, label}
				e.decls[name] = f
				e.order = append(e.order, name)
			}
		}
	}
}

// want collects a definition with everything that it refers to.
func (e *cueExport) want(name definitionName) error {
	if e.wanted[name] || e.decls[name] == nil {
		return nil
	}
	if other, found := e.names[name.name]; found {
		return fmt.Errorf("packages %s and %s both define %s, which is one too many for a file that holds both; rename one of them", other.folder, name.folder, name.name)
	}
	e.wanted[name] = true
	e.names[name.name] = name
	var err error
	ast.Walk(e.decls[name], func(n ast.Node) bool {
		var ref definitionName
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if ref = imported(n); ref.folder == "" {
				return true
			}
		case *ast.Ident:
			ref = definitionName{name.folder, n.Name}
			if spec, ok := n.Node.(*ast.ImportSpec); ok {
				e.imports[strings.Trim(spec.Path.Value, `"`)] = true
				return true
			}
		default:
			return true
		}
		if err == nil {
			err = e.want(ref)
		}
		return false
	}, nil)
	return err
}

// imported is the definition of another package of ours that an expression names.
func imported(x *ast.SelectorExpr) definitionName {
	id, ok := x.X.(*ast.Ident)
	if !ok {
		return definitionName{}
	}
	spec, ok := id.Node.(*ast.ImportSpec)
	if !ok {
		return definitionName{}
	}
	folder, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
	if !ours {
		return definitionName{}
	}
	name, _, _ := ast.LabelName(x.Sel)
	return definitionName{path.Base(folder), name}
}

// inOneFile has a definition name others as if all were in its own package.
func inOneFile(f *ast.Field) ast.Node {
	return astutil.Apply(f, func(c astutil.Cursor) bool {
		switch n := c.Node().(type) {
		case *ast.SelectorExpr:
			if ref := imported(n); ref.folder != "" {
				c.Replace(&ast.Ident{NamePos: n.Pos(), Name: ref.name})
				return false
			}
		case *ast.Attribute:
			n.Text = ofPackage.ReplaceAllString(n.Text, "@live(")
		}
		return true
	}, nil)
}
