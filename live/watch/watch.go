// Package watch follows a cluster: it keeps the facts of a snapshot up to date
// with informers, and says when something changed.
//
// The informers hold each object as the same text that a snapshot keeps of it, so
// that both say the same and a large cluster takes little memory.
package watch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/own"
	"github.com/poolwright/poolwright/live/snapshot"
)

const (
	quiet      = 300 * time.Millisecond // of no event, before a look is taken
	patience   = 3 * time.Second        // at most this long after the first event
	discovery  = 30 * time.Second       // between two questions for new kinds, where no event reports them
	regardless = time.Minute            // between two looks where nothing happens, so that ages stay right
)

// Options say what is followed.
type Options struct {
	Kinds  []system.Kind // of facts
	Own    *system.Kinds // of which Poolwright's own are followed, too; nil for none
	Specs  []*krm.Object // whose selectors say which more fields are kept; with Own those in the cluster
	Notice func(string)  // called once when the API server is lost, when it is back, and why kinds cannot be followed
	Lost   func(error)   // called in the same way with why the facts are not known, and with nil when they are known again; may be nil
}

// Run calls look with everything that is there, as soon as all of it was read and
// whenever something changed since, and now and then where nothing did, until the context
// ends or look fails. Kinds that come and go while it runs are taken up and dropped. The
// error is about the first reading, or that of look; an API server that goes away later is
// waited for.
func Run(ctx context.Context, c *cluster.Cluster, o Options, look func(ours []*own.Object, facts []*krm.Object) error) error {
	w := newWatcher(c, o)
	w.see = func(ctx context.Context, all []*source) error { return w.lookAt(ctx, all, look) }
	return w.run(ctx, regardless)
}

// Snapshots calls look with what snapshot.Take would give, as soon as all of it was read and
// whenever something changed since, as Run does. While a watch is lost nothing is known, and
// look is not called. Options.Own must be nil.
func Snapshots(ctx context.Context, c *cluster.Cluster, o Options, look func(*snapshot.Snapshot) error) error {
	w := newWatcher(c, o)
	w.see = w.seeSnapshot(look)
	return w.run(ctx, 0)
}

func (w *watcher) seeSnapshot(look func(*snapshot.Snapshot) error) func(context.Context, []*source) error {
	return func(_ context.Context, all []*source) error {
		if w.isLost() {
			return nil // it pokes when it is back
		}
		return look(w.snapshot(all))
	}
}

func newWatcher(c *cluster.Cluster, o Options) *watcher {
	return &watcher{
		cluster: c, options: o,
		sources: map[cluster.Resource]*source{}, failing: map[*source]bool{},
		changed: make(chan struct{}, 1), kinds: make(chan struct{}, 1), fatal: make(chan error, 1),
	}
}

// run follows the cluster until the context ends, and looks at it at least once an interval, 0 for
// only after changes.
func (w *watcher) run(ctx context.Context, interval time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer w.running.Wait()
	defer cancel()
	switch err := w.discover(ctx); {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	return w.follow(ctx, interval)
}

// watcher is a running Run.
type watcher struct {
	see     func(ctx context.Context, all []*source) error // takes a look
	cluster *cluster.Cluster
	options Options
	kept    snapshot.Options // which more fields are kept now
	partial bool             // kinds were dropped, and not taken up again yet
	looked  atomic.Bool      // at everything, once
	sources map[cluster.Resource]*source
	running sync.WaitGroup
	changed chan struct{} // something did
	kinds   chan struct{} // some may have come or gone
	fatal   chan error

	mu      sync.Mutex // guards what follows
	failing map[*source]bool
	lost    bool   // it was said that the API server is
	said    string // of the last discovery
}

func (w *watcher) follow(ctx context.Context, interval time.Duration) error {
	var asking questions
	again := time.NewTimer(discovery)
	defer again.Stop()
	var anyway <-chan time.Time
	if interval > 0 {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		anyway = ticker.C
	}
	var due <-chan time.Time
	var first time.Time // event since the last look
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-w.fatal:
			return err
		case <-w.kinds:
			again.Reset(asking.news())
		case <-again.C:
			known := w.rediscover(ctx)
			if pause, more := asking.asked(w.tellsOfKinds(), !known); more {
				again.Reset(pause)
			}
		case <-w.changed:
			if due == nil {
				first = time.Now()
			}
			due = time.After(min(quiet, max(0, patience-time.Since(first))))
		case <-anyway:
			if due == nil {
				due = time.After(0)
			}
		case <-due:
			due = nil
			if err := w.look(ctx); err != nil {
				return err
			}
		}
	}
}

// look takes a look at what there is, once all of it was read.
func (w *watcher) look(ctx context.Context) error {
	if w.partial {
		return nil
	}
	all := make([]*source, 0, len(w.sources))
	for _, s := range w.sources {
		if !s.synced() {
			return nil // it says so when it is
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *source) int { return compareResources(a.resource, b.resource) })
	return w.see(ctx, all)
}

