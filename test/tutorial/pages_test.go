package tutorial_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// TestPages holds that every page with commands is run by a test.
func TestPages(t *testing.T) {
	var code bytes.Buffer
	for _, dir := range []string{"test", "controller"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			code.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, page := range pages(t, "docs/*.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\n```sh") && !strings.Contains(code.String(), "docs/"+filepath.Base(page)+`"`) {
			t.Errorf("nothing runs the commands of %s", page)
		}
	}
}

// TestLinks holds that what the pages link to in the repository is there.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	for _, page := range allPages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), match[1])); err != nil {
				t.Errorf("%s: %s leads nowhere", page, match[0])
			}
		}
	}
}

// TestProofs holds that the tests and the scripts that pages name as proof are there: in the package that a page
// names with a test (controller/keeper.TestKills), or in any.
func TestProofs(t *testing.T) {
	there := map[string]bool{}
	test := regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(`)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".txtar"):
			there[entry.Name()] = true
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, match := range test.FindAllStringSubmatch(string(text), -1) {
				there[match[1]] = true
				dir, err := filepath.Rel(root, filepath.Dir(path))
				if err != nil {
					return err
				}
				there[filepath.ToSlash(dir)+"."+match[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b(?:[a-z0-9/]+\.)?Test[A-Z]\w*|\b[a-z0-9-]+\.txtar\b`)
	for _, page := range allPages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named.FindAllString(string(text), -1) {
			if !there[name] {
				t.Errorf("%s: there is no %s", page, name)
			}
		}
	}
}

func allPages(t *testing.T) []string {
	t.Helper()
	return slices.Concat(pages(t, "*.md"), pages(t, "docs/*.md"), pages(t, "docs/*/*.md"), pages(t, "examples/*/README.md"))
}

func pages(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no %s: %v", pattern, err)
	}
	return files
}
