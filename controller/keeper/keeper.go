// Package keeper keeps the packages of all Hydrations rendered. For each of them it looks at the
// facts of the cluster and at the branch, has both judged when one changed, publishes what comes of
// it, and reports that in the status.
//
// It has no state of its own: whoever starts again reads the branch and the status. What keeps two
// of them apart is the lease; what keeps a commit from being lost is that a branch moves only from
// the commit that was judged (package remote).
package keeper

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/live/lease"
	"github.com/poolwright/poolwright/service/budget"
)

// Keeper keeps the Hydrations of a cluster.
type Keeper struct {
	Cluster    *cluster.Cluster
	Store      *hydrations.Store
	Function   *fn.Function
	Renderer   hydration.Renderer // which waits for the network; nil to render in this process
	Rules      remote.Rules
	Namespaces []string // whose Hydrations are kept; none for all
	Log        *slog.Logger
	Metrics    *Metrics
	Lease      *lease.Held // nil where nobody else works

	feeds feeds
	slots chan struct{}  // renders at the same time
	room  *budget.Budget // bytes of all sources that are judged
	idle  *idle

	applying sync.Mutex // one Hydration at a time looks whether an object is taken, and takes it

	mu      sync.Mutex
	workers map[hydrations.Key]*worker
	working bool // the Hydrations were listed
	running sync.WaitGroup
	cancel  context.CancelCauseFunc
}

// begin puts together what a Keeper is made of.
func (k *Keeper) begin(ctx context.Context) context.Context {
	ctx, k.cancel = context.WithCancelCause(ctx)
	k.workers = map[hydrations.Key]*worker{}
	k.slots = make(chan struct{}, runtime.GOMAXPROCS(0))
	k.room = budget.New(k.Rules.MaxSource)
	k.idle = &idle{release: debug.FreeOSMemory}
	k.feeds = feeds{
		cluster: k.Cluster, kinds: k.Function.Kinds().Read(), changed: k.everybody,
		notice: func(text string) { k.Log.Warn(text) },
	}
	return ctx
}

// step is asked before each step that others see. An error ends the keeper: the lease is lost, or it
// is to stop.
func (k *Keeper) step(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := k.Lease.Check(); err != nil {
		k.cancel(err)
		return err
	}
	return nil
}

// Run keeps all Hydrations until ctx ends. The error is lease.ErrLost, or about the cluster.
func (k *Keeper) Run(ctx context.Context) error {
	ctx = k.begin(ctx)
	defer k.cancel(nil)
	// That the kind is there and may be read is found out once, with words; later it is waited for.
	all, err := k.Store.List(ctx, k.Namespaces)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	k.changed(ctx, all...)
	k.mu.Lock()
	k.working = true
	k.mu.Unlock()
	k.Store.Follow(ctx, k.Namespaces, func(h *hydrations.Hydration) { k.changed(ctx, h) }, k.gone)
	k.running.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, lease.ErrLost) {
		return cause
	}
	return nil
}

// Result is what became of a Hydration.
type Result struct {
	hydrations.Key
	Ready           bool
	Reason, Message string
}

// Once judges every Hydration once. The results are by namespace and name. The error is about the cluster: a
// status that was not written is one, after tries for some minutes.
func (k *Keeper) Once(ctx context.Context) ([]Result, error) {
	ctx = k.begin(ctx)
	defer k.cancel(nil)
	all, err := k.Store.List(ctx, k.Namespaces)
	if err != nil {
		return nil, err
	}
	byKey := map[hydrations.Key]*hydrations.Hydration{}
	for _, h := range all {
		byKey[h.Key()] = h
	}
	older := rivals(byKey)
	results, unwritten := make([]Result, len(all)), make([]error, len(all))
	for i, h := range all {
		w := k.newWorker(h)
		w.rival = older[h.Key()]
		k.running.Go(func() {
			defer w.drop()
			w.agenda.atOnce = true
			w.turn(ctx)
			unwritten[i] = w.insist(ctx)
			c := w.object.Status.Condition("Ready")
			results[i] = Result{h.Key(), c.Status == "True", c.Reason, c.Message}
		})
	}
	k.running.Wait()
	return results, errors.Join(context.Cause(ctx), errors.Join(unwritten...))
}

// changed takes up Hydrations that are new or have changed.
func (k *Keeper) changed(ctx context.Context, all ...*hydrations.Hydration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	for _, w := range k.register(all) {
		ctx, end := context.WithCancel(ctx)
		w.end = end
		k.running.Go(func() { w.run(ctx) })
	}
}

// register hands Hydrations to their workers, and returns those that are new. They are to begin once all of
// them know their rivals: the younger of two publishes nothing.
func (k *Keeper) register(all []*hydrations.Hydration) (begin []*worker) {
	for _, h := range all {
		w := k.workers[h.Key()]
		if w == nil || w.uid != h.Metadata.UID { // made again under the same name
			if w != nil {
				w.end()
			}
			w = k.newWorker(h)
			k.workers[h.Key()] = w
			begin = append(begin, w)
		}
		w.hand(h)
	}
	k.match()
	return begin
}

// gone ends the work on a Hydration that was deleted. What it published stays.
func (k *Keeper) gone(key hydrations.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := k.workers[key]; w != nil {
		w.end()
		delete(k.workers, key)
		k.Metrics.forget(key)
		k.match()
	}
}

// match gives each worker the older Hydration that has its target, if there is one.
func (k *Keeper) match() {
	all := make(map[hydrations.Key]*hydrations.Hydration, len(k.workers))
	for key, w := range k.workers {
		all[key] = w.latest()
	}
	older := rivals(all)
	for key, w := range k.workers {
		w.rivalIs(older[key])
	}
}

// everybody wakes all workers: the facts changed.
func (k *Keeper) everybody() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.workers {
		w.poke()
	}
}

// moment is the time as a status has it.
func moment() time.Time { return time.Now().UTC().Truncate(time.Second) }
