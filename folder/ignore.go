package folder

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	gitignore "github.com/monochromegane/go-gitignore"
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
	return func(path string, isDir bool) bool {
		for _, m := range here {
			if m.Match(path, isDir) {
				return true
			}
		}
		return false
	}, err
}

// leave drops the ignore file of the folder entered last.
func (s *ignores) leave() { *s = (*s)[:len(*s)-1] }