// lookAt hands over objects of our own, and facts.
func (w *watcher) lookAt(ctx context.Context, all []*source, look func([]*own.Object, []*krm.Object) error) error {
	var ours []*own.Object
	var facts []*krm.Object
	for _, s := range all {
		if !s.ours {
			facts = append(facts, s.facts()...)
			continue
		}
		for _, k := range s.held() {
			o, err := own.Parse(s.resource, []byte(k.text))
			if err != nil {
				return fmt.Errorf("an object of %s cannot be read: %w", s.resource, err)
			}
			ours = append(ours, o)
			if s.fact != nil {
				facts = append(facts, o.Object)
			}
		}
	}
	if w.options.Own != nil && w.keep(w.options.Own.Specs(own.Plain(ours))) {
		// The facts are read again, with what the specs now look at.
		if !w.rediscover(ctx) {
			w.news()
		}
		return nil
	}
	w.looked.Store(true)
	return look(ours, facts)
}

// snapshot is what there is of all kinds, in the order of the options.
func (w *watcher) snapshot(all []*source) *snapshot.Snapshot {
	w.looked.Store(true)
	s := &snapshot.Snapshot{}
	for i := range w.options.Kinds {
		kind := w.options.Kinds[i].GroupKind
		j := slices.IndexFunc(all, func(s *source) bool { return s.fact.GroupKind == kind })
		if j < 0 {
			s.Absent = append(s.Absent, kind)
			continue
		}
		s.Kinds = append(s.Kinds, all[j].kind())
	}
	return s
}

// keep takes over which more fields the specs look at. If these are others than
// before, the facts that have them are no longer followed as they are.
func (w *watcher) keep(specs []*krm.Object) (changed bool) {
	var kept snapshot.Options
	kept.Keep(specs)
	if slices.Equal(kept.Annotations, w.kept.Annotations) && slices.Equal(kept.Fields, w.kept.Fields) {
		return false
	}
	w.kept, w.partial = kept, true
	for r, s := range w.sources {
		if !s.ours {
			w.drop(r)
		}
	}
	return true
}

// rediscover discovers while the watches run. An error is reported once; of an API server
// that is lost the watches report, which may find out after this.
func (w *watcher) rediscover(ctx context.Context) (known bool) {
	err := w.discover(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.said = ""
	case ctx.Err() == nil && !w.lost && !cluster.IsUnanswered(err) && err.Error() != w.said:
		w.said = err.Error()
		w.options.Notice(w.said + "; trying again soon")
	}
	return err == nil
}

// discover begins to follow the kinds that are served by now, and drops those that
// are no longer.
func (w *watcher) discover(ctx context.Context) error {
	served, err := w.cluster.Served(ctx)
	if err != nil {
		return err
	}
	wanted := map[cluster.Resource]following{}
	if w.options.Own != nil {
		ours, err := own.Resources(served, w.options.Own)
		if err != nil {
			return err
		}
		for _, r := range ours {
			wanted[r] = following{ours: true}
		}
	} else if len(w.sources) == 0 {
		w.keep(w.options.Specs)
	}
	for i := range w.options.Kinds {
		kind := &w.options.Kinds[i]
		r, found, err := served.Find(kind.Group, kind.Kind)
		if err != nil {
			return err
		}
		if found {
			wanted[r] = following{ours: wanted[r].ours, fact: kind}
		}
	}
	for r, as := range wanted {
		if w.sources[r] == nil {
			w.sources[r] = newSource(w, r, as)
			w.sources[r].start(ctx)
		}
	}
	w.dropMissing(wanted)
	w.partial = false
	return nil
}

// dropMissing drops the kinds that are not wanted the second time in a row: an API server
// that has just started does not list all kinds yet. A kind that is served in another
// version is dropped at once, or its objects would be there twice.
func (w *watcher) dropMissing(wanted map[cluster.Resource]following) {
	kinds := map[schema.GroupKind]bool{}
	for r := range wanted {
		kinds[schema.GroupKind{Group: r.Group, Kind: r.Kind}] = true
	}
	for r, s := range w.sources {
		_, found := wanted[r]
		if !found && (s.missing || kinds[schema.GroupKind{Group: r.Group, Kind: r.Kind}]) {
			w.drop(r)
			w.poke()
		}
		s.missing = !found
	}
}

func (w *watcher) drop(r cluster.Resource) {
	s := w.sources[r]
	s.stop()
	delete(w.sources, r)
	w.heard(s, nil)
}

// poke says that something changed.
func (w *watcher) poke() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// heard takes note of how a request of a source went. What a source says after it
// was stopped, of a request that was under way, is no news.
func (w *watcher) heard(s *source, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.stopped.Load() {
		err = nil
	}
	if err == nil {
		delete(w.failing, s)
	} else {
		w.failing[s] = true
	}
	switch {
	case err != nil && !w.lost:
		w.lost = true
		err = w.cluster.Explain(err, "watch "+s.resource.String())
		w.options.Notice(fmt.Sprintf("the watch was cut: %v; waiting for it to come back", err))
		w.reportLost(err)
	case len(w.failing) == 0 && w.lost:
		w.lost = false
		w.options.Notice("the watch goes on")
		w.reportLost(nil)
		w.poke()
		w.news()
	}
}

func (w *watcher) reportLost(err error) {
	if w.options.Lost != nil {
		w.options.Lost(err)
	}
}

func (w *watcher) isLost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}
