package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/poolwright/poolwright/controller/forge"
	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/proposal"
	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/fn/change"
)

// PullRequest keeps one pull request with the output, from a branch of its own.
type PullRequest struct {
	Remote *remote.Remote
	Forge  forge.Forge
	Head   string // the branch
	// Safe publishes what is safe without a person: by a push, or by a merge where that is refused.
	Safe bool
}

// Look looks up the branches and the pull requests.
func (p PullRequest) Look(ctx context.Context, base string) (head plumbing.Hash, outside string, err error) {
	heads, err := p.Remote.Heads(ctx, base, p.Head)
	if err != nil {
		return head, "", err
	}
	found, err := p.Forge.Find(ctx, p.Head, base)
	if err != nil {
		return head, "", err
	}
	return heads[base], heads[p.Head].String() + outline(found), nil
}

// outline is different whenever what is decided from the pull requests may be.
func outline(found []forge.Request) string {
	var b strings.Builder
	for i := range found {
		r := &found[i]
		fmt.Fprintf(&b, ";%d %s %s %v %v", r.Number, r.State, r.Head, r.Conflict, proposal.ReadMarks(r.Body))
	}
	return b.String()
}

// Publish takes the steps that are decided from what is there. What was done is found again by the next
// decision, wherever this one ends.
func (p PullRequest) Publish(ctx context.Context, c Change) (Published, error) {
	s, at, err := p.state(ctx, c)
	if err != nil {
		return Published{}, err
	}
	d := proposal.Decide(s)
	safe := p.Safe && (c.Risk == change.Safe || c.Risk == hydration.RiskNone)
	onlyFacts := c.Output == c.Before
	if safe && len(c.Files) > 0 && (d.Push || d.Create || onlyFacts) {
		done, err := Branch{p.Remote}.Publish(ctx, c)
		var why *remote.Error
		if !errors.As(err, &why) || why.Reason != remote.Protected {
			done.Again = s.Head != nil || d.Request != nil && d.Request.State == forge.Open // which the next decision withdraws
			return done, err
		}
	}
	r, head, err := p.act(ctx, c, s, &d, at)
	if forge.IsConflict(err) {
		err = p.ofConflict(ctx, c, s, err)
	}
	if err != nil {
		return Published{}, err
	}
	done := p.report(c, &d, r)
	if d.Verdict == proposal.AwaitingMerge {
		done.Revision = Revision(p.Head, head)
	}
	if safe && d.Verdict == proposal.AwaitingMerge {
		return p.merge(ctx, c, s, &d, done)
	}
	return done, nil
}

// ofConflict is Moved where somebody was faster: the pull requests are others than those that were
// judged. Otherwise the forge refuses what it was asked for.
func (p PullRequest) ofConflict(ctx context.Context, c Change, s *proposal.State, refused error) error {
	now, err := p.Forge.Find(ctx, p.Head, c.Branch)
	switch {
	case err != nil:
		return err
	case outline(now) == outline(s.Request):
		return refused
	}
	return &remote.Error{Reason: remote.Moved, Message: refused.Error()}
}

// place is what a decision is carried out with.
type place struct {
	text  forge.Text
	ahead *remote.Ahead // nil where there is no head
}

// state reads what there is.
func (p PullRequest) state(ctx context.Context, c Change) (s *proposal.State, at place, err error) {
	found, err := p.Forge.Find(ctx, p.Head, c.Branch)
	if err != nil {
		return nil, at, err
	}
	if at.ahead, err = p.Remote.Ahead(ctx, p.Head, c.Source); err != nil {
		return nil, at, err
	}
	head, err := readHead(at.ahead, c.Dir, p.Remote.Rules().MaxSource)
	if err != nil {
		return nil, at, p.unreadable(err)
	}
	text, digest := proposal.Compose(c.Subject, c.Body(p.Forge.MostBody()-proposal.Room), c.Output)
	at.text = text
	return &proposal.State{
		Base:   proposal.Side{Commit: c.Source.Head.String(), Output: c.Before, Package: c.Package},
		Judged: c.Output, Text: digest, Me: proposal.Identity(c.Author), Head: head, Request: found,
	}, at, nil
}

func (p PullRequest) unreadable(err error) error {
	return &remote.Error{Reason: remote.Failed, Message: fmt.Sprintf("branch %s cannot be read: %v", p.Head, err)}
}

