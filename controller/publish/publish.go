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
	URL     string                // of its repository
	Branch  string                // whose last commit it is
	Dir     string                // of the package in the repository, "" for the whole
	Package string                // digest of the package in it
	Before  string                // digest of the output in it
	Output  string                // digest of the output that was judged
	Facts   string                // digest of the facts
	Files   map[string][]byte     // that have other contents, by path in the package; nil for one that is removed
	Risk    change.Risk           // the greatest of the changes
	Subject string                // the plan in one line
	Body    func(most int) string // the plan as a comment of at most so many bytes
	Message string
	Author  tree.Author
	Key     tree.Key // that signs commits; nil for none
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

// Looker is a mode in which more than the branch of the specs may change. outside is different whenever
// what is decided may be.
type Looker interface {
	Look(ctx context.Context, base string) (head plumbing.Hash, outside string, err error)
}

// Keeper is a mode in which inventory and output are not committed: what was published has them, and
// they are where the next render starts from.
type Keeper interface {
	// Last reads what was published last, packed and unpacked of at most so many bytes. The error is a
	// *remote.Error, TooLarge where more would be read in more memory, or a *Occupied.
	Last(ctx context.Context, most int64) (Lock, error)
}

// Lock is the inventory and the output that were published last.
type Lock struct {
	Files    map[string][]byte // by path in the package; nil where nothing was published
	Revision string            // as Published.Revision; "" where nothing was published
	Name     string            // of where it is, for messages
}

// Occupied says that something else is where the output is to be published.
type Occupied struct{ Message string }

func (o *Occupied) Error() string { return o.Message }

// Published is what can be fetched now, and what is said about it.
type Published struct {
	Revision string        // that has the output; "" where there is nothing beside the source
	Head     plumbing.Hash // of the branch of the specs, if it was moved
	URL      string        // of the page that people see, or of the registry; "" for that of the repository
	Outside  string        // what Looker.Look gives now; "" where it is not known
	Reason   string        // of the condition
	Message  string
	Event    Event // something that happened beside; zero for nothing
	Again    bool  // more is to be done soon
}

// Event is something that happened.
type Event struct{ Reason, Message string }
