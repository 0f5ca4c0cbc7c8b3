package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/rollout"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/applyset"
	"github.com/poolwright/poolwright/schema/finding"
)

// pass goes once through all that is rendered: it applies what may be applied by now. The next one goes
// on.
type pass struct {
	*attempt
	judgement *hydration.Judgement
	order     []rollout.Object
	differs   map[krm.ID]bool // what an apply would change
	left      map[krm.ID]bool // what is not touched: a namespace that somebody else made

	progress rollout.Progress
	awaited  []string // what is not ready, and why
	behind   int      // how many objects wait for those
	notYet   bool     // the API server does not serve something yet
}

// tryAtOnce is how many dry runs are under way at the same time.
const tryAtOnce = 8

// try asks what would come of all that differs, before anything is written.
func (p *pass) try(ctx context.Context) (v verdict, failed bool) {
	var mu sync.Mutex
	var errs []*applyset.Error
	var workers sync.WaitGroup
	free := make(chan struct{}, tryAtOnce)
	for _, o := range p.order {
		if !p.differs[o.Object.ID()] {
			continue
		}
		free <- struct{}{}
		workers.Go(func() {
			defer func() { <-free }()
			differs, left, err := p.tryOne(ctx, o)
			mu.Lock()
			defer mu.Unlock()
			if !differs {
				delete(p.differs, o.Object.ID())
			}
			if left {
				p.left[o.Object.ID()] = true
			}
			var why *applyset.Error
			if errors.As(err, &why) {
				errs = append(errs, why)
			}
		})
	}
	workers.Wait()
	if len(errs) == 0 {
		return verdict{}, false
	}
	slices.SortFunc(errs, func(a, b *applyset.Error) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return p.verdictOf(errs[0], len(errs)-1), true
}

// tryOne asks what would come of one object.
func (p *pass) tryOne(ctx context.Context, o rollout.Object) (differs, left bool, err error) {
	member := p.applied.members[o.Object.ID()]
	switch {
	case member != nil && member.Live.Deleting():
		return true, false, nil // it is waited for
	case member != nil && p.keeper.Function.DryRunEffect(member.Live, o.Object) != "":
		return true, false, nil // a dry run would do something
	}
	stored, created, err := p.applied.Apply(ctx, o.Object, o.Stage, member, true)
	var why *applyset.Error
	switch {
	case errors.As(err, &why) && why.Reason == applyset.NotYet:
		return true, false, nil
	case err != nil && member != nil:
		return true, false, err
	case member != nil:
		return !member.Same(stored), false, nil
	case created:
		return true, false, nil
	}
	return p.meet(ctx, o.Object, err)
}

// meet looks at an object that is there and no member.
func (p *pass) meet(ctx context.Context, o *krm.Object, refused error) (differs, left bool, err error) {
	live, err := p.applied.Get(ctx, o)
	switch {
	case err != nil:
		return true, false, err
	case live == nil:
		return true, false, refused
	case o.GroupKind() == krm.GroupKind{Kind: "Namespace"}:
		return false, true, nil // it contains unmanaged objects, too
	case p.keeper.Function.Kinds().Partial(o.GroupKind()):
		return true, false, refused
	}
	if of := p.applied.Taken(live.Live, o.Owner()); of != "" {
		return true, false, &applyset.Error{Reason: applyset.Conflict, Message: fmt.Sprintf(
			"%s exists and is not of this Hydration: %s; delete or rename one of the two, or hand it over with label %s=%s and annotation %s=%s",
			o.Ref, of, krm.LabelManagedBy, krm.ManagedBy, krm.AnnotationOwner, o.Owner())}
	}
	return true, false, refused
}

// verdictOf is that of an error, with how many more there are.
func (p *pass) verdictOf(err *applyset.Error, more int) verdict {
	message := err.Message
	if more > 0 {
		message += fmt.Sprintf(" (and %s)", finding.Count(more, "more error"))
	}
	if err.Reason == applyset.Conflict {
		return retry(conflict, "%s", message)
	}
	return retry(publishFailed, "%s", message)
}

// run applies, and removes what is no longer rendered.
func (p *pass) run(ctx context.Context, now time.Time) verdict {
	if p.keeper.step(ctx) != nil {
		return p.memory.verdict // who stops reports nothing
	}
	if err := p.declare(ctx, true); err != nil {
		return retry(publishFailed, "%v", err)
	}
	if err := p.follow(ctx); err != nil {
		return retry(publishFailed, "%v", err)
	}
	for _, do := range []func(context.Context) error{p.applyAll, p.removeAll} {
		if err := do(ctx); err != nil {
			var why *applyset.Error
			if errors.As(err, &why) {
				return p.verdictOf(why, 0)
			}
			return p.memory.verdict // who stops reports nothing
		}
	}
	if len(p.awaited) == 0 {
		return p.done(ctx, now)
	}
	p.agenda.later = now.Add(anyway)
	if p.notYet {
		p.agenda.later = now.Add(soon)
	}
	message := "awaiting " + strings.Join(p.awaited[:min(len(p.awaited), mostAwaited)], "; ")
	if more := len(p.awaited) - mostAwaited; more > 0 {
		message += fmt.Sprintf("; and %d more", more)
	}
	if p.behind > 0 {
		message += fmt.Sprintf("; %s after that", finding.Count(p.behind, "object"))
	}
	p.status.WaitingFor = append(p.status.WaitingFor, p.awaited...)
	p.status.WaitingFor = p.status.WaitingFor[:min(len(p.status.WaitingFor), mostWaiting)]
	return say(applying, "%s", message)
}

// mostAwaited is how many objects a message names.
const mostAwaited = 3

// declare says in the Hydration of which kinds there are members: with those that come, or without those
// that are gone.
func (p *pass) declare(ctx context.Context, coming bool) error {
	var ids []krm.ID
	for _, o := range p.order {
		ids = append(ids, o.Object.ID())
	}
	if coming {
		for id := range p.applied.members {
			ids = append(ids, id)
		}
	}
	p.rolling.kinds = nil
	for _, id := range ids {
		if !slices.Contains(p.rolling.kinds, id.GroupKind()) {
			p.rolling.kinds = append(p.rolling.kinds, id.GroupKind())
		}
	}
	return p.applied.Declare(ctx, p.keeper.Cluster, p.object, ids)
}

// applyAll applies in order what differs, up to what is not ready.
func (p *pass) applyAll(ctx context.Context) error {
	for _, o := range p.order {
		id := o.Object.ID()
		if _, blocked := p.progress.Blocked(o); blocked {
			p.progress.Wait(o)
			if p.differs[id] {
				p.behind++
			}
			continue
		}
		if p.left[id] {
			continue
		}
		member := p.applied.members[id]
		why := ""
		if p.differs[id] && (member == nil || !member.Live.Deleting()) {
			if err := p.keeper.step(ctx); err != nil {
				return err
			}
			stored, _, err := p.applied.Apply(ctx, o.Object, o.Stage, member, false)
			var failed *applyset.Error
			switch {
			case errors.As(err, &failed) && failed.Reason == applyset.NotYet:
				why, p.notYet = failed.Message, true
			case err != nil:
				return err
			default:
				member = stored
			}
		}
		if why == "" {
			why = p.awaits(member.Live)
		}
		if why != "" {
			p.progress.Wait(o)
			p.await(o, why)
		}
	}
	return nil
}

// await takes down what is not ready, with its level.
func (p *pass) await(o rollout.Object, why string) {
	text := o.Object.Ref.String() + ": " + why
	if level := o.Level(); level != "" {
		text = "level " + level + ": " + text
	}
	p.awaited = append(p.awaited, text)
}

// removeAll removes what is no longer rendered, the last stage first, each one once those of later stages
// are gone. Nothing of a spec is removed before what is rendered for it is ready.
func (p *pass) removeAll(ctx context.Context) error {
	var gone []*applyset.Member
	for _, o := range p.judgement.Removed {
		gone = append(gone, p.applied.members[o.ID()])
	}
	slices.SortStableFunc(gone, func(a, b *applyset.Member) int {
		return cmp.Or(cmp.Compare(b.Stage(), a.Stage()), b.Live.ID().Compare(a.Live.ID()))
	})
	going := map[string]int{} // the highest stage of a spec of which something is not gone yet
	for _, m := range gone {
		owner := m.Applied.RenderedFor()
		stage, waits := going[owner]
		switch {
		case p.progress.Waits(owner), waits && stage > m.Stage():
			p.awaited = append(p.awaited, m.Live.Ref.String()+": is removed after that")
			continue
		case !m.Live.Deleting():
			if err := p.keeper.step(ctx); err != nil {
				return err
			}
			if p.stays(m) {
				if err := p.applied.Release(ctx, m); err != nil {
					return err
				}
				p.keeper.Store.Event(p.object, false, "Released", m.Live.Ref.String()+" is no longer rendered and stays in the cluster; delete it when nothing needs it")
				continue
			}
			if err := p.applied.Delete(ctx, m); err != nil {
				return err
			}
		}
		p.awaited = append(p.awaited, m.Live.Ref.String()+": is being removed")
		going[owner] = max(stage, m.Stage())
	}
	return nil
}

// stays reports whether a member that is no longer rendered is not deleted: what is not marked as output
// any more, what is unmanaged, what would remove unmanaged objects with it, and with protection hard what holds
// data. The consent for the rest is that of the render: without it there is an error, and no pass.
func (p *pass) stays(m *applyset.Member) bool {
	kinds := p.keeper.Function.Kinds()
	switch m.Live.GroupKind() {
	case krm.GroupKind{Kind: "Namespace"}, krm.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return true
	}
	return m.Live.Owner() == "" || m.Live.Owner() != m.Applied.Owner() || kinds.Partial(m.Live.GroupKind()) ||
		p.judgement.Hard && kinds.Stateful(m.Applied)
}
