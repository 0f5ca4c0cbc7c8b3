package findings_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// quoting are pages that have the words on purpose: the glossary, and records of what was.
var quoting = regexp.MustCompile(`^(docs/glossary\.md|CHANGELOG\.md|docs/decisions/.*)$`)

// kept are names that files and scripts of users depend on: rules of findings and of the agent.
var kept = map[string]bool{`"untold"`: true, `"replica-ill"`: true, `"twin"`: true}

// word is one that the product does not use, and what it says instead.
type word struct {
	not *regexp.Regexp
	but string
}

// TestWords: no string of the program and no page has a word of the second table of the glossary.
func TestWords(t *testing.T) {
	const root = "../.."
	words := banned(t, filepath.Join(root, "docs/glossary.md"))
	code := regexp.MustCompile("`[^`]*`")
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if entry.IsDir() {
			if name == "bin" || name == "test" || entry.Name() == "testdata" || name != "." && strings.HasPrefix(entry.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		switch {
		case strings.HasSuffix(name, ".md") && !quoting.MatchString(filepath.ToSlash(name)):
			files++
			page, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			report(t, words, name, 1, code.ReplaceAllString(string(page), "``"))
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			files++
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && !kept[text.Value] {
					report(t, words, name, set.Position(text.Pos()).Line, text.Value)
				}
				return true
			})
		}
		return nil
	})
	if err != nil || files < 500 {
		t.Fatalf("read %d files: %v", files, err)
	}
}

// report is an error for each word in a text that begins at a line of a file.
func report(t *testing.T, words []word, name string, line int, text string) {
	for i, s := range strings.Split(text, "\n") {
		for _, w := range words {
			if found := w.not.FindString(s); found != "" {
				t.Errorf("%s:%d: %q: write %s", name, line+i, found, w.but)
			}
		}
	}
}

// banned reads the words from the last table of the glossary.
func banned(t *testing.T, path string) []word {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| not | but |\n|---|---|\n")
	var words []word
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 4 {
			t.Fatalf("%s: %q is not a row with two cells", path, line)
		}
		forms := strings.Split(strings.TrimSpace(cells[1]), ", ")
		for i := range forms {
			forms[i] = strings.ReplaceAll(regexp.QuoteMeta(forms[i]), " ", `\s+`)
		}
		words = append(words, word{regexp.MustCompile(`(?i)\b(` + strings.Join(forms, "|") + `)\b`), strings.TrimSpace(cells[2])})
	}
	if len(words) < 10 {
		t.Fatalf("%s: found only %d rows of words", path, len(words))
	}
	return words
}
