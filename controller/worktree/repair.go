package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/poolwright/poolwright/folder"
)

// Repair makes whole what a kill in the middle of a commit has left: locks, and files that were still to be
// brought to the commit. The content of each file shows who wrote it: one with the content that the commit found,
// or what it has, becomes that of the head; any other is a person's. Packs of objects that came since the last
// call are found from then on.
func (w *WorkTree) Repair() error {
	w.storage.Reindex() // git gc or a fetch may have made other packs since
	left, err := filepath.Glob(filepath.Join(w.git, ownIndex+"*"))
	if err != nil {
		return err
	}
	if branch, err := w.branch(); err == nil {
		w.lockOf(filepath.Join(w.common, filepath.FromSlash(branch)), ownReference).drop()
	}
	for _, own := range left {
		hash := strings.TrimPrefix(filepath.Base(own), ownIndex)
		if err := w.finish(plumbing.NewHash(hash)); err != nil {
			return fmt.Errorf("%s: a commit that was interrupted cannot be finished: %w", w.Dir, err)
		}
	}
	for _, dir := range []string{"inventory", "rendered"} {
		folder.RemoveLeftovers(w.file(dir))
	}
	return nil
}

// finish checks out what is left of a commit.
func (w *WorkTree) finish(commit plumbing.Hash) error {
	lock := w.lockOf(w.indexFile(), ownIndex+commit.String())
	lock.release()
	own, err := os.Lstat(lock.own)
	if err != nil {
		return err
	}
	if done, err := os.Lstat(lock.file); err == nil && os.SameFile(own, done) {
		return os.Remove(lock.own) // the index is in place, which comes last
	}
	made, err := object.GetCommit(w.storage, commit)
	if errors.Is(err, plumbing.ErrObjectNotFound) || err == nil && len(made.ParentHashes) != 1 {
		return os.Remove(lock.own) // it was not made
	}
	if err != nil {
		return fmt.Errorf("commit %s: %w", commit, err)
	}
	head, err := w.Head()
	if err != nil {
		return err
	}
	now, err := w.inCommit(head)
	if err != nil {
		return err
	}
	after, err := w.inCommit(commit)
	if err != nil {
		return err
	}
	before, err := w.inCommit(made.ParentHashes[0])
	if err != nil {
		return err
	}
	if err := lock.again(); err != nil {
		return err
	}
	x, err := w.readIndex()
	if err != nil {
		lock.release()
		return err
	}
	files, entries := map[string][]byte{}, map[string][]byte{}
	names := maps.Clone(before)
	maps.Copy(names, after)
	for name := range names {
		old, made, want := before[name], after[name], now[name]
		if same(old, made) {
			continue
		}
		data, err := w.content(name)
		if err != nil {
			lock.release()
			return err
		}
		if (same(data, old) || same(data, made)) && !same(data, want) {
			files[name] = want
		}
		entry := plumbing.ZeroHash
		if e, found := x.find(path.Join(w.Path, name)); found {
			entry = e.hash
		}
		if entry == blobHash(old) || entry == blobHash(made) {
			entries[name] = want
		}
	}
	if err := w.checkOut(context.Background(), lock, x, files, entries); err != nil {
		lock.release()
		return err
	}
	return nil
}

// same compares contents, of which nil is none.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
