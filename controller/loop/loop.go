// Package loop keeps one package in a Git work tree up to date with a cluster: whenever facts or specs have
// changed, it judges them, and commits what comes of it.
package loop

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/controller/worktree"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/live/watch"
)

// Loop is a package and its cluster.
type Loop struct {
	Function *fn.Function
	Cluster  *cluster.Cluster
	Work     *worktree.WorkTree
	Author   tree.Author
	Debounce time.Duration // from the first change that is not judged yet to its judgement
	MaxAge   time.Duration // after which facts are committed although the output is as before; 0 for never
	NoCommit bool          // the files in the work tree are read and written, and nothing is committed

	Notice func(string)        // hears of lost watches
	Report func(Outcome) error // hears of each judgement; its error ends the loop

	judged hydration.Inputs // last
	aged   time.Time        // when the facts of it are too old; zero for never
}

// Outcome is what came of a judgement.
type Outcome struct {
	Judgement *hydration.Judgement // nil if there was none
	Commit    plumbing.Hash        // zero for none
	Written   int                  // files
	Err       error                // why there was none; another try may succeed
}

// retry is how long a failure is left alone.
const retry = 10 * time.Second

// Once takes a snapshot, judges it, and publishes.
func (l *Loop) Once(ctx context.Context) Outcome {
	p, err := l.read()
	if err != nil {
		return Outcome{Err: err}
	}
	o := snapshot.Options{Kinds: l.Function.Kinds().Read()}
	o.Keep(p.Beside())
	s, err := snapshot.Take(ctx, l.Cluster, o)
	if err != nil {
		return Outcome{Err: err}
	}
	facts, err := hydration.NewFacts(s.NoteMissing(p.NotedMissing(hydration.Facts{}), time.Now()), p.Format())
	if err != nil {
		return Outcome{Err: err}
	}
	outcome, _ := l.settle(ctx, facts)
	return outcome
}

// Run follows the cluster and the branch until the context ends. The error is that of the first reading of
// the cluster, or of Report.
func (l *Loop) Run(ctx context.Context) error {
	f := &following{loop: l, news: make(chan struct{}, 1), failed: make(chan error, 1)}
	defer f.stop()
	p, err := l.read()
	if err != nil {
		return err
	}
	f.follow(ctx, p)
	var due time.Time // zero while nothing is to be judged
	arm := func(at time.Time) {
		if due.IsZero() || at.Before(due) {
			due = at
		}
	}
	before := l.state()
	poll := time.NewTicker(min(time.Second, max(l.Debounce/4, 10*time.Millisecond)))
	defer poll.Stop()
	for first := true; ; {
		select {
		case <-ctx.Done():
			return nil
		case err := <-f.failed:
			return err
		case <-f.news:
			if first {
				due, first = time.Now(), false
			} else {
				arm(time.Now().Add(l.Debounce))
			}
		case <-poll.C:
			if now := l.state(); now != before {
				before = now
				arm(time.Now().Add(l.Debounce))
			}
			if !l.aged.IsZero() {
				arm(l.aged)
			}
		}
		facts, known := f.facts()
		if due.IsZero() || time.Now().Before(due) || !known {
			continue
		}
		due = time.Time{}
		if p, other := f.other(); other {
			f.follow(ctx, p) // with what the specs look at by now
			first = true
			continue
		}
		outcome, changed := l.settle(ctx, facts)
		if outcome.Err != nil {
			if ctx.Err() != nil {
				return nil
			}
			arm(time.Now().Add(min(retry, max(l.Debounce, time.Second))))
		}
		if changed {
			if err := l.Report(outcome); err != nil {
				return err
			}
		}
	}
}

// state changes with the branch, or with what the files of the work tree look like.
func (l *Loop) state() string {
	if l.NoCommit {
		return l.Work.Look()
	}
	head, err := l.Work.Head()
	if err != nil {
		return err.Error()
	}
	return head.String()
}

// digest is Package.Digest of what read would read.
func (l *Loop) digest() (string, error) {
	if l.NoCommit {
		return l.Work.Look(), nil
	}
	head, err := l.Work.Head()
	if err != nil {
		return "", err
	}
	hash, err := l.Work.Tree(head)
	return hash.String(), err
}

// read reads the package: as committed, or as it is in the work tree.
func (l *Loop) read() (p hydration.Package, err error) {
	p.Dir = l.Work.Dir
	if p.Digest, err = l.digest(); err != nil {
		return p, err
	}
	if l.NoCommit {
		p.Files, err = l.Work.Files(hydration.Reads)
		return p, err
	}
	p.Files, err = l.Work.Package(plumbing.NewHash(p.Digest), hydration.Reads)
	return p, err
}

