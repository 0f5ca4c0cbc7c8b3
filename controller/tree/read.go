// Package tree is a package in a Git repository: its files in the tree of a commit, a tree with other
// files in their place, and a commit of it. It works on objects alone, so that no filter, hook or
// attribute is run, and on any storage of go-git: on a disk, or in memory.
package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// RefusedError is why a package is not read: what is not in the repository as a file cannot be judged.
type RefusedError struct {
	Path string // in the repository
	Why  string
}

func (e *RefusedError) Error() string { return e.Path + " " + e.Why }

// Missing reports whether there is no such folder.
func (e *RefusedError) Missing() bool { return e.Why == notThere || e.Why == notFolder }

// TooLarge reports whether the files together have more bytes than may be read.
func (e *RefusedError) TooLarge() bool { return e.Why == tooLarge }

const (
	isLink      = "is a symbolic link; commit a copy of what it leads to"
	isSubmodule = "is a submodule; commit the files themselves"
	isPointer   = "is a pointer of Git LFS; commit the file itself: git lfs untrack, then git add --renormalize"
	notThere    = "is not in the commit; commit the package first"
	notFolder   = "is not a folder in the commit"
	tooMany     = "is one file or folder more than is read (100000); move what is no input out of the package"
	tooLarge    = "makes the package larger than is read; move what is no input out of it"
	tooDeep     = "is deeper than is read (64 folders); move it out of the package"
)

// What is read of a package at most: a few small trees that have each other many times would be endless.
const (
	mostEntries = 100_000 // files and folders
	mostDepth   = 64      // folders in each other, below that of the package
)

// Files are the files of a package in a tree.
type Files struct {
	Hash    plumbing.Hash     // of the tree of the package
	Content map[string][]byte // by path in the package, with slashes
}

// Read reads the files of a folder of a tree for which want holds; dir is "" for the whole. most limits
// the sum of their sizes, in bytes, 0 for no limit; how many files and folders there are is limited, too. The error is a *RefusedError, or about the repository.
func Read(s storer.EncodedObjectStorer, root plumbing.Hash, dir string, most int64, want func(name string) bool) (Files, error) {
	hash, err := Find(s, root, dir)
	if err != nil {
		return Files{}, err
	}
	r := reader{storer: s, dir: dir, entries: mostEntries, left: most, limited: most > 0, want: want, content: map[string][]byte{}}
	return Files{Hash: hash, Content: r.content}, r.folder(hash, "", 0)
}

// Find is the tree of a folder. The error is a *RefusedError where there is none, or a link is on the way.
func Find(s storer.EncodedObjectStorer, root plumbing.Hash, dir string) (plumbing.Hash, error) {
	if dir == "" {
		return root, nil
	}
	at := ""
	for part := range strings.SplitSeq(dir, "/") {
		at = path.Join(at, part)
		tree, err := object.GetTree(s, root)
		if err != nil {
			return root, err
		}
		e, err := tree.FindEntry(part)
		switch {
		case errors.Is(err, object.ErrEntryNotFound), errors.Is(err, object.ErrDirectoryNotFound):
			return root, &RefusedError{at, notThere}
		case err != nil:
			return root, err
		case refused(e.Mode) != "":
			return root, &RefusedError{at, refused(e.Mode)}
		case e.Mode != filemode.Dir:
			return root, &RefusedError{at, notFolder}
		}
		root = e.Hash
	}
	return root, nil
}

func refused(mode filemode.FileMode) string {
	switch mode {
	case filemode.Symlink:
		return isLink
	case filemode.Submodule:
		return isSubmodule
	}
	return ""
}

// reader reads the files below a folder.
type reader struct {
	storer  storer.EncodedObjectStorer
	dir     string
	entries int   // that may be looked at
	left    int64 // bytes that may be read
	limited bool
	want    func(string) bool
	content map[string][]byte
}

func (r *reader) folder(hash plumbing.Hash, rel string, depth int) error {
	if depth > mostDepth {
		return &RefusedError{path.Join(r.dir, rel), tooDeep}
	}
	tree, err := object.GetTree(r.storer, hash)
	if err != nil {
		return err
	}
	for _, e := range tree.Entries {
		name := path.Join(rel, e.Name)
		if r.entries--; r.entries < 0 {
			return &RefusedError{path.Join(r.dir, name), tooMany}
		}
		switch why := refused(e.Mode); {
		case why != "":
			err = &RefusedError{path.Join(r.dir, name), why}
		case e.Mode == filemode.Dir:
			err = r.folder(e.Hash, name, depth+1)
		default:
			err = r.file(e.Hash, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pointerSize is more than a pointer of Git LFS has, in bytes.
const pointerSize = 1024

func (r *reader) file(hash plumbing.Hash, name string) error {
	size, err := r.storer.EncodedObjectSize(hash)
	if err != nil {
		return fmt.Errorf("%s: %w", path.Join(r.dir, name), err)
	}
	wanted := r.want(name)
	if !wanted && size >= pointerSize {
		return nil
	}
	if wanted {
		if r.left -= size; r.limited && r.left < 0 {
			return &RefusedError{path.Join(r.dir, name), tooLarge}
		}
	}
	data, err := blob(r.storer, hash)
	if err != nil {
		return fmt.Errorf("%s: %w", path.Join(r.dir, name), err)
	}
	if size < pointerSize && bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")) {
		return &RefusedError{path.Join(r.dir, name), isPointer}
	}
	if wanted {
		r.content[name] = data
	}
	return nil
}

func blob(s storer.EncodedObjectStorer, hash plumbing.Hash) ([]byte, error) {
	o, err := s.EncodedObject(plumbing.BlobObject, hash)
	if err != nil {
		return nil, err
	}
	in, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(in)
}
