package worktree

import (
	"path"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/poolwright/poolwright/controller/tree"
)

// ChangedAt is tree.ChangedAt of a folder of the package. A shallow clone has no more than it has.
func (w *WorkTree) ChangedAt(head plumbing.Hash, name string, before time.Time) (time.Time, error) {
	at, _, err := tree.ChangedAt(w.storage, head, path.Join(w.Path, name), before)
	return at, err
}
