package worktree

import (
	"bytes"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/poolwright/poolwright/controller/tree"
)

// Inspect opens a folder to look at it: nobody is kept from committing, and nothing is made whole. In no work
// tree only Files and Look work. The error is a *folder.UsageError: there is no such folder, or it is Git's own.
func Inspect(dir string) (*WorkTree, error) {
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if info, statErr := os.Stat(dir); err != nil || statErr != nil || !info.IsDir() {
		return nil, usage("%s: no such folder", dir)
	}
	w := &WorkTree{Dir: dir}
	if w.outside = w.find(real); w.outside != nil {
		w.root = real
		return w, nil
	}
	rel, err := filepath.Rel(w.root, real)
	if err != nil {
		return nil, err
	}
	if rel != "." {
		w.Path = filepath.ToSlash(rel)
	}
	for part := range strings.SplitSeq(w.Path, "/") {
		if part == ".git" {
			return nil, usage("%s is inside the folder of Git itself; name a folder of the work tree", dir)
		}
	}
	return w, nil
}

// Writable is the error where nothing can be committed, a *folder.UsageError: there is no work tree, it is not
// supported, it is in the middle of a merge or the like, or HEAD is on no branch or at no commit.
func (w *WorkTree) Writable() error {
	if w.outside != nil {
		return w.outside
	}
	if err := w.check(); err != nil {
		return err
	}
	_, err := w.Head()
	return err
}

// At is the commit that is checked out, on a branch or not; zero where there is none.
func (w *WorkTree) At() plumbing.Hash {
	if w.outside != nil {
		return plumbing.ZeroHash
	}
	head, err := w.look()
	if err != nil {
		return plumbing.ZeroHash
	}
	return head
}

// Entry is a commit that changed the package.
type Entry struct {
	Hash    plumbing.Hash
	Author  tree.Author
	Time    time.Time // of the author
	Message string
}

// History lists the commits before and at one that changed the package, the last first, at most so many. What a
// shallow clone lacks is left out.
func (w *WorkTree) History(from plumbing.Hash, most int) ([]Entry, error) {
	first, err := object.GetCommit(w.storage, from)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	commits := object.NewCommitIterCTime(first, nil, nil)
	defer commits.Close()
	for len(entries) < most {
		c, err := commits.Next()
		if err != nil {
			break // the end, or that of a shallow clone
		}
		changed, err := w.changedIn(c)
		if err != nil {
			return nil, err
		}
		if changed {
			entries = append(entries, Entry{c.Hash, tree.Author{Name: c.Author.Name, Email: c.Author.Email}, c.Author.When, c.Message})
		}
	}
	return entries, nil
}

// changedIn reports whether a commit has the package otherwise than each of its parents.
func (w *WorkTree) changedIn(c *object.Commit) (bool, error) {
	now, err := w.treeIn(c.Hash)
	if err != nil {
		return false, err
	}
	if c.NumParents() == 0 {
		return !now.IsZero(), nil
	}
	for _, parent := range c.ParentHashes {
		before, err := w.treeIn(parent)
		switch {
		case errors.Is(err, plumbing.ErrObjectNotFound):
		case err != nil:
			return false, err
		case before == now:
			return false, nil
		}
	}
	return true, nil
}

// treeIn is the tree of the package in a commit, zero for one without it.
func (w *WorkTree) treeIn(commit plumbing.Hash) (plumbing.Hash, error) {
	found, err := w.Tree(commit)
	var refused *tree.RefusedError
	if errors.As(err, &refused) {
		return plumbing.ZeroHash, nil
	}
	return found, err
}

// FolderTime is when a folder of the package became what it is, given the files of the package on the disk: the
// time of the commit that last changed it or, where a file is not as committed, of the last change of one; zero
// for a folder without files.
func (w *WorkTree) FolderTime(head plumbing.Hash, name string, files map[string][]byte) time.Time {
	var last time.Time
	for file := range files {
		if path.Dir(file) == name {
			if info, err := os.Lstat(w.file(file)); err == nil && info.ModTime().After(last) {
				last = info.ModTime()
			}
		}
	}
	if last.IsZero() || head.IsZero() {
		return last
	}
	root, err := w.Tree(head)
	if err != nil {
		return last
	}
	inside := func(file string) bool { return path.Dir(file) == name }
	committed, err := w.read(root, mostRead, inside)
	if err != nil {
		return last
	}
	for file, data := range files {
		if inside(file) && !bytes.Equal(committed[file], data) {
			return last
		}
	}
	if at, err := w.ChangedAt(head, name, time.Time{}); err == nil && !at.IsZero() {
		return at
	}
	return last
}

// Changed are the files of the package before and after a commit, those for which want holds. Before the first commit
// there are none.
func (w *WorkTree) Changed(commit plumbing.Hash, want func(string) bool) (before, after map[string][]byte, err error) {
	c, err := object.GetCommit(w.storage, commit)
	if err != nil {
		return nil, nil, err
	}
	read := func(of plumbing.Hash) (map[string][]byte, error) {
		root, err := w.treeIn(of)
		if err != nil || root.IsZero() {
			return nil, err
		}
		return w.read(root, mostRead, want)
	}
	if after, err = read(commit); err != nil || c.NumParents() == 0 {
		return nil, after, err
	}
	before, err = read(c.ParentHashes[0])
	return before, after, err
}
