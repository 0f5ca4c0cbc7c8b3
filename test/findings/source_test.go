package findings_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wording is what the product says at one place, as a format of package fmt.
type wording struct {
	at     token.Position
	format string
}

// reader collects the wordings of one package.
type reader struct {
	set   *token.FileSet
	info  *types.Info
	files []*ast.File
	file  *ast.File
	all   []wording
}

// wordings are those of all findings of the product, by place. A finding, or what becomes
// one, is a struct with the field Rule, and what makes one is a function with a parameter of
// that name, or with such a struct in it; its words are the field Message, Text, Reason or
// Remedy, and the parameter format, message or text.
func wordings(t *testing.T) []wording {
	t.Helper()
	const root = "../.."
	list := exec.Command("go", "list", "-export", "-deps", "-f", `{{.ImportPath}}{{"\t"}}{{.Export}}{{"\t"}}{{.Dir}}{{"\t"}}{{join .GoFiles " "}}`,
		"./cmd/poolwright")
	list.Dir = root
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	var product [][]string
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		exports[fields[0]] = fields[1]
		if strings.HasPrefix(fields[0], "github.com/poolwright/poolwright/") {
			product = append(product, fields)
		}
	}
	set := token.NewFileSet()
	config := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	var all []wording
	for _, pkg := range product {
		r := reader{set: set, info: &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		}}
		for name := range strings.FieldsSeq(pkg[3]) {
			file, err := parser.ParseFile(set, filepath.Join(pkg[2], name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			r.files = append(r.files, file)
		}
		if _, err := config.Check(pkg[0], set, r.files, r.info); err != nil {
			t.Fatal(err)
		}
		for _, r.file = range r.files {
			ast.Inspect(r.file, r.visit)
		}
		all = append(all, r.all...)
	}
	slices.SortFunc(all, func(a, b wording) int {
		return cmp.Or(cmp.Compare(a.at.Filename, b.at.Filename), cmp.Compare(a.at.Offset, b.at.Offset), cmp.Compare(a.format, b.format))
	})
	return slices.Compact(all)
}

func (r *reader) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CompositeLit:
		if s, ok := r.info.TypeOf(n).Underlying().(*types.Struct); ok && hasRule(s) {
			for i, e := range n.Elts {
				field := s.Field(i).Name()
				if pair, ok := e.(*ast.KeyValueExpr); ok {
					field, e = pair.Key.(*ast.Ident).Name, pair.Value
				}
				r.field(field, e)
			}
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			selector, ok := left.(*ast.SelectorExpr)
			if !ok || len(n.Lhs) != len(n.Rhs) {
				continue
			}
			of := r.info.TypeOf(selector.X)
			if pointer, ok := of.Underlying().(*types.Pointer); ok {
				of = pointer.Elem()
			}
			if s, ok := of.Underlying().(*types.Struct); ok && hasRule(s) {
				r.field(selector.Sel.Name, n.Rhs[i])
			}
		}
	case *ast.CallExpr:
		called, ok := r.info.TypeOf(n.Fun).(*types.Signature)
		if !ok {
			return true
		}
		rule := false
		for i := range min(called.Params().Len(), len(n.Args)) {
			switch name := called.Params().At(i).Name(); {
			case name == "rule":
				rule = true
			case name == "format" && (rule || r.makes(n)), rule && (name == "message" || name == "text"):
				r.add(n.Args[i])
			}
		}
	}
	return true
}

// makes reports whether a call is of a function of the package that makes a finding.
func (r *reader) makes(call *ast.CallExpr) bool {
	f := r.declared(call)
	if f == nil || f.Body == nil {
		return false
	}
	found := false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if literal, ok := n.(*ast.CompositeLit); ok {
			s, ok := r.info.TypeOf(literal).Underlying().(*types.Struct)
			found = found || ok && hasRule(s)
		}
		return true
	})
	return found
}

// declared is the function of the package that is called, or nil.
func (r *reader) declared(call *ast.CallExpr) *ast.FuncDecl {
	name, ok := call.Fun.(*ast.Ident)
	if selector, is := call.Fun.(*ast.SelectorExpr); is {
		name, ok = selector.Sel, true
	}
	if !ok {
		return nil
	}
	for _, file := range r.files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && r.info.Defs[f.Name] == r.info.Uses[name] {
				return f
			}
		}
	}
	return nil
}

func hasRule(s *types.Struct) bool {
	for field := range s.Fields() {
		if field.Name() == "Rule" {
			return true
		}
	}
	return false
}

func (r *reader) field(name string, value ast.Expr) {
	if slices.Contains([]string{"Message", "Text", "Reason", "Remedy"}, name) {
		r.add(value)
	}
}

func (r *reader) add(e ast.Expr) {
	formats := r.formats(e, 0)
	if call, ok := e.(*ast.CallExpr); ok {
		formats = append(formats, r.returned(call)...)
	}
	for _, format := range formats {
		r.all = append(r.all, wording{r.set.Position(e.Pos()), format})
	}
}

// formats are what an expression may be, with %v for each part of it that is not written there.
func (r *reader) formats(e ast.Expr, depth int) []string {
	if value := r.info.Types[e].Value; value != nil && value.Kind() == constant.String {
		return []string{constant.StringVal(value)}
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return r.formats(e.X, depth)
	case *ast.BinaryExpr:
		var all []string
		for _, left := range r.formats(e.X, depth) {
			for _, right := range r.formats(e.Y, depth) {
				all = append(all, left+right)
			}
		}
		return all
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Sprintf" {
			return r.formats(e.Args[0], depth)
		}
	case *ast.Ident:
		if depth == 0 {
			return r.assigned(r.info.Uses[e])
		}
	}
	return []string{"%v"}
}

// returned are what a function of the package returns, if that is one text.
func (r *reader) returned(call *ast.CallExpr) []string {
	f := r.declared(call)
	if f == nil {
		return nil
	}
	var all []string
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if back, ok := n.(*ast.ReturnStmt); ok && len(back.Results) == 1 {
			all = append(all, r.formats(back.Results[0], 1)...)
		}
		return true
	})
	return all
}

// assigned are what a variable of a function is given, each by itself.
func (r *reader) assigned(variable types.Object) []string {
	all := []string{"%v"}
	ast.Inspect(r.file, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != len(assign.Rhs) {
			return true
		}
		for i, left := range assign.Lhs {
			if name, ok := left.(*ast.Ident); ok && cmp.Or(r.info.Defs[name], r.info.Uses[name]) == variable && variable != nil {
				all = append(all, r.formats(assign.Rhs[i], 1)...)
			}
		}
		return true
	})
	return all
}

// String is the place, from the top of the repository, and what is said there.
func (w wording) String() string {
	root, _ := filepath.Abs("../..")
	file, _ := filepath.Rel(root, w.at.Filename)
	return fmt.Sprintf("%s:%d: %q", filepath.ToSlash(file), w.at.Line, w.format)
}