// step is one that others see.
type step struct {
	wanted, output bool
	do             func() error
}

// act takes the steps of a decision: one after the other, each after it was permitted. It returns the
// pull request and the head that are there then.
func (p PullRequest) act(ctx context.Context, c Change, s *proposal.State, d *proposal.Decision, with place) (r *forge.Request, at plumbing.Hash, err error) {
	r = d.Request
	var replaced map[string][]byte
	if s.Head != nil {
		at = plumbing.NewHash(s.Head.Commit)
		if replaced, err = filesOf(with.ahead, c.Dir, p.Remote.Rules().MaxSource); err != nil {
			return nil, at, p.unreadable(err)
		}
	}
	var steps []step
	for _, twin := range d.Duplicates {
		steps = append(steps,
			step{true, false, func() error { return p.Forge.Edit(ctx, *twin, proposal.Duplicate(twin, d.Request)) }},
			step{true, false, func() error { return p.Forge.Close(ctx, *twin) }})
	}
	steps = append(steps, []step{
		{d.Push, true, func() error {
			commit, err := write(c)
			if err == nil {
				err = p.Remote.Move(ctx, p.Head, at, commit, c.Source)
			}
			at = commit
			return err
		}},
		{d.Create, false, func() error {
			made, err := p.Forge.Create(ctx, p.Head, c.Branch, with.text)
			r = &made
			return err
		}},
		{d.Edit, false, func() error { return p.Forge.Edit(ctx, *r, with.text) }},
		{d.Withdraw, false, func() error { return p.Forge.Edit(ctx, *r, proposal.Withdrawn(r)) }},
		{d.Withdraw, false, func() error { return p.Forge.Close(ctx, *r) }},
		{d.Delete, false, func() error { return p.Remote.Move(ctx, p.Head, at, plumbing.ZeroHash, c.Source) }},
	}...)
	for _, step := range steps {
		if !step.wanted {
			continue
		}
		if err := c.Step(step.output, replaced); err != nil {
			return nil, at, err
		}
		if err := step.do(); err != nil {
			return nil, at, err
		}
	}
	return r, at, nil
}

// report says what a decision comes to.
func (p PullRequest) report(c Change, d *proposal.Decision, r *forge.Request) Published {
	done := Published{Reason: string(d.Verdict)}
	named := func(r *forge.Request) string { return fmt.Sprintf("pull request #%d (%s)", r.Number, r.URL) }
	switch d.Verdict {
	case proposal.AwaitingMerge:
		done.URL = r.URL
		done.Message = fmt.Sprintf("%s awaits a merge: %s", named(r), c.Subject)
	case proposal.ForeignCommits:
		names := slices.Clone(d.Foreign[:min(3, len(d.Foreign))])
		for i := range names {
			names[i] = names[i][:min(12, len(names[i]))]
		}
		done.Message = fmt.Sprintf("branch %s has %d commits that are not of Poolwright (%s), so nothing is pushed to it; merge its pull request, or remove these commits",
			p.Head, len(d.Foreign), strings.Join(names, ", "))
	case proposal.Declined:
		done.Message = fmt.Sprintf("%s proposed this output and was closed, so it is not proposed again; reopen it, or change the specs", named(r))
	default:
		done.Message = "the output in Git is that of the specs and the cluster"
	}
	switch {
	case d.Withdraw:
		done.Event = Event{"Withdrawn", named(r) + " was closed: the output of the base is that of the specs and the cluster again"}
	case d.Merged:
		done.Event = Event{"Merged", named(r) + " was merged"}
	}
	return done
}

// merge has the forge merge what is safe: the head as it was judged, once the forge has seen it.
func (p PullRequest) merge(ctx context.Context, c Change, s *proposal.State, d *proposal.Decision, done Published) (Published, error) {
	done.Again = true
	if d.Push || d.Create || d.Edit {
		return done, nil
	}
	if err := c.Step(false, nil); err != nil {
		return Published{}, err
	}
	err := p.Forge.Merge(ctx, *d.Request, s.Head.Commit)
	switch {
	case forge.IsNotMergeable(err):
		done.Message += "; it is safe, and cannot be merged yet: " + err.Error()
		return done, nil
	case err != nil:
		return Published{}, err
	}
	return Published{}, &remote.Error{Reason: remote.Moved, Message: fmt.Sprintf("pull request #%d was merged", d.Request.Number)}
}
