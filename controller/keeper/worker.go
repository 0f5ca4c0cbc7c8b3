package keeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/poolwright/poolwright/controller/forge"
	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/publish"
	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/live/follow"
	"github.com/poolwright/poolwright/live/hydrations"
)

// worker looks after one Hydration.
type worker struct {
	keeper *Keeper
	uid    string
	end    context.CancelFunc
	wake   chan struct{}

	mu     sync.Mutex            // guards what follows
	next   *hydrations.Hydration // as it was handed over last
	rival  rival                 // an older Hydration with the same target; zero if there is none
	hooked bool                  // a webhook came

	// The rest is for the goroutine of the worker alone.
	object  *hydrations.Hydration
	handled string // the last value of poolwright.io/reconcile-at that led to a judgement
	agenda  agenda
	memory  memory
	feed    *feed // nil until the specs were read
	resting bool  // nothing is to be done until the object changes
	size    size
	rolling rolling          // of mode Apply
	specs   *follow.Follower // nil where they are in Git
	lift    bool             // a person waits for a judgement that no failure ended: what flaps is published

	flapping  rests      // nil where nothing was judged yet
	unwritten *unwritten // nil where the object has the last report
	announced hydrations.Published
}

// memory is what is known of the last judgement. Without it there is one more.
type memory struct {
	head       plumbing.Hash // of the branch
	outside    string        // what else there is of the publication; "" where that is not known
	inputs     hydration.Inputs
	generation int64
	version    int             // of the facts
	members    string          // digest of what was applied
	specs      string          // digest of the specs, where they are in the cluster
	facts      hydration.Facts // the last, without their files
	inventory  plumbing.Hash   // the folder in the branch of which it is known when it was changed
	changed    time.Time       // that time
	output     plumbing.Hash   // the folder in the branch of which it is known what published it
	verdict    verdict         // of the inputs; its reason is "" where there is none
	later      time.Time       // when the same inputs are to be judged again; zero for never
}

func (k *Keeper) newWorker(h *hydrations.Hydration) *worker {
	w := &worker{keeper: k, uid: h.Metadata.UID, wake: make(chan struct{}, 1), next: h, object: h}
	w.handled = h.Status.LastHandledReconcileAt
	w.memory.version = -1
	w.size.source = min(firstSource, k.Rules.MaxSource)
	return w
}

// hand gives the worker its object as it is now.
func (w *worker) hand(h *hydrations.Hydration) {
	w.mu.Lock()
	w.next = h
	w.mu.Unlock()
	w.poke()
}

func (w *worker) latest() *hydrations.Hydration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next
}

func (w *worker) rivalIs(other rival) {
	w.mu.Lock()
	changed := w.rival != other
	w.rival = other
	w.mu.Unlock()
	if changed {
		w.poke()
	}
}

func (w *worker) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run looks whenever something changed or is due, until ctx ends.
func (w *worker) run(ctx context.Context) {
	defer w.drop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-timer.C:
		}
		w.turn(ctx)
		timer.Reset(w.pause())
	}
}

// drop ends what is followed for the Hydration alone.
func (w *worker) drop() {
	w.keeper.feeds.drop(w.feed)
	w.rolling.members.End()
	w.specs.End()
}

// pause is how long there is nothing to do, if nothing changes.
func (w *worker) pause() time.Duration {
	next := w.agenda.report
	if !w.resting {
		next = earlier(next, w.agenda.next(time.Duration(w.object.Spec.Facts.Debounce)))
	}
	if next.IsZero() {
		return longestSleep
	}
	return max(0, min(longestSleep, time.Until(next)))
}

// longestSleep is for a worker that has nothing to do.
const longestSleep = time.Hour

// turn is one look at everything.
func (w *worker) turn(ctx context.Context) {
	w.reportAgain(ctx)
	w.takeOver()
	h := w.object
	w.mu.Lock()
	older := w.rival
	w.mu.Unlock()
	switch {
	case h.Metadata.DeletionTimestamp != nil:
		w.resting = true
		return
	case h.Spec.Suspend:
		w.rest(ctx, say(suspended, "spec.suspend is true; set it to false to go on"))
		return
	case older != (rival{}):
		w.rest(ctx, say(conflict, "Hydration %s is older and writes to the same target: %s; delete one of the two, or write another %s", older.Key, older.target, older.target.Field()))
		return
	}
	now := time.Now()
	if w.resting {
		w.resting = false
		w.agenda.note(now)
	}
	if version := w.feed.seen(); w.feed != nil && version != w.memory.version {
		w.agenda.note(now)
	}
	w.noteApplied(now)
	w.noteSpecs(now)
	w.noteHook()
	if w.agenda.retry.IsZero() && !now.Before(w.agenda.poll) {
		w.look(ctx, now)
	}
	if w.agenda.due(time.Now(), time.Duration(h.Spec.Facts.Debounce)) {
		w.judge(ctx)
	}
}

// takeOver takes the object as it was handed over. A new generation, and a new value of the
// annotation, is judged at once: a person waits.
func (w *worker) takeOver() {
	next := w.latest()
	if next.Metadata.Generation < w.object.Metadata.Generation {
		return
	}
	if next != w.object {
		next.Status = w.object.Status // the watch may be behind what was written here
	}
	w.object = next
	if next.Metadata.Generation != w.memory.generation {
		w.memory = memory{generation: next.Metadata.Generation, version: -1}
		w.agenda.retry, w.agenda.failures = time.Time{}, 0
		if next.Status.ObservedGeneration == next.Metadata.Generation {
			w.agenda.note(time.Now()) // judged by another process, which may have stopped in the middle
		} else {
			w.agenda.atOnce = true
		}
	}
	if at := next.ReconcileAt(); at != w.handled && at != "" {
		w.handled = at
		w.memory.verdict = verdict{}
		w.agenda.atOnce = true
	}
}

