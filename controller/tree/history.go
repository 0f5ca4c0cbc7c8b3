package tree

import (
	"errors"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// ChangedAt is the time of the last commit that changed a folder, following first parents; if that was before
// a time, of some commit before it. It is zero if the folder is not there. Where the commits that are there
// end before that, as in a shallow clone, known is false, and the time is that of the last of them.
func ChangedAt(s storer.EncodedObjectStorer, head plumbing.Hash, dir string, before time.Time) (at time.Time, known bool, err error) {
	var first plumbing.Hash
	for hash := head; ; {
		c, err := object.GetCommit(s, hash)
		if errors.Is(err, plumbing.ErrObjectNotFound) && hash != head {
			return at, false, nil
		}
		if err != nil {
			return at, false, err
		}
		is, err := Find(s, c.TreeHash, dir)
		if err != nil && !errors.As(err, new(*RefusedError)) {
			return at, false, err
		}
		switch {
		case hash == head && err != nil:
			return at, true, nil
		case hash == head:
			first = is
		case err != nil || is != first:
			return at, true, nil
		}
		at = c.Committer.When
		if at.Before(before) || len(c.ParentHashes) == 0 {
			return at, true, nil
		}
		hash = c.ParentHashes[0]
	}
}
