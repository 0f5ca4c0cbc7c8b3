package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// TestTextGoesThroughTerminal: what is printed for people goes through terminal.Printf
// and Println, which escape every argument. A new column cannot forget to. Markdown
// has an escape of its own.
func TestTextGoesThroughTerminal(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "plan_markdown.go" {
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

// TestMarkdownShowsNamesAsTheyAre: nothing in a name is markup, a new row, or unseen.
func TestMarkdownShowsNamesAsTheyAre(t *testing.T) {
	hostile := "a\n| b | `x` <b> @all \x1b[2J\u202e"
	p := plan{against: hostile, changes: []*change.Change{{
		Ref: finding.Ref{Kind: "PersistentVolumeClaim", Name: hostile}, Action: change.Modify, Risk: change.Safe,
		Fields:  []change.Field{{Path: hostile, Action: change.Remove, Old: new(document.Text(hostile))}},
		Reasons: []change.Reason{{Risk: change.Safe, Text: hostile}},
	}}, findings: []finding.Finding{{Severity: finding.Warning, Message: hostile}}}
	text := p.markdown()
	if !terminal.Visible([]byte(strings.ReplaceAll(text, "\u200b", ""))) { // what keeps @all from being called
		t.Errorf("something is not visible in %q", text)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| b") {
			t.Errorf("a row of its own: %s", line)
		}
	}
}
