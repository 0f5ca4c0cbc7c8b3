package schema

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
)

// forServer finds what definitions carry for an API server only, which a reader of
// CUE does not need.
var forServer = regexp.MustCompile(`(?m)^[ \t]*@(cel|nocel|schema|column|selectable)\(.*\)\n`)

// exportCUE writes the definition of a kind and everything that it refers to,
// as one CUE file that needs nothing else.
func (s *Schemas) exportCUE(d *definition) ([]byte, error) {
	decls := map[string]*ast.Field{}
	var order []string // as in the files
	for _, file := range s.files {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.Field); ok {
				name, _, _ := ast.LabelName(f.Label)
				decls[name] = f
				order = append(order, name)
			}
		}
	}
	top := "#" + d.Kind.Kind
	wanted := map[string]bool{}
	packages := map[string]bool{}
	var want func(name string)
	want = func(name string) {
		if wanted[name] || decls[name] == nil {
			return
		}
		wanted[name] = true
		for _, ref := range namesIn(decls[name]) {
			if ast.IsValidIdent(ref) && decls[ref] == nil {
				packages[ref] = true
			}
			want(ref)
		}
	}
	want(top)

	var b strings.Builder
	fmt.Fprintf(&b, "// %s, %s: definition by Poolwright.\npackage schema\n\n", d.Kind.Kind, d.APIVersion())
	var imports []string
	for _, file := range s.files {
		for spec := range file.ImportSpecs() {
			path := strings.Trim(spec.Path.Value, `"`)
			if packages[path] && !slices.Contains(imports, path) {
				imports = append(imports, path)
			}
		}
	}
	slices.Sort(imports)
	for _, path := range imports {
		fmt.Fprintf(&b, "import %q\n\n", path)
	}
	// The kind itself comes first, for whoever reads it.
	order = slices.DeleteFunc(order, func(name string) bool { return name == top })
	for _, name := range append([]string{top}, order...) {
		if !wanted[name] {
			continue
		}
		text, err := format.Node(decls[name])
		if err != nil {
			return nil, fmt.Errorf("write the definition %s: %w", name, err)
		}
		b.Write(bytes.ReplaceAll(forServer.ReplaceAll(text, nil), []byte("{\n\n"), []byte("{\n")))
		b.WriteString("\n\n")
	}
	return []byte(strings.TrimRight(b.String(), "\n") + "\n"), nil
}
