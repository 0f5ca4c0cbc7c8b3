package keeper

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/live/watch"
)

// patience is how long the first reading of the facts is waited for.
const patience = 2 * time.Minute

// feeds are the facts of the cluster, followed once for all packages whose specs select by the same
// fields and annotations: a snapshot keeps others for others.
type feeds struct {
	cluster *cluster.Cluster
	kinds   []system.Kind
	changed func()       // some feed has something new
	notice  func(string) // for the log

	mu  sync.Mutex
	all map[string]*feed
}

// feed is one watch of the facts.
type feed struct {
	users int
	end   context.CancelFunc
	first chan struct{} // closed when there is anything to say

	mu       sync.Mutex
	snapshot *snapshot.Snapshot
	err      error // why the facts are not known
	version  int   // of the snapshot
	since    time.Time
	said     bool
}

// facts are what a feed knows.
type facts struct {
	*snapshot.Snapshot
	version int
	since   time.Time // of the last change that was seen
}

// keyOf is equal for packages that can share a feed.
func keyOf(specs []*krm.Object) string {
	var kept snapshot.Options
	kept.Keep(specs)
	return strings.Join(kept.Annotations, ",") + ";" + strings.Join(kept.Fields, ",")
}

// use finds or begins the feed for the specs of a package. The user gives it back with drop.
func (f *feeds) use(ctx context.Context, specs []*krm.Object) *feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := keyOf(specs)
	found := f.all[key]
	if found == nil {
		found = &feed{first: make(chan struct{})}
		ctx, found.end = context.WithCancel(context.WithoutCancel(ctx))
		if f.all == nil {
			f.all = map[string]*feed{}
		}
		f.all[key] = found
		go f.follow(ctx, found, specs)
	}
	found.users++
	return found
}

// drop gives a feed back; the last user ends it.
func (f *feeds) drop(gone *feed) {
	if gone == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if gone.users--; gone.users > 0 {
		return
	}
	gone.end()
	for key, found := range f.all {
		if found == gone {
			delete(f.all, key)
		}
	}
}

// follow watches, and begins again where the first reading fails.
func (f *feeds) follow(ctx context.Context, to *feed, specs []*krm.Object) {
	for failures := 0; ctx.Err() == nil; failures++ {
		err := watch.Snapshots(ctx, f.cluster, watch.Options{
			Kinds: f.kinds, Specs: specs, Notice: f.notice,
			Lost: func(err error) {
				if err != nil {
					to.lose(err)
				}
				f.changed()
			},
		}, func(s *snapshot.Snapshot) error {
			failures = 0
			to.take(s)
			f.changed()
			return nil
		})
		if ctx.Err() != nil {
			return
		}
		to.lose(err)
		f.changed()
		var a agenda
		a.failures = failures
		now := time.Now()
		a.failed(now)
		select {
		case <-ctx.Done():
		case <-time.After(a.retry.Sub(now)):
		}
	}
}

func (f *feed) take(s *snapshot.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.snapshot, f.err = s, nil
	f.version++
	f.since = time.Now()
	f.say()
}

func (f *feed) lose(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		err = fmt.Errorf("the watch ended")
	}
	f.err = err
	f.say()
}

func (f *feed) say() {
	if !f.said {
		f.said = true
		close(f.first)
	}
}

// now waits for the first reading, and gives what is known.
func (f *feed) now(ctx context.Context) (facts, error) {
	select {
	case <-f.first:
	case <-ctx.Done():
		return facts{}, ctx.Err()
	case <-time.After(patience):
		return facts{}, fmt.Errorf("they were not read within %v", patience)
	}
	return f.known()
}

func (f *feed) known() (facts, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return facts{f.snapshot, f.version, f.since}, f.err
}

// seen is the version that is known; -1 while nothing is.
func (f *feed) seen() int {
	if f == nil {
		return -1
	}
	now, err := f.known()
	if err != nil {
		return -1
	}
	return now.version
}
