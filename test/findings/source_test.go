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
	set  *token.FileSet
	info *types.Info
	file *ast.File
	all  []wording
}

// wordings are those of all findings of the product, by place. A finding, or what becomes
// one, is a struct with the field Rule, and what makes one is a function with a parameter of
// that name; its words are the field Message, Text, Reason or Remedy, and the parameter format,
// message or text.
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
		var files []*ast.File
		for name := range strings.FieldsSeq(pkg[3]) {
			file, err := parser.ParseFile(set, filepath.Join(pkg[2], name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		if _, err := config.Check(pkg[0], set, files, r.info); err != nil {
			t.Fatal(err)
		}
		for _, r.file = range files {
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
			case rule && slices.Contains([]string{"format", "message", "text"}, name):
				r.add(n.Args[i])
			}
		}
	}
	return true
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
	for _, format := range r.formats(e, 0) {
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
