package worktree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/folder"
)

// UncommittedError says that a person is at work on a file that a render reads.
type UncommittedError struct {
	Path string // as a person calls it
}

func (e *UncommittedError) Error() string {
	return fmt.Sprintf("%s has uncommitted changes, and a render reads it; commit it, or put it away with git stash -u or .krmignore: what is committed has to be what was judged", e.Path)
}

// Uncommitted is an *UncommittedError for the first of the files of the package that a render reads in the
// work tree and that is not as committed, staged or not. ignored says which files a render passes over.
func (w *WorkTree) Uncommitted(committed map[string][]byte, ignored func(name string) bool) error {
	x, err := w.readIndex()
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for name := range committed {
		names[name] = true
	}
	if err := w.walk(func(name string) error { names[name] = true; return nil }); err != nil {
		return err
	}
	prefix := w.Path + "/"
	if w.Path == "" {
		prefix = ""
	}
	for _, e := range x.entries {
		if name, found := strings.CutPrefix(e.name, prefix); found {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !folder.Reads(name) || ignored(name) {
			continue
		}
		if err := w.same(x, name, committed[name]); err != nil {
			return err
		}
	}
	return nil
}

// same is an *UncommittedError where a file of the package does not have a content, nil for no file, in the
// index and in the work tree.
func (w *WorkTree) same(x *index, name string, want []byte) error {
	changed := &UncommittedError{filepath.Join(w.Dir, filepath.FromSlash(name))}
	i, there := x.place(path.Join(w.Path, name))
	if there != (want != nil) || there && (x.entries[i].flags&flagStage != 0 || x.entries[i].hash != blobHash(want)) {
		return changed
	}
	if there && x.entries[i].skipped() {
		return nil
	}
	data, err := w.content(name)
	switch {
	case err != nil:
		return err
	case same(data, want):
	case data != nil && want != nil && bytes.Equal(lineFeeds(data), lineFeeds(want)): // git turns the ends of lines
	case there && x.entries[i].unchanged(w.file(name)): // a filter of git did
	default:
		return changed
	}
	return nil
}

// content is what a file of the package holds on the disk, nil where there is none. A folder or a link is
// none either.
func (w *WorkTree) content(name string) ([]byte, error) {
	info, err := os.Lstat(w.file(name))
	if err == nil && info.Mode().IsRegular() {
		data, err := os.ReadFile(w.file(name))
		if data == nil {
			data = []byte{}
		}
		return data, err
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !strings.Contains(err.Error(), "not a directory") {
		return nil, err
	}
	return nil, nil
}

func lineFeeds(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// skipped reports whether a sparse checkout leaves the file out of the work tree.
func (e *indexEntry) skipped() bool {
	const skip = 0x4000
	return e.extended&skip != 0
}

// unchanged reports whether a file is the one that git has compared with the entry.
func (e *indexEntry) unchanged(file string) bool {
	info, err := os.Lstat(file)
	if err != nil {
		return false
	}
	stat, known := statOf(info)
	copy(stat[statMode:statMode+4], e.stat[statMode:])
	return known && stat == e.stat
}

// walk names the files of the package on the disk that are not hidden, but for the lists of what is ignored.
func (w *WorkTree) walk(found func(name string) error) error {
	root := w.file(".")
	return filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err != nil || file == root {
			return err
		}
		hidden := strings.HasPrefix(e.Name(), ".")
		if e.IsDir() {
			if hidden {
				return fs.SkipDir
			}
			return nil
		}
		if hidden && !folder.Reads(e.Name()) {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return found(filepath.ToSlash(rel))
	})
}

// Files reads the files of the package on the disk for which want holds.
func (w *WorkTree) Files(want func(name string) bool) (map[string][]byte, error) {
	files := map[string][]byte{}
	return files, w.walk(func(name string) error {
		if !want(name) {
			return nil
		}
		data, err := w.content(name)
		if err == nil && data != nil {
			files[name] = data
		}
		return err
	})
}

// Look is what the files of the package look like from outside: it changes when one of them does.
func (w *WorkTree) Look() string {
	var look strings.Builder
	_ = w.walk(func(name string) error { // what cannot be seen, looks like nothing
		if info, err := os.Lstat(w.file(name)); err == nil {
			fmt.Fprintln(&look, name, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return look.String()
}
