package keeper

import (
	"cmp"
	"context"
	"errors"
	"path"
	"time"

	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/publish"
	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/live/hydrations"
)

// tries is how often a judgement begins again because the branch has moved.
const tries = 5

// judge judges, publishes, and reports.
func (w *worker) judge(ctx context.Context) {
	w.lift = w.lift || w.agenda.atOnce
	w.agenda.begun()
	begun := time.Now()
	defer func() { w.keeper.Metrics.judged(time.Since(begun)) }()
	w.keeper.idle.begin()
	defer w.keeper.idle.end()
	for range tries {
		a, v, moved := w.try(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case moved:
			continue
		}
		w.agenda.poll = time.Now().Add(time.Duration(w.object.Spec.Source.Interval))
		w.conclude(ctx, a.status, v)
		return
	}
	what, made := "branch "+w.object.Spec.Source.Branch, "a commit"
	if to := w.object.Spec.Publish.OCI; to != nil {
		what, made = "tag "+to.Tag, "an artifact"
	}
	w.conclude(ctx, w.lastStatus(), retry(contended, "%s moved %d times while %s for it was made; the next try follows", what, tries, made))
}

// attempt is one judgement of one commit.
type attempt struct {
	*worker
	status hydrations.Status // what the status is to be

	remote  *remote.Remote
	to      publisher
	applied *application // nil where the output is not applied
	source  *remote.Source
	commit  *object.Commit
	pkg     hydration.Package
	held    int64        // of the keeper's room
	last    publish.Lock // where inventory and output are not committed
	first   bool         // nothing was published yet there
	facts   facts
	given   hydration.Facts
}

// dir is the path of the package as package tree takes it.
func (a *attempt) dir() string {
	if dir := path.Clean(a.object.Spec.Source.Path); dir != "." {
		return dir
	}
	return ""
}

// end closes what is open.
func (a *attempt) end() {
	if a.to.end != nil {
		a.to.end()
	}
}

// run reads, judges and publishes. moved says that the branch has another commit by now.
func (a *attempt) run(ctx context.Context) (v verdict, moved bool) {
	if v, failed := a.fetch(ctx); failed {
		return v, false
	}
	if a.object.Spec.Publish.Mode != modeApply {
		if err := a.lock(ctx); err != nil {
			return ofError(err), isMoved(err)
		}
	}
	if v, failed := a.read(ctx); failed {
		return v, false
	}
	inputs := hydration.InputsOf(a.pkg, a.given)
	if a.object.Spec.Publish.Mode == modeApply {
		if v, failed := a.readApplied(ctx); failed {
			return v, false
		}
		inputs.Applied = a.memory.members
	}
	known := a.memory.verdict
	same := a.memory.inputs == inputs && known.reason != "" && !known.again
	a.memory.inputs, a.memory.version = inputs, a.facts.version
	a.status.Source.Revision = a.revision()
	if same && (a.memory.later.IsZero() || time.Now().Before(a.memory.later)) {
		a.agenda.later = a.memory.later
		return known, false
	}
	if a.status.Facts.Digest != a.given.Digest || a.status.Facts.Cluster != a.given.Cluster {
		a.status.Facts = hydrations.Facts{Digest: a.given.Digest, Time: moment(), Cluster: a.given.Cluster}
	}
	if a.applied != nil {
		v = a.apply(ctx)
	} else {
		v, moved = a.decide(ctx)
	}
	a.memory.verdict, a.memory.later = v, a.agenda.later
	return v, moved
}

// fetch gets the last commit of the branch, and the package in it.
func (a *attempt) fetch(ctx context.Context) (v verdict, failed bool) {
	if a.object.Spec.Source.InCluster != nil {
		return a.gather(ctx)
	}
	var err error
	if a.remote, err = a.open(ctx); err != nil {
		return ofError(err), true
	}
	a.remote.Within(a.size.source, func() error { return a.admit(ctx) })
	if a.source, err = a.remote.Fetch(ctx, a.object.Spec.Source.Branch); err != nil {
		return ofError(err), true
	}
	if a.commit, err = object.GetCommit(a.source, a.source.Head); err != nil {
		return ofError(err), true
	}
	a.memory.head = a.source.Head
	files, err := tree.Read(a.source, a.commit.TreeHash, a.dir(), a.size.source, hydration.Reads)
	if err != nil {
		return a.ofFiles(err), true
	}
	a.pkg = hydration.Package{Files: files.Content, Digest: files.Hash.String(), Dir: a.object.Spec.Source.Path}
	return verdict{}, false
}

