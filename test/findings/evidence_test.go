package findings_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// evidence are the lines that runs of the product said, by what holds them to it whenever it passes: the scripts
// and stories, the documents, and the texts of type expected.Text in tests in Go. They are without backslashes, which
// a regular expression, a string in Go and JSON have in different places; a quoted apostrophe is one.
func evidence(t *testing.T) (lines []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		below, _ := filepath.Rel("../..", path)
		below = filepath.ToSlash(below)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			if e.Name() == ".git" || below == "bin" || below == "test/findings" {
				return filepath.SkipDir
			}
			return nil
		}
		var text []string
		switch {
		case strings.HasPrefix(below, "cmd/poolwright/testdata/") && filepath.Ext(path) == ".txtar":
			text, err = fromFile(path, func(data []byte) ([]string, error) { return compared(txtar.Parse(data)), nil })
		case strings.HasPrefix(below, "testdata/documents/") && filepath.Ext(path) == ".golden":
			// schema compares them whole.
			text, err = fromFile(path, func(data []byte) ([]string, error) { return strings.Split(string(data), "\n"), nil })
		case strings.HasSuffix(path, "_test.go"):
			text, err = fromFile(path, held)
		}
		lines = append(lines, text...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	replace := strings.NewReplacer(`\`, "", "''", "'")
	for i := range lines {
		lines[i] = replace.Replace(lines[i])
	}
	return lines
}

func fromFile(path string, read func([]byte) ([]string, error)) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return read(data)
}

// compared are the lines that a script compares with what was printed or written. A comment, an input, and what is
// not to be printed are none of it.
func compared(script *txtar.Archive) (lines []string) {
	file := func(name string) (string, bool) {
		i := slices.IndexFunc(script.Files, func(f txtar.File) bool { return f.Name == name })
		if i < 0 {
			return "", false
		}
		return string(script.Files[i].Data), true
	}
	for line := range strings.Lines(string(script.Comment)) {
		words := strings.Fields(line)
		switch {
		case len(words) < 2:
		case slices.Contains([]string{"stdout", "stderr", "grep"}, words[0]):
			lines = append(lines, strings.TrimSpace(line))
		case len(words) == 3 && (words[0] == "cmp" || words[0] == "cmpenv"):
			before, first := file(words[1])
			after, second := file(words[2])
			if first != second { // the other one was made by a run
				lines = append(lines, strings.Split(before+after, "\n")...)
			}
		}
	}
	return lines
}

// held are the texts of type expected.Text in a test file that holds a run to such texts: a conversion, a constant or
// a variable of that type, and what stands for it in a list of them, or of structs that have it.
func held(source []byte) (lines []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	compares := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "In" {
				compares = true
			}
			if isText(n.Fun) {
				lines = append(lines, literals(n.Args...)...)
			}
		case *ast.ValueSpec:
			if isText(n.Type) {
				lines = append(lines, literals(n.Values...)...)
			}
		case *ast.CompositeLit:
			lines = append(lines, listed(n)...)
		}
		return true
	})
	if !compares {
		return nil, nil
	}
	return lines, nil
}

// isText reports whether an expression is the type expected.Text.
func isText(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "expected" && s.Sel.Name == "Text"
}

// listed are the texts in a list of them, or of structs with fields of that type.
func listed(list *ast.CompositeLit) (lines []string) {
	array, ok := list.Type.(*ast.ArrayType)
	if !ok {
		return nil
	}
	if isText(array.Elt) {
		return literals(list.Elts...)
	}
	row, ok := array.Elt.(*ast.StructType)
	if !ok {
		return nil
	}
	var names []string
	texts := map[string]bool{}
	for _, field := range row.Fields.List {
		if len(field.Names) == 0 {
			names = append(names, "") // embedded
		}
		for _, name := range field.Names {
			names = append(names, name.Name)
			texts[name.Name] = isText(field.Type)
		}
	}
	for _, e := range list.Elts {
		value, ok := e.(*ast.CompositeLit)
		if !ok {
			continue
		}
		for i, e := range value.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				if texts[pair.Key.(*ast.Ident).Name] {
					lines = append(lines, literals(pair.Value)...)
				}
			} else if texts[names[i]] {
				lines = append(lines, literals(e)...)
			}
		}
	}
	return lines
}

// literals are the lines of texts, with … for what is no literal.
func literals(texts ...ast.Expr) (lines []string) {
	var text func(ast.Expr) string
	text = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			if s, err := strconv.Unquote(e.Value); err == nil {
				return s
			}
		case *ast.ParenExpr:
			return text(e.X)
		case *ast.BinaryExpr:
			return text(e.X) + text(e.Y)
		}
		return "…"
	}
	for _, e := range texts {
		lines = append(lines, strings.Split(text(e), "\n")...)
	}
	return lines
}

// TestEvidence: what no run said is no evidence.
func TestEvidence(t *testing.T) {
	script := `# a comment
exec poolwright render pkg
stderr 'is said'
! stderr 'is not said'
cmp stdout expected
cmp one.yaml other.yaml
cp input.yaml pkg/input.yaml
-- expected --
is printed
-- input.yaml --
# is an input
-- one.yaml --
is beside
-- other.yaml --
is beside
`
	if got, want := compared(txtar.Parse([]byte(script))), []string{"stderr 'is said'", "is printed", ""}; !slices.Equal(got, want) {
		t.Errorf("of a script: %q, want %q", got, want)
	}
	source := `package x
// "is a comment"
const text = "is any text"
const want expected.Text = "is a constant"
func TestX(t *testing.T) {
	for _, c := range []struct{ name string; want expected.Text }{{"is a name", "is in a row"}, {want: "is by key", name: "is a name by key"}} { %s }
	for _, want := range []expected.Text{"is in a list"} { use(want) }
	use(expected.Text("is " + x + " in part"))
	t.Error("is said by the test")
}
`
	want := []string{"is a constant", "is in a row", "is by key", "is in a list", "is … in part"}
	if got, err := held([]byte(strings.Replace(source, "%s", "c.want.In(t, got)", 1))); err != nil || !slices.Equal(got, want) {
		t.Errorf("of a test: %q, want %q, %v", got, want, err)
	}
	if got, err := held([]byte(strings.Replace(source, "%s", "use(c.want)", 1))); err != nil || len(got) > 0 {
		t.Errorf("of a test that holds nothing to it: %q, %v", got, err)
	}
}
