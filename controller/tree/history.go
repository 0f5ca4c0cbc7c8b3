package tree

import (
	"errors"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// LastChange is the last commit that changed a folder, following first parents; if that was before a time, some
// commit before it. It is nil if the folder is not there. Where the commits that are there end before that, as in
// a shallow clone, known is false, and it is the last of them.
func LastChange(s storer.EncodedObjectStorer, head plumbing.Hash, dir string, before time.Time) (last *object.Commit, known bool, err error) {
	var first plumbing.Hash
	for hash := head; ; {
		c, err := object.GetCommit(s, hash)
		if errors.Is(err, plumbing.ErrObjectNotFound) && last != nil {
			return last, false, nil
		}
		if err != nil {
			return last, false, err
		}
		is, err := Find(s, c.TreeHash, dir)
		if err != nil && !errors.As(err, new(*RefusedError)) {
			return last, false, err
		}
		switch {
		case last == nil && err != nil:
			return nil, true, nil
		case last == nil:
			first = is
		case err != nil || is != first:
			return last, true, nil
		}
		last = c
		if c.Committer.When.Before(before) || len(c.ParentHashes) == 0 {
			return last, true, nil
		}
		hash = c.ParentHashes[0]
	}
}
