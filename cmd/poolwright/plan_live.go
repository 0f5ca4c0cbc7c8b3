package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/dryrun"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// live compares with the cluster. The lock shows whose objects are
// looked for there.
func (p *planning) live(ctx context.Context, s program, f *planFlags, l loaded, wanted []*krm.Object) error {
	c, err := f.cluster.connect()
	if err != nil {
		return err
	}
	kinds := p.function.Kinds()
	options := dryrun.Options{Manager: f.manager, Effect: p.function.DryRunEffect, Tried: kinds.Tried, Partial: kinds.Partial}
	for _, k := range kinds.Rendered() {
		options.Kinds = append(options.Kinds, k.GroupKind)
	}
	for _, o := range l.Ours() {
		options.Owners = append(options.Owners, o.RenderedFor())
	}
	var done atomic.Int64
	options.Progress = func(n, _ int) { done.Store(int64(n)) }
	defer terminal.Follow(s.err, func() string {
		return fmt.Sprintf("asking %s about %s, %d done", c, finding.Count(len(wanted), "object"), done.Load())
	})()
	applied := slices.DeleteFunc(slices.Clone(l.Objects), func(o *krm.Object) bool { return !kinds.IsApplied(o.GroupKind()) || o.RenderedFor() != "" })
	result, err := dryrun.Run(ctx, c, slices.Concat(wanted, applied), options)
	if err != nil {
		return err
	}
	take := snapshot.Options{Kinds: kinds.Status(), Served: result.Served}
	take.Keep(kinds.Specs(l.Objects))
	facts, err := snapshot.Take(ctx, c, take)
	if err != nil {
		return err
	}
	p.judge(l, facts.Objects(), wanted)
	p.Findings = append(p.Findings, result.Findings...)
	old := result.Old
	switch {
	case f.prune == nil:
		p.Findings = append(p.Findings, p.others(result.Others, f.failOn)...)
	case *f.prune:
		old = append(old, result.Others...)
	}
	old = append(p.function.Plain(old), p.takenOut(l.Ours(), applied)...)
	p.Changes = change.Between(old, p.function.Plain(result.New))
	return nil
}

// takenOut are the live objects of specs that are applied as they stand, that the lock
// remembers and the package has no more.
func (p *planning) takenOut(lock, applied []*krm.Object) []*krm.Object {
	var gone []*krm.Object
	for _, was := range p.function.Remembered(lock) {
		live := p.facts.Object(was.ID())
		if live != nil && !slices.ContainsFunc(applied, func(o *krm.Object) bool { return o.ID() == was.ID() }) {
			gone = append(gone, live)
		}
	}
	return gone
}

// judge takes what there is to say about nodes and disks from the cluster. What is
// planned is what the package gives, and an engine applies; but its snapshot may be old,
// and then its warnings contradict what is in the cluster. A cluster without any node is one of
// which nothing is known.
func (p *planning) judge(l loaded, facts, wanted []*krm.Object) {
	p.facts = inventory.NewLive(facts)
	if len(p.facts.Nodes) == 0 {
		return
	}
	pkg := l.Input()
	pkg.Live = facts
	now := p.function.Render(pkg)
	p.Findings = append(now.Findings, l.findings...)
	if n := len(change.Between(wanted, now.Output())); n > 0 && !finding.Failed(now.Findings) {
		p.Findings = append(p.Findings, finding.Finding{
			Severity: finding.Info, Rule: "inventory-old",
			Message: fmt.Sprintf("the inventory of the package is out of date: with the current state of the cluster, the output would differ in %s; refresh it with poolwright inventory", finding.Count(n, "object")),
		})
	}
}

// others has a finding for each spec that is not in the package and of which
// something is in the cluster. It may be another package's, or was deleted: that is an error if
// what would be lost is as risky as the limit.
func (p *planning) others(objects []*krm.Object, limit change.Risk) []finding.Finding {
	removals := p.function.Assess(p.pkg, p.facts, change.Between(objects, nil)) // the riskiest first
	byOwner := map[string][]*change.Change{}
	for _, c := range removals {
		byOwner[c.Owner()] = append(byOwner[c.Owner()], c)
	}
	var findings []finding.Finding
	for owner, removals := range byOwner {
		names := make([]string, len(removals))
		fate := "an engine that prunes keeps them until their protection is lifted"
		for i, c := range removals {
			names[i] = c.Ref.String()
			if len(gitops.Keepers(c.Old)) == 0 {
				fate = "an engine that prunes removes them"
			}
		}
		risk := removals[0].Risk
		f := finding.Finding{
			Severity: finding.Warning, Rule: plan.RuleOtherPackage, Object: p.specRef(owner),
			Message: fmt.Sprintf("is not in this package, but objects rendered for it exist: %s; if the spec was deleted, %s (%s): use --prune to count them as removed, or --prune=false if another package renders them", finding.Names(names), fate, risk),
		}
		if limit != "" && risk.AtLeast(limit) {
			f.Severity = finding.Error
		}
		findings = append(findings, f)
	}
	return findings
}

// specRef names the spec that an owner annotation means.
func (p *planning) specRef(owner string) finding.Ref {
	id, _ := krm.ParseOwner(owner)
	if k, found := p.function.Kinds().Find(id.GroupKind()); found {
		return finding.Ref{APIVersion: k.APIVersion(), Kind: k.Kind, Namespace: id.Namespace, Name: id.Name}
	}
	return finding.Ref{Name: owner}
}
