// Package publish makes the output of a judgement available to others: one type for each mode of a
// Hydration.
package publish

import (
	"context"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/fn/change"
)

// Change is what is to be published.
type Change struct {
	Source  *remote.Source        // the commit that was judged
	Branch  string                // whose last commit it is
	Dir     string                // of the package in the repository, "" for the whole
	Package string                // digest of the package in it
	Before  string                // digest of the output in it
	Output  string                // digest of the output that was judged
	Files   map[string][]byte     // that have other contents, by path in the package; nil for one that is removed
	Risk    change.Risk           // the greatest of the changes
	Subject string                // the plan in one line
	Body    func(most int) string // the plan as a comment of at most so many bytes
	Message string
	Author  tree.Author
	Time    time.Time

	// Step is asked before each thing that others see; output says that it publishes the files, and head
	// has those of the package that they replace there, nil where that is the judged commit. Its error
	// ends the publishing.
	Step func(output bool, head map[string][]byte) error
}

// Publisher publishes a change. The error is a *remote.Error, a *forge.Error, a *tree.RefusedError, or
// that of Change.Step. With remote.Moved the change is to be made again from what is there by now.
type Publisher interface {
	Publish(ctx context.Context, c Change) (Published, error)
}

// Published is what can be fetched now, and what is said about it.
type Published struct {
	Revision string        // that has the output; "" where there is nothing beside the source
	Head     plumbing.Hash // of the branch of the specs, if it was moved
	URL      string        // of the page that people see; "" for that of the repository
	Reason   string        // of the condition
	Message  string
	Event    Event // something that happened beside; zero for nothing
	Again    bool  // more is to be done soon
}

// Event is something that happened.
type Event struct{ Reason, Message string }
