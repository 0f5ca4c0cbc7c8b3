package worktree

import (
	"errors"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/poolwright/poolwright/controller/tree"
)

// ChangedAt is the time of the last commit that changed a folder of the package, following first parents; if
// that was before a time, of some commit before it. It is zero if the folder is not there.
func (w *WorkTree) ChangedAt(head plumbing.Hash, name string, before time.Time) (time.Time, error) {
	dir := name
	if w.Path != "" {
		dir = w.Path + "/" + name
	}
	var at time.Time
	var first plumbing.Hash
	for hash := head; ; {
		c, err := object.GetCommit(w.storage, hash)
		if errors.Is(err, plumbing.ErrObjectNotFound) && hash != head {
			return at, nil // a shallow clone has no more
		}
		if err != nil {
			return at, err
		}
		is, err := tree.Find(w.storage, c.TreeHash, dir)
		if err != nil && !errors.As(err, new(*tree.RefusedError)) {
			return at, err
		}
		switch {
		case hash == head && err != nil:
			return at, nil
		case hash == head:
			first = is
		case err != nil || is != first:
			return at, nil
		}
		at = c.Committer.When
		if at.Before(before) || len(c.ParentHashes) == 0 {
			return at, nil
		}
		hash = c.ParentHashes[0]
	}
}
