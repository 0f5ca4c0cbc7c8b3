package keeper

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/fn/inventory"
)

// longestHistory is how many commits in a row are read.
const longestHistory = 1 << 14

// factsChanged is when the committed inventory was last changed; if that was before a time, some time before
// it. It is zero where none is committed. The commits before the last are fetched, at first a few: it is known
// from then on, until the inventory is another one. Where the history is too large to be read, it is the time
// of the first commit that was read.
func (a *attempt) factsChanged(ctx context.Context, before time.Time) (time.Time, error) {
	dir := path.Join(a.dir(), inventory.Folder)
	is, err := tree.Find(a.source, a.commit.TreeHash, dir)
	if errors.As(err, new(*tree.RefusedError)) {
		return time.Time{}, nil
	}
	if err != nil || is == a.memory.inventory {
		return a.memory.changed, err
	}
	at, known := a.commit.Committer.When, false
	for commits := 8; !known && commits <= longestHistory; commits *= 8 {
		history, err := a.remote.History(ctx, a.source, commits)
		var why *remote.Error
		if errors.As(err, &why) && why.Reason == remote.Refused {
			break
		}
		if err != nil {
			return at, err
		}
		if at, known, err = tree.ChangedAt(history, a.source.Head, dir, before); err != nil {
			return at, err
		}
	}
	a.memory.inventory, a.memory.changed = is, at
	return at, nil
}
