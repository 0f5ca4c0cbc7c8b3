package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/folder"
)

// Commit is a commit to be made.
type Commit struct {
	Base    plumbing.Hash     // the head that was judged
	Before  map[string][]byte // the files of the package in it
	Changes map[string][]byte // by path in the package; nil for one that is removed
	Author  tree.Author
	Time    time.Time
	Message string
}

// Commit makes a commit, moves the branch to it, and brings the index and the work tree there, as far as
// these files are concerned. The error is ErrMoved, an *UncommittedError, or a failure; the branch is
// then where it was, unless the error says that the work tree is behind it.
func (w *WorkTree) Commit(ctx context.Context, c Commit) (plumbing.Hash, error) {
	branch, err := w.branch()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	base, err := object.GetCommit(w.storage, c.Base)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	root, err := tree.Write(w.storage, base.TreeHash, w.Path, c.Changes)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	made, err := tree.Commit{Tree: root, Parent: c.Base, Author: c.Author, Time: c.Time, Message: c.Message}.Write(w.storage)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	lock, err := w.lockIndex(made)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	x, err := w.readIndex()
	for _, name := range slices.Sorted(maps.Keys(c.Changes)) {
		if err == nil {
			err = w.same(x, name, c.Before[name])
		}
	}
	if err == nil {
		err = w.UnderWay()
	}
	if err == nil {
		err = w.advance(branch, c.Base, made)
	}
	if err != nil {
		lock.drop()
		return plumbing.ZeroHash, err
	}
	subject, _, _ := strings.Cut(c.Message, "\n")
	w.log(branch, c.Base, made, c.Author, c.Time, subject)
	// From here on the commit is made: a signal must not leave the files behind it.
	if err := w.checkOut(context.WithoutCancel(ctx), lock, x, c.Changes, c.Changes); err != nil {
		lock.release() // what is ours stays, so that the next Repair goes on
		return made, fmt.Errorf("commit %s is made, and the files could not be brought there: %w; the next run tries again", made, err)
	}
	return made, nil
}

// lockIndex keeps git commands from the index while a commit is checked out.
func (w *WorkTree) lockIndex(commit plumbing.Hash) (*gitLock, error) {
	lock := w.lockOf(w.indexFile(), ownIndex+commit.String())
	err := lock.take(nil)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s is there: another git command uses the work tree; if none runs, remove the file", lock.path)
	}
	return lock, err
}

// checkOut writes files of the package, makes entries of the index for them, and puts the index in place.
func (w *WorkTree) checkOut(ctx context.Context, lock *gitLock, x *index, files, entries map[string][]byte) error {
	if err := w.Write(ctx, files); err != nil {
		return err
	}
	for name, data := range entries {
		full := path.Join(w.Path, name)
		x.set(full, blobHash(data))
		if e, found := x.find(full); found {
			e.look(w.file(name))
		}
	}
	if err := lock.write(x.bytes()); err != nil {
		return err
	}
	if err := lock.commit(); err != nil {
		return err
	}
	lock.drop()
	return nil
}

// Write writes files of the package into the work tree, each folder of the package in one step; nil removes
// one.
func (w *WorkTree) Write(ctx context.Context, files map[string][]byte) error {
	folders := map[string]map[string][]byte{}
	for name, data := range files {
		dir, rest, _ := strings.Cut(name, "/")
		if folders[dir] == nil {
			folders[dir] = map[string][]byte{}
		}
		folders[dir][rest] = data
	}
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		if err := folder.NewFilePlan(w.file(dir), folders[dir]).Write(ctx); err != nil {
			return err
		}
	}
	return nil
}

// file is where a file of the package is on the disk.
func (w *WorkTree) file(name string) string {
	return filepath.Join(w.root, filepath.FromSlash(w.Path), filepath.FromSlash(name))
}

func blobHash(data []byte) plumbing.Hash {
	if data == nil {
		return plumbing.ZeroHash
	}
	return plumbing.ComputeHash(plumbing.BlobObject, data)
}

// look notes what the file of an entry looks like, so that git need not read it.
func (e *indexEntry) look(file string) {
	info, err := os.Lstat(file)
	if err != nil {
		return
	}
	if stat, known := statOf(info); known {
		copy(stat[statMode:statMode+4], e.stat[statMode:])
		e.stat = stat
	}
}
