// Package publish makes the output of a judgement available to others: one type for each mode of a
// Hydration.
package publish

import (
	"context"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/controller/tree"
)

// Change is what is to be published.
type Change struct {
	Source  *remote.Source    // the commit that was judged
	Branch  string            // whose last commit it is
	Dir     string            // of the package in the repository, "" for the whole
	Files   map[string][]byte // that have other contents, by path in the package; nil for one that is removed
	Message string
	Author  tree.Author
	Time    time.Time
}

// Publisher publishes a change. The error is a *remote.Error or a *tree.RefusedError; nothing is
// published then. With remote.Moved the change is to be made again from what is there by now.
type Publisher interface {
	Publish(ctx context.Context, c Change) (Published, error)
}

// Published is what can be fetched now.
type Published struct {
	Revision string
	Head     plumbing.Hash // of the branch of the specs
}
