package folder

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	gitignore "github.com/monochromegane/go-gitignore"

	"github.com/poolwright/poolwright/fn"
)

// ignoreFile lists what is not part of a package, in the syntax of .gitignore.
// It is kpt's file, so that both tools see the same package.
const ignoreFile = ".krmignore"

// ignores are the ignore files from the root of a package down to the folder
// being read.
type ignores []gitignore.IgnoreMatcher

// enter adds the ignore file of a folder and returns the test for its entries.
func (s *ignores) enter(dir string) (func(path string, isDir bool) bool, error) {
	var m gitignore.IgnoreMatcher = gitignore.DummyIgnoreMatcher(false)
	data, err := os.ReadFile(filepath.Join(dir, ignoreFile))
	switch {
	case err == nil:
		m = gitignore.NewGitIgnoreFromReader(dir, bytes.NewReader(data))
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	*s = append(*s, m)
	here := *s
	return here.match, err
}

// leave drops the ignore file of the folder entered last.
func (s *ignores) leave() { *s = (*s)[:len(*s)-1] }

func (s ignores) match(path string, isDir bool) bool {
	return slices.ContainsFunc(s, func(m gitignore.IgnoreMatcher) bool { return m.Match(path, isDir) })
}

// Ignored returns the test for the files that a render passes over.
func (m Memory) Ignored() func(name string) bool {
	ignored, ignoredLock := m.ignored("."), m.ignored(fn.RenderedFolder)
	return func(name string) bool {
		if path.Base(name) == ignoreFile {
			return hidden(path.Dir(name)) && path.Dir(name) != "."
		}
		if hidden(name) {
			return true
		}
		if strings.HasPrefix(name, fn.RenderedFolder+"/") {
			return ignoredLock(name)
		}
		return ignored(name)
	}
}

// ignored returns the test for the files of a folder in memory, of which a path leads to the root
// that is read: what lies above it ignores nothing.
func (m Memory) ignored(root string) func(name string) bool {
	matchers := map[string]gitignore.IgnoreMatcher{}
	for name, src := range m {
		if path.Base(name) == ignoreFile && (root == "." || strings.HasPrefix(name, root+"/")) {
			matchers[path.Dir(name)] = gitignore.NewGitIgnoreFromReader(path.Join("/", path.Dir(name)), bytes.NewReader(src.Data))
		}
	}
	return func(name string) bool {
		if len(matchers) == 0 {
			return false
		}
		var here ignores
		parts := strings.Split(name, "/")
		for i := range parts {
			if matcher := matchers[path.Join(append([]string{"."}, parts[:i]...)...)]; matcher != nil {
				here = append(here, matcher)
			}
			if here.match("/"+path.Join(parts[:i+1]...), i < len(parts)-1) {
				return true
			}
		}
		return false
	}
}
