package findings_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// systems are the folders whose code knows how storage systems behave.
var systems = []string{"fn/class", "fn/cstor", "fn/cstorvolume", "fn/diskpool", "fn/hypercloud", "fn/localvolume"}

// source is the line of a doc comment that says where a fact is from: a document, and its version, commit, RFC or
// section of the manual. For what Poolwright decides by itself the document is Poolwright, and has no version.
var source = regexp.MustCompile(`(?m)^Source: (Poolwright|\S.*, (v?\d+(\.\d+)+( to \d+(\.\d+)+)?( \(.+\)|, measured)?|commit [0-9a-f]{8,}|RFC \d+|[\w.-]+\(\d\)))\.$`)

// TestSources: what the code of a system knows of the world says where that is from. The doc comment of each package
// does, for the names, messages and rules that it has; so does that of each declaration with a fact that can change
// with a release: a number or a table at the top of a package, and a function with a table, a version, or a choice
// between the words of an operator (its phases, kinds and states).
func TestSources(t *testing.T) {
	facts, packages := 0, map[string]bool{}
	for _, dir := range systems {
		err := filepath.WalkDir("../../"+dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			folder := filepath.Dir(path)
			packages[folder] = packages[folder] || source.MatchString(file.Doc.Text())
			for _, f := range factsOf(file) {
				if facts++; !source.MatchString(f.doc) {
					t.Errorf("%s: %s has %s, and its doc comment has no line \"Source: document, version.\"", set.Position(f.pos), f.name, f.what)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for folder, said := range packages {
		if !said {
			t.Errorf("the doc comment of package %s has no line \"Source: document, version.\"", folder)
		}
	}
	if facts < 45 || len(packages) < 13 {
		t.Errorf("saw only %d facts in %d packages", facts, len(packages))
	}
}

// fact is a declaration that has one.
type fact struct {
	name, what, doc string
	pos             token.Pos
}

func factsOf(file *ast.File) (facts []fact) {
	add := func(name string, pos token.Pos, node ast.Node, docs ...*ast.CommentGroup) {
		what := whatIsIn(node)
		if what == "" {
			return
		}
		doc := ""
		for _, d := range docs {
			doc += d.Text()
		}
		facts = append(facts, fact{name, what, doc, pos})
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && d.Tok != token.IMPORT {
					add(v.Names[0].Name, v.Pos(), v, d.Doc, v.Doc)
				}
			}
		case *ast.FuncDecl:
			add(d.Name.Name, d.Pos(), d, d.Doc)
		}
	}
	return facts
}

// version is one with all its numbers, or a text that is nothing but a version.
var version = regexp.MustCompile(`\d+\.\d+\.\d+|^["` + "`" + `]v?\d+\.\d+["` + "`" + `]$`)

// whatIsIn says which fact a declaration has, or is "".
func whatIsIn(declared ast.Node) (what string) {
	_, atTop := declared.(*ast.ValueSpec)
	ast.Inspect(declared, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			switch {
			case n.Kind == token.STRING && version.MatchString(n.Value):
				what = "a version"
			case atTop && (n.Kind == token.INT || n.Kind == token.FLOAT) && n.Value != "0" && n.Value != "1":
				what = "a number"
			}
		case *ast.CompositeLit:
			if isTable(n) {
				what = "a table"
			}
		case *ast.CaseClause:
			if slices.ContainsFunc(n.List, isWord) {
				what = "words"
			}
		}
		return what == ""
	})
	return what
}

// isWord reports whether an expression is a word as operators write phases and kinds: in CamelCase.
func isWord(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return false
	}
	text, err := strconv.Unquote(l.Value)
	return err == nil && text != "" && text[0] >= 'A' && text[0] <= 'Z'
}

// isTable reports whether a list has several rows with numbers.
func isTable(list *ast.CompositeLit) bool {
	rows := 0
	for _, e := range list.Elts {
		row, ok := e.(*ast.CompositeLit)
		if !ok {
			continue
		}
		if slices.ContainsFunc(row.Elts, func(e ast.Expr) bool {
			l, ok := e.(*ast.BasicLit)
			return ok && l.Kind == token.INT
		}) {
			rows++
		}
	}
	return rows > 1
}

// TestFactsOf: every sort of fact is seen, and a source that names no version is none.
func TestFactsOf(t *testing.T) {
	const from = "\n//\n// Source: Rook, ceph-cluster-crd.md, 1.20."
	for _, c := range []struct{ text, want string }{
		{"const limit = 5", "a number"},
		{"const (\n\tzero = 0\n\tlimit = 5 << 30\n)", "a number"},
		{"var rows = []struct{ a int; b string }{{1, `x`}, {2, `y`}}", "a table"},
		{"func f() string { return `v18.2.4` }", "a version"},
		{"func f() string { return `3.6` }", "a version"},
		{"func f() string { return `at 3.6 or later` }", ""},
		{"func f(p string) bool { switch p { case `Ready`: return true }; return false }", "words"},
		{"func f(p string) bool { switch p { case `path`: return true }; return len(p) > 4 }", ""},
		{"const name = `CephCluster`", ""},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package x\n\n// It says."+from+"\n"+c.text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range factsOf(file) {
			if got = f.what; !source.MatchString(f.doc) {
				t.Errorf("%s: no source in %q", c.text, f.doc)
			}
		}
		if got != c.want {
			t.Errorf("%s has %q, want %q", c.text, got, c.want)
		}
	}
	for doc, want := range map[string]bool{
		"Source: Poolwright.":                                      true,
		"It says.\n\nSource: Rook, types.go, 1.14 to 1.20.":        true,
		"Source: OpenEBS, Release Notes, 4.6.1 (Mayastor 2.12.1).": true,
		"Source: cstorpoolauto, types/config.go, commit 4fd936d4.": true,
		"Source: LVM2, VALID NAMES, lvm(8).":                       true,
		"Source: Rook, types.go.":                                  false,
		"Source: 1.20.":                                            false,
		"as measured on version 3.6":                               false,
		"Source: Rook, types.go, newest.":                          false,
	} {
		if source.MatchString(doc) != want {
			t.Errorf("%q is a source: %t", doc, !want)
		}
	}
}