// settle judges again where somebody else committed meanwhile.
func (l *Loop) settle(ctx context.Context, facts hydration.Facts) (o Outcome, changed bool) {
	const tries = 5
	for range tries {
		if o, changed = l.judge(ctx, facts); !errors.Is(o.Err, worktree.ErrMoved) {
			break
		}
	}
	return o, changed
}

// judge judges the package with facts, and publishes what comes of it. It reports whether there was anything
// to judge.
func (l *Loop) judge(ctx context.Context, facts hydration.Facts) (o Outcome, changed bool) {
	fail := func(err error) (Outcome, bool) { o.Err = err; return o, true }
	if err := errors.Join(l.Work.Repair(), l.Work.UnderWay()); err != nil {
		return fail(err)
	}
	head, err := l.Work.Head()
	if err != nil {
		return fail(err)
	}
	digest, err := l.digest()
	if err != nil {
		return fail(err)
	}
	now := time.Now()
	if l.judged == (hydration.Inputs{Package: digest, Facts: facts.Digest}) && (l.aged.IsZero() || now.Before(l.aged)) {
		return o, false
	}
	p, err := l.read()
	if err != nil {
		return fail(err)
	}
	if !l.NoCommit {
		if err := l.Work.Uncommitted(p.Files, p.Ignored()); err != nil {
			return fail(err)
		}
	}
	j, err := hydration.Judge(ctx, l.Function, hydration.InProcess{Function: l.Function}, p, facts)
	if err != nil {
		return fail(err)
	}
	o.Judgement = j
	changedAt, err := l.Work.ChangedAt(head, "inventory", now.Add(-l.MaxAge))
	if err != nil {
		return fail(err)
	}
	files := j.Publish(changedAt, now, l.MaxAge)
	switch {
	case len(files) == 0:
	case l.NoCommit:
		err = l.Work.Write(ctx, files)
	default:
		o.Commit, err = l.Work.Commit(ctx, worktree.Commit{
			Base: head, Before: p.Files, Changes: files, Author: l.Author, Time: now, Message: j.Message(),
		})
	}
	if err != nil {
		return fail(err)
	}
	l.judged, l.aged = hydration.InputsOf(p, facts), time.Time{}
	if o.Written = len(files); o.Written == 0 {
		l.aged = j.DueAt(changedAt, l.MaxAge)
	}
	return o, true
}

// following is the watch of the cluster, with what the specs of the package look at.
type following struct {
	loop   *Loop
	read   string // digest of the package whose specs are known
	kept   snapshot.Options
	format snapshot.Format
	noted  string // of missing nodes, by the last snapshot
	cancel context.CancelFunc
	done   chan struct{}
	latest latest
	news   chan struct{} // there are other facts
	failed chan error
}

// other returns the package if its specs look at other fields than are kept.
func (f *following) other() (p hydration.Package, other bool) {
	digest, err := f.loop.digest()
	if err != nil || digest == f.read {
		return p, false // the judgement reports the error
	}
	if p, err = f.loop.read(); err != nil {
		return p, false
	}
	f.read = p.Digest
	o := options(p.Beside())
	return p, !slices.Equal(o.Annotations, f.kept.Annotations) || !slices.Equal(o.Fields, f.kept.Fields) || p.Format() != f.format
}

func options(specs []*krm.Object) (o snapshot.Options) {
	o.Keep(specs)
	return o
}

// follow watches the cluster for a package, and no longer for the one before.
func (f *following) follow(ctx context.Context, p hydration.Package) {
	f.stop()
	last, _ := f.latest.get()
	f.noted = p.NotedMissing(last)
	f.latest.set(hydration.Facts{}, false)
	specs := p.Beside()
	f.read, f.kept, f.format, f.done = p.Digest, options(specs), p.Format(), make(chan struct{})
	ctx, f.cancel = context.WithCancel(ctx)
	go func() {
		defer close(f.done)
		err := watch.Snapshots(ctx, f.loop.Cluster, watch.Options{
			Kinds: f.loop.Function.Kinds().Read(), Specs: specs, Notice: f.loop.Notice, Lost: func(error) { f.latest.forget() },
		}, f.look)
		if err != nil && ctx.Err() == nil {
			f.failed <- err
		}
	}()
}

// look takes over a snapshot.
func (f *following) look(s *snapshot.Snapshot) error {
	facts, err := hydration.NewFacts(s.NoteMissing(f.noted, time.Now()), f.format)
	f.noted = facts.Missing
	if err == nil && f.latest.set(facts, true) {
		select {
		case f.news <- struct{}{}:
		default:
		}
	}
	return err
}

func (f *following) facts() (hydration.Facts, bool) { return f.latest.get() }

func (f *following) stop() {
	if f.cancel != nil {
		f.cancel()
		<-f.done
	}
}