// lock takes inventory and output from what was published last, where they are not committed.
func (a *attempt) lock(ctx context.Context) (err error) {
	if a.to, err = a.publisher(ctx, a.remote); err != nil {
		return err
	}
	keeps, is := a.to.Publisher.(publish.Keeper)
	if !is {
		return nil
	}
	if a.last, err = keeps.Last(ctx, a.size.source); err != nil {
		return err
	}
	a.pkg.Digest += " " + a.last.Revision
	if a.first = a.last.Revision == ""; !a.first {
		a.pkg = a.pkg.On(a.last.Files)
		a.pkg.Lock = a.last.Name
	}
	return nil
}

func isMoved(err error) bool {
	var why *remote.Error
	return errors.As(err, &why) && why.Reason == remote.Moved
}

// ofTree is the verdict of an error about the files.
func ofTree(err error) verdict {
	var why *tree.RefusedError
	if errors.As(err, &why) {
		return say(reason(remote.Refused), "%s", why.Error())
	}
	return ofError(err)
}

// read gets the facts that the specs look at.
func (a *attempt) read(ctx context.Context) (v verdict, failed bool) {
	specs := a.pkg.Beside()
	// The new one first: it may be the old one.
	used := a.keeper.feeds.use(ctx, specs)
	a.keeper.feeds.drop(a.worker.feed)
	a.worker.feed = used
	now, err := used.now(ctx)
	if err == nil {
		a.facts = now
		err = a.keeper.slot(ctx, func() (err error) {
			noting := now.Snapshot.NoteMissing(a.pkg.NotedMissing(a.memory.facts), time.Now())
			a.given, err = hydration.NewFacts(noting, a.pkg.Format())
			return err
		})
	}
	if err == nil {
		a.memory.facts = a.given
		a.memory.facts.Files = nil
		a.size.noteFacts(a.given.Files)
	}
	if err != nil {
		return retry(factsUnavailable, "the facts of the cluster are not known: %v", err), true
	}
	return verdict{}, false
}

// decide judges, and publishes what is to be published.
func (a *attempt) decide(ctx context.Context) (v verdict, moved bool) {
	j, err := a.render(ctx, a.pkg, a.given)
	if v, failed := a.accept(j, err); failed {
		return v, false
	}
	maxAge := time.Duration(a.object.Spec.Facts.MaxAge)
	now := time.Now()
	factsChanged := now
	if maxAge > 0 && j.FactsAlone() && a.object.Spec.PublishesFacts() {
		if factsChanged, err = a.factsChanged(ctx, now.Add(-maxAge)); err != nil {
			return ofError(err), false
		}
	}
	files := j.Publish(factsChanged, now, maxAge)
	if a.first {
		files = j.Changed()
	}
	if len(files) == 0 {
		if a.object.Spec.PublishesFacts() {
			a.agenda.later = j.DueAt(factsChanged, maxAge)
		}
		if _, keeps := a.to.Publisher.(publish.Keeper); !keeps {
			if err := a.find(ctx); err != nil {
				return ofError(err), false
			}
		}
		a.flapping.see(nil, now, a.flapWindow())
		if _, branch := a.to.Publisher.(publish.Branch); branch {
			return say(upToDate, "the output in Git is that of the specs and the cluster"), false
		}
	}
	return a.publish(ctx, j, files, now)
}

// accept takes a judgement into the status, or says why there is none.
func (a *attempt) accept(j *hydration.Judgement, err error) (v verdict, failed bool) {
	if err != nil {
		return ofRender(err), true
	}
	a.status = judged(a.status, j)
	if j.Failed() {
		return say(invalid, "the package has errors (%d), so nothing is published; the first is: %s", a.status.Findings.Errors, a.status.Findings.First[0]), true
	}
	return verdict{}, false
}

