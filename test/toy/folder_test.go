package toy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/test/toy"
)

const (
	module = "github.com/poolwright/poolwright"
	shared = "fn/system" // declares what no system brings
)

// TestOwnFolder counts what a system adds outside of its own folder: nothing, but for the
// line that lists it.
func TestOwnFolder(t *testing.T) {
	words := []string{"test/toy\"", "toy.System"}
	for _, kind := range (toy.System{}).Declare().Kinds {
		words = append(words, kind.Group, `"`+kind.Kind+`"`)
	}
	lines := 0
	for path, text := range sources(t) {
		inside := strings.HasPrefix(path, "test/toy/")
		for line := range strings.Lines(text) {
			if inside && strings.HasSuffix(strings.TrimSpace(line), "append(systems.All(), toy.System{})...)") {
				lines++
			}
			if !inside && slices.ContainsFunc(words, func(word string) bool { return strings.Contains(line, word) }) {
				t.Errorf("%s: %s", path, line)
			}
		}
	}
	if lines != 1 {
		t.Errorf("%d lines list the toy", lines)
	}
}

// TestOneLine holds that the product knows each of its systems in one place: the list.
func TestOneLine(t *testing.T) {
	files := product(t)
	for _, s := range systems.All() {
		pkg := reflect.TypeOf(s).PkgPath()
		folder := strings.TrimPrefix(pkg, module+"/")
		if folder == shared {
			continue
		}
		var importers []string
		for path, text := range files {
			if !strings.HasPrefix(path, folder+"/") && strings.Contains(text, `"`+pkg+`"`) {
				importers = append(importers, path)
			}
		}
		if !slices.Equal(importers, []string{"fn/systems/systems.go"}) {
			t.Errorf("%s is imported by %q", pkg, importers)
		}
	}
}

// TestKindsNamedOutside holds that no product code outside a system names a kind of it, but
// for the index of the disks that all share, and what init suggests of them. The node agent
// is a program of its own, which carries some kinds out and knows no system.
func TestKindsNamedOutside(t *testing.T) {
	exceptions := []string{"fn/inventory/facts.go", "cmd/internal/scaffold/suggest.go"}
	files := product(t)
	for _, s := range systems.All() {
		folder := strings.TrimPrefix(reflect.TypeOf(s).PkgPath(), module+"/")
		if folder == shared {
			continue
		}
		for _, kind := range s.Declare().Kinds {
			if kind.Plural == "" || kind.Group == "" {
				continue // another system describes it, or it is one of Kubernetes itself
			}
			words := []string{`"` + kind.Group + "/" + kind.Kind + `"`}
			if kind.Kind != "Driver" && kind.Kind != "Storage" { // English words, too
				words = append(words, `"`+kind.Kind+`"`)
			}
			for path, text := range files {
				if strings.HasPrefix(path, folder+"/") || strings.HasPrefix(path, "nodeagent/") || slices.Contains(exceptions, path) {
					continue
				}
				if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) }) {
					t.Errorf("%s names %v", path, kind.GroupKind)
				}
			}
		}
	}
}

// product are the sources of what is shipped.
func product(t *testing.T) map[string]string {
	t.Helper()
	files := sources(t)
	for path := range files {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "test/") || strings.HasPrefix(path, "cmd/internal/bench/") {
			delete(files, path)
		}
	}
	return files
}

// sources are the files of the repository in which a kind could be named, by their path.
func sources(t *testing.T) map[string]string {
	t.Helper()
	const root = "../.."
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "bin" || e.Name() == "testdata"):
			return filepath.SkipDir
		case e.IsDir() || !slices.Contains([]string{".go", ".cue", ".yaml", ".lua"}, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		found[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 100 {
		t.Fatalf("found only %d files", len(found))
	}
	return found
}
