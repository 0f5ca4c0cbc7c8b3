package keeper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/rollout"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/applyset"
	"github.com/poolwright/poolwright/live/follow"
	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/schema/document"
)

// modeApply is the mode of a Hydration whose output is applied.
const modeApply = "Apply"

const (
	soon     = 2 * time.Second // until the API server serves what was just defined
	eachStep = time.Second     // between two looks at objects that become ready
	anyway   = time.Minute     // between two looks where no watch says anything
)

// rolling is what a worker remembers from one look at an application to the next.
type rolling struct {
	members *follow.Follower
	kinds   []krm.GroupKind // of which there may be members, beyond what the object says: a watch may be behind
	pkg     string          // digest of the package that was applied last
	changed []string        // fields that the application under way changes because of facts alone
	judged  time.Time
}

// application is the output of a Hydration in the cluster.
type application struct {
	applyset.Writer
	members map[krm.ID]*applyset.Member
}

// noteApplied takes down that what was applied has changed. What is awaited is looked at soon.
func (w *worker) noteApplied(now time.Time) {
	if w.object.Spec.Publish.Mode != modeApply {
		w.rolling.members.End()
		w.rolling.members = nil
	}
	digest, known := w.rolling.members.Digest()
	switch {
	case !known || digest == w.memory.members:
	case w.memory.verdict.reason == applying:
		w.agenda.later = earlier(w.agenda.later, w.rolling.judged.Add(eachStep))
	default:
		w.agenda.note(now)
	}
}

// awaits says what an applied object waits for.
func (w *worker) awaits(live *krm.Object) string { return w.keeper.Function.Kinds().Awaits(live) }

// readApplied reads what is applied: the lock.
func (a *attempt) readApplied(ctx context.Context) (v verdict, failed bool) {
	a.rolling.judged = time.Now()
	served, err := a.keeper.Cluster.Served(ctx)
	if err != nil {
		return retry(factsUnavailable, "%v", err), true
	}
	kinds, known := applyset.Kinds(a.object)
	if !known {
		for _, kind := range a.keeper.Function.Kinds().Rendered() {
			kinds = append(kinds, kind.GroupKind)
		}
	}
	kinds = append(kinds, a.rolling.kinds...)
	a.applied = &application{Writer: applyset.Writer{Set: applyset.Of(a.object.Key()), Cluster: a.keeper.Cluster, Served: served}, members: map[krm.ID]*applyset.Member{}}
	members, err := a.applied.List(ctx, a.keeper.Cluster, served, kinds, !known)
	if err != nil {
		return retry(factsUnavailable, "the objects that were applied cannot be read: %v", err), true
	}
	for _, m := range members {
		a.applied.members[m.Live.ID()] = m
	}
	a.memory.members = applyset.Digest(members, a.awaits)
	return verdict{}, false
}

// follow follows the members of these kinds from now on.
func (a *attempt) follow(ctx context.Context) error {
	if a.rolling.members == nil {
		a.rolling.members = follow.New(a.keeper.Cluster, applyset.Digester(a.awaits), a.poke)
	}
	kinds, _ := applyset.Kinds(a.object)
	queries, err := a.applied.Queries(a.applied.Served, append(kinds, a.rolling.kinds...))
	if err == nil {
		a.rolling.members.Follow(ctx, queries)
	}
	return err
}

// apply judges, and applies as far as what was applied is ready.
func (a *attempt) apply(ctx context.Context) verdict {
	var lock []*krm.Object
	for _, m := range a.applied.members {
		lock = append(lock, hydration.Lock(m.Applied))
	}
	slices.SortFunc(lock, func(x, y *krm.Object) int { return x.ID().Compare(y.ID()) })
	var j *hydration.Judgement
	err := a.keeper.slot(ctx, func() (err error) {
		j, err = hydration.JudgeApplied(a.keeper.Function, a.pkg, a.given, lock)
		return err
	})
	if v, failed := a.accept(j, err); failed {
		return v
	}
	a.keeper.applying.Lock()
	defer a.keeper.applying.Unlock()
	p := &pass{attempt: a, judgement: j, differs: map[krm.ID]bool{}, left: map[krm.ID]bool{}}
	for _, o := range rollout.Order(j.Objects) {
		if m := a.applied.members[o.Object.ID()]; m == nil || !document.Equal(m.Applied.Node, o.Object.Node) {
			p.differs[o.Object.ID()] = true
		}
		p.order = append(p.order, o)
	}
	if v, failed := p.try(ctx); failed {
		return v
	}
	j.Plan.Changes = slices.DeleteFunc(j.Plan.Changes, func(c *change.Change) bool {
		return c.Action == change.Modify && !p.differs[c.New.ID()]
	})
	a.status.Risk = string(j.Risk())
	now := time.Now()
	if len(p.differs) == 0 && len(j.Removed) == 0 && a.status.Published.Digest == j.Output {
		a.rolling.pkg = a.pkg.Digest
		a.flapping.see(nil, now, a.flapWindow())
		if err := a.follow(ctx); err != nil {
			return retry(publishFailed, "%v", err)
		}
		return say(upToDate, "the output in the cluster is that of the specs and the cluster")
	}
	if v, held := a.holdBack(j, now); held {
		return v
	}
	return p.run(ctx, now)
}

// holdBack holds back fields that facts alone change again and again.
func (a *attempt) holdBack(j *hydration.Judgement, now time.Time) (v verdict, held bool) {
	if a.rolling.pkg != a.pkg.Digest {
		return verdict{}, false
	}
	fields := changedFields(j.Plan.Changes)
	if len(fields) == 0 {
		return verdict{}, false
	}
	if v, held = a.hold(fields, now); !held {
		a.rolling.changed = names(fields)
	}
	return v, held
}

// done reports that everything is applied and ready.
func (p *pass) done(ctx context.Context, now time.Time) verdict {
	a := p.attempt
	if err := p.declare(ctx, false); err != nil {
		return retry(publishFailed, "%v", err)
	}
	a.keeper.Metrics.published(a.object.Spec.Publish.Mode)
	at := now.UTC().Truncate(time.Second)
	output := p.judgement.Output
	a.status.Published = hydrations.Published{Revision: "cluster@" + output, Digest: output, Time: at}
	a.status.History = remember(a.status.History, hydrations.Entry{Time: at, Output: output, Changed: a.rolling.changed})
	a.rolling.changed, a.rolling.pkg = nil, a.pkg.Digest
	a.memory.inputs = hydration.Inputs{}
	return say(published, "%s", fmt.Sprintf("%d objects are applied and ready", len(p.order)))
}
