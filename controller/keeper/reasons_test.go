package keeper

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/controller/remote"
)

// TestReasonsAreDocumented: docs/controller.md has a row for each reason that the code has, with what it means to those
// who wait, and no other one.
func TestReasonsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/controller.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## What the conditions mean\n")
	table, _, _ = strings.Cut(table, "\n## ")
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|$").FindAllStringSubmatch(table, -1) {
		documented[row[1]] = row[2]
	}
	coded := map[string]bool{}
	for file, kind := range map[string]string{"verdict.go": "reason", "../remote/error.go": "Reason", "../hydration/judge.go": "Reason"} {
		for _, r := range constants(t, file, kind) {
			coded[r] = true
		}
	}
	delete(coded, string(remote.Moved)) // these lead to no condition
	delete(coded, string(remote.TooLarge))
	for r := range coded {
		want := map[class]string{ready: "True", retried: "False", stalled: "False, Stalled"}[reason(r).class()]
		if documented[r] != want {
			t.Errorf("docs/controller.md: %s is %q, want %q", r, documented[r], want)
		}
	}
	if len(coded) < 20 || len(documented) != len(coded) {
		t.Errorf("documented are %q, and the code has %q", slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(coded)))
	}
}

// constants are the values of the constants of a type in a file.
func constants(t *testing.T, file, kind string) (values []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is {
			return true
		}
		if of, is := spec.Type.(*ast.Ident); is && of.Name == kind {
			for _, v := range spec.Values {
				if lit, is := v.(*ast.BasicLit); is {
					if value, err := strconv.Unquote(lit.Value); err == nil {
						values = append(values, value)
					}
				}
			}
		}
		return true
	})
	return values
}