// rest reports that nothing is done until the object changes, and forgets what was known.
func (w *worker) rest(ctx context.Context, v verdict) {
	w.memory.verdict, w.flapping = verdict{}, nil
	w.agenda, w.resting, w.lift = w.agenda.rested(), true, false
	w.report(ctx, w.lastStatus(), v)
}

// look looks up the branch.
func (w *worker) look(ctx context.Context, now time.Time) {
	w.agenda.looked, w.agenda.poll = now, now.Add(time.Duration(w.object.Spec.Source.Interval))
	switch {
	case w.object.Spec.Source.InCluster != nil:
		w.followSpecs(ctx)
		return
	case w.memory.head.IsZero():
		return // the judgement that is due fetches it
	}
	head, outside, err := w.lookup(ctx)
	if err != nil {
		w.conclude(ctx, w.lastStatus(), ofError(err))
		return
	}
	if outside != w.memory.outside {
		w.memory.outside, w.memory.verdict = outside, verdict{}
		w.agenda.note(now)
	}
	if head != w.memory.head {
		w.agenda.note(now)
	}
}

// lookup looks up the branch, and what else there is of the publication.
func (w *worker) lookup(ctx context.Context) (head plumbing.Hash, outside string, err error) {
	r, err := w.open(ctx)
	if err != nil {
		return head, "", err
	}
	p, err := w.publisher(ctx, r)
	if err != nil {
		return head, "", err
	}
	defer p.end()
	if looker, is := p.Publisher.(publish.Looker); is {
		return looker.Look(ctx, w.object.Spec.Source.Branch)
	}
	head, err = r.Head(ctx, w.object.Spec.Source.Branch)
	return head, "", err
}

// publisher is how a Hydration is published.
type publisher struct {
	publish.Publisher
	end func()
}

func (w *worker) publisher(ctx context.Context, r *remote.Remote) (publisher, error) {
	spec := &w.object.Spec
	switch {
	case spec.Publish.OCI != nil:
		tag, err := w.openTag(ctx, spec.Publish.OCI, r.Rules())
		if err != nil {
			return publisher{}, err
		}
		return publisher{&publish.OCI{Remote: r, Tag: tag, Before: publishedAt(w.lastStatus().Published, tag.Address)}, tag.Close}, nil
	case spec.Head() == "":
		return publisher{publish.Branch{Remote: r}, func() {}}, nil
	}
	f, err := forge.New(forge.Place{Source: spec.Source.URL, Provider: spec.Publish.Provider, API: spec.Publish.APIURL}, r.Rules(), r.Credentials())
	if err != nil {
		return publisher{}, err
	}
	return publisher{publish.PullRequest{Remote: r, Forge: f, Head: spec.Head(), Safe: spec.AutoMerge == "Safe"}, f.End}, nil
}

// open reads the Secret, and opens the repository with it.
func (w *worker) open(ctx context.Context) (*remote.Remote, error) {
	source := &w.object.Spec.Source
	data, err := w.secret(ctx, source.SecretRef, "spec.source.secretRef")
	if err != nil {
		return nil, err
	}
	credentials := remote.ReadSecret(data)
	if source.SecretRef != nil && credentials.IsZero() {
		has := "no keys"
		if len(data) > 0 {
			has = strings.Join(slices.Sorted(maps.Keys(data)), ", ")
		}
		return nil, &remote.Error{Reason: remote.Unknown, Message: fmt.Sprintf(
			"the Secret %s in namespace %s has none of the keys username, password, bearerToken, identity and ca.crt; it has %s; correct the keys",
			source.SecretRef.Name, w.object.Metadata.Namespace, has)}
	}
	return remote.Open(source.URL, w.keeper.Rules, credentials)
}

// secret reads the Secret that a field names; nil where it names none.
func (w *worker) secret(ctx context.Context, ref *hydrations.SecretRef, field string) (map[string][]byte, error) {
	if ref == nil {
		return nil, nil
	}
	data, found, err := w.keeper.Store.Secret(ctx, w.object.Metadata.Namespace, ref.Name)
	switch {
	case err != nil:
		return nil, &remote.Error{Reason: remote.Unknown, Message: err.Error()}
	case !found:
		return nil, &remote.Error{Reason: remote.Unknown, Message: fmt.Sprintf("there is no Secret %s in namespace %s; create it, or correct %s", ref.Name, w.object.Metadata.Namespace, field)}
	}
	return data, nil
}

// ofError is the verdict of an error about the repository.
func ofError(err error) verdict {
	var why *remote.Error
	if errors.As(err, &why) {
		return retry(reason(why.Reason), "%s", why.Message)
	}
	var occupied *publish.Occupied
	if errors.As(err, &occupied) {
		return say(conflict, "%s", occupied.Message)
	}
	var refused *forge.Error
	if errors.As(err, &refused) {
		v := retry(reason(refused.Reason), "%s", refused.Message)
		v.after = refused.After
		return v
	}
	return retry(reason(remote.Unavailable), "the source cannot be read: %v", err)
}

// conclude reports a verdict, and plans what comes next.
func (w *worker) conclude(ctx context.Context, status hydrations.Status, v verdict) {
	if v.again {
		now := time.Now()
		w.agenda.failed(now)
		if least := now.Add(v.after); least.After(w.agenda.retry) {
			w.agenda.retry = least
		}
	} else {
		w.agenda.settled()
		w.lift = false
	}
	w.report(ctx, status, v)
}
