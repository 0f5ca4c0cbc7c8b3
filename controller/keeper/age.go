package keeper

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/publish"
	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/live/hydrations"
)

// longestHistory is how many commits in a row are read.
const longestHistory = 1 << 14

// lastChange is tree.LastChange of a folder of the repository. The commits before the last are fetched, at first
// a few. Where the history is too large to be read, it is the first commit that was read.
func (a *attempt) lastChange(ctx context.Context, dir string, before time.Time) (*object.Commit, error) {
	last, known := a.commit, false
	for commits := 8; !known && commits <= longestHistory; commits *= 8 {
		history, err := a.remote.History(ctx, a.source, commits)
		var why *remote.Error
		if errors.As(err, &why) && why.Reason == remote.Refused {
			break
		}
		if err != nil {
			return nil, err
		}
		if last, known, err = tree.LastChange(history, a.source.Head, dir, before); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// factsChanged is when the committed inventory was last changed; if that was before a time, some time before
// it. It is zero where none is committed. It is known from then on, until the inventory is another one.
func (a *attempt) factsChanged(ctx context.Context, before time.Time) (time.Time, error) {
	if a.last.Revision != "" { // an artifact has no time, and the facts of when it was made
		if a.last.Revision == a.status.Published.Revision {
			return a.status.Published.Time, nil
		}
		return time.Now(), nil
	}
	dir := path.Join(a.dir(), inventory.Folder)
	is, err := tree.Find(a.source, a.commit.TreeHash, dir)
	if errors.As(err, new(*tree.RefusedError)) {
		return time.Time{}, nil
	}
	if err != nil || is == a.memory.inventory {
		return a.memory.changed, err
	}
	last, err := a.lastChange(ctx, dir, before)
	if err != nil {
		return time.Time{}, err
	}
	a.memory.inventory, a.memory.changed = is, last.Committer.When
	return a.memory.changed, nil
}

// find takes into the status what is published and was not reported: a commit that a controller pushed before it
// was killed, or a pull request that was merged. It is looked for once.
func (a *attempt) find(ctx context.Context) error {
	if a.isOwn(a.commit) {
		a.take(a.commit)
	}
	if !a.unreported() {
		return nil
	}
	dir := path.Join(a.dir(), fn.RenderedFolder)
	is, err := tree.Find(a.source, a.commit.TreeHash, dir)
	if errors.As(err, new(*tree.RefusedError)) || err == nil && is == a.memory.output {
		return nil
	}
	if err != nil {
		return err
	}
	last, err := a.lastChange(ctx, dir, time.Time{})
	if err != nil {
		return err
	}
	a.memory.output = is
	if a.isOwn(last) || a.object.Spec.Head() != "" {
		a.take(last)
	}
	return nil
}

// unreported says that the output of the branch was published by a commit that the status does not name.
func (a *attempt) unreported() bool {
	known := &a.status.Published
	if a.object.Spec.Head() != "" {
		return known.Digest == a.pkg.Output() && !strings.HasPrefix(known.Revision, a.object.Spec.Source.Branch+"@")
	}
	return known.Digest != a.pkg.Output()
}

// isOwn reports whether a commit of this Hydration published the output of the branch.
func (a *attempt) isOwn(c *object.Commit) bool {
	return hydration.TrailerOf(c.Message, hydration.TrailerOutput) == a.pkg.Output() && hydration.TrailerOf(c.Message, trailerHydration) == a.object.Key().String()
}

// take takes a commit that published the output into the status.
func (a *attempt) take(c *object.Commit) {
	output, at := a.pkg.Output(), c.Committer.When.UTC()
	revision := publish.Revision(a.object.Spec.Source.Branch, c.Hash)
	if a.status.Published.Revision == revision {
		return
	}
	if a.status.Published.Digest != output {
		a.status.History = remember(a.status.History, hydrations.Entry{Time: at, Output: output})
	}
	a.status.Published = hydrations.Published{Revision: revision, Digest: output, URL: a.object.Spec.Source.URL, Time: at}
}
