package worktree

import (
	"path"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/poolwright/poolwright/controller/tree"
)

// ChangedAt is the time of tree.LastChange of a folder of the package, zero if the folder is not there. A shallow
// clone has no more than it has.
func (w *WorkTree) ChangedAt(head plumbing.Hash, name string, before time.Time) (time.Time, error) {
	last, _, err := tree.LastChange(w.storage, head, path.Join(w.Path, name), before)
	if last == nil {
		return time.Time{}, err
	}
	return last.Committer.When, err
}
