package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestTextGoesThroughTerminal: what is printed for people goes through terminal.Printf
// and Println, which escape every argument. A new column cannot forget to. Markdown
// has an escape of its own.
func TestTextGoesThroughTerminal(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	tables, err := filepath.Glob("../../plan/*.go")
	if err != nil || len(tables) < 3 {
		t.Fatalf("%d files of plan, %v", len(tables), err)
	}
	for _, name := range append(files, tables...) {
		if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "markdown.go" {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "fmt" && (strings.HasPrefix(s.Sel.Name, "Fprint") || strings.HasPrefix(s.Sel.Name, "Print")) {
					t.Errorf("%s: fmt.%s prints names as they are; use terminal.Printf or terminal.Println", set.Position(s.Pos()), s.Sel.Name)
				}
			}
			return true
		})
	}
}