// trailerHydration is the trailer with the name of the Hydration.
const trailerHydration = "Poolwright-Hydration"

// changedByFacts are the fields that change where the facts alone do: of the commit that was judged, or
// of a head with these files, which has the last output that was published. The error is that of the
// renderer.
func (a *attempt) changedByFacts(ctx context.Context, j *hydration.Judgement, files, head map[string][]byte) ([]field, error) {
	p := a.pkg
	if head != nil {
		p = p.On(head)
		var err error
		if j, err = a.render(ctx, p, a.given); err != nil {
			return nil, ofRenderer(err)
		}
		files = j.Publish(time.Time{}, time.Time{}, 0)
	}
	fields := changedFields(j.Plan.Changes)
	if len(fields) == 0 {
		return nil, nil
	}
	// Whether with the committed facts there would be nothing to publish.
	before, err := a.render(ctx, p, committedFacts(p, files, a.given))
	if err != nil || before.Failed() || len(before.Publish(time.Time{}, time.Time{}, 0)) > 0 {
		return nil, ofRenderer(err)
	}
	return fields, nil
}

// errHeld ends a publication whose verdict is known.
var errHeld = errors.New("held back")

// publish publishes, and says so after the fact.
func (a *attempt) publish(ctx context.Context, j *hydration.Judgement, files map[string][]byte, now time.Time) (v verdict, moved bool) {
	spec := &a.object.Spec
	entry := hydrations.Entry{Time: now.UTC().Truncate(time.Second), Output: j.Output}
	replaced := false
	step := func(output bool, head map[string][]byte) error {
		if err := a.keeper.step(ctx); err != nil {
			return errHeld // who stops reports nothing
		}
		if !output {
			return nil
		}
		replaced = true
		fields, err := a.changedByFacts(ctx, j, files, head)
		if err != nil {
			v = ofRender(err)
			return errHeld
		}
		if len(fields) > 0 {
			entry.Changed = names(fields)
			if held, waits := a.hold(fields, now); waits {
				v = held
				return errHeld
			}
		}
		return nil
	}
	key, err := a.signingKey(ctx)
	if err != nil {
		return ofError(err), false
	}
	done, err := a.to.Publish(ctx, publish.Change{
		Source: a.source, URL: spec.Source.URL, Branch: spec.Source.Branch, Dir: a.dir(),
		Package: a.pkg.Digest, Before: a.pkg.Output(), Output: j.Output, Facts: j.Facts, Files: files,
		Risk: j.Risk(), Subject: j.Subject(), Body: func(most int) string {
			p := j.Plan
			p.Most = most
			return p.Markdown()
		},
		Message: j.Message(
			hydration.Trailer{Key: trailerHydration, Value: a.object.Key().String()},
			hydration.Trailer{Key: "Poolwright-Source", Value: a.status.Source.Revision},
		),
		Author: tree.Author(spec.Publish.Author),
		Key:    key,
		Time:   entry.Time,
		Step:   step,
	})
	switch {
	case errors.Is(err, errHeld):
		return v, false
	case isMoved(err):
		return verdict{}, true
	case err != nil:
		return ofTree(err), false
	}
	if !replaced {
		a.flapping.see(nil, now, a.flapWindow())
	}
	if done.Revision != "" && done.Revision != a.status.Published.Revision {
		a.keeper.Metrics.published(spec.Publish.Mode)
		a.status.Published = hydrations.Published{Revision: done.Revision, Digest: j.Output, URL: cmp.Or(done.URL, spec.Source.URL), Time: entry.Time}
		a.status.History = remember(a.status.History, entry)
	}
	if !done.Head.IsZero() {
		a.memory.inputs, a.memory.head = hydration.Inputs{}, done.Head
	}
	if done.Outside != "" {
		a.memory.outside = done.Outside
	}
	if e := done.Event; e.Reason == eventWithdrawn || e.Reason == eventMerged && a.object.Status.Condition("Ready").Reason != string(upToDate) {
		a.keeper.Store.Event(a.object, false, e.Reason, e.Message)
	}
	v = say(reason(done.Reason), "%s", done.Message)
	v.again = done.Again
	return v, false
}
