package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/schema/finding"
)

// pendingEdit is a difference between a CStorPoolCluster as it is rendered and as it is running.
type pendingEdit struct {
	kind  stepKind
	pool  *standing.Pool // as it stands; nil for settings
	comes []string       // block devices that come with it
	begun bool           // something of it is running, or may be
	back  func()         // has what is running stand in its place
	tell  func(why string)
}

// pending is what is rendered of a CStorPoolCluster by now, and not running.
func (g *gate) pending() admission.Step {
	if g.of.Before == nil {
		return admission.Step{}
	}
	return admission.NewStep(g.of.Current, g.rendered(g.of, noPool))
}

// additions are the pools that come. Of one that is going again only an instance is left that is being
// deleted.
func (g *gate) additions(step admission.Step) (edits []pendingEdit) {
	for _, p := range step.Added {
		known := g.standing.OnHost(p.Hostname)
		if known == nil {
			continue
		}
		edits = append(edits, pendingEdit{
			kind: stepAdd, pool: known, comes: p.Disks(), begun: !g.live.knownGone(p) && !g.isGoing(p),
			back: func() { g.standing.RemovePool(known) },
			tell: func(why string) {
				g.report(finding.Warning, ruleBack, "", "the pool on node %s is rendered and not applied, and waits %s", known.Node, why)
			},
		})
	}
	return edits
}

// isGoing reports whether all that is left of a pool is an instance that is being deleted.
func (g *gate) isGoing(p *pool.Pool) bool {
	i := g.live.instances[p.Hostname]
	return g.of.Current != nil && i != nil && i.Object.Deleting() && g.of.Current.Host(p.Hostname) == nil
}

// moves are the pools that are rendered on another host than they are running on.
func (g *gate) moves() (edits []pendingEdit) {
	for _, p := range g.standing.PoolsOf(g.of) {
		from := g.runsOn(p)
		if from == p.Hostname {
			continue
		}
		edits = append(edits, pendingEdit{
			kind: stepMove, pool: p,
			back: func() { g.standing.MoveBack(p, from) },
			tell: func(why string) {
				g.report(finding.Warning, ruleBack, "", "the move of the pool on node %s from host %s is rendered and not applied, and waits %s", p.Node, from, why)
			},
		})
	}
	return edits
}

// replacements are the disks that replace other ones.
func (g *gate) replacements(step admission.Step) (edits []pendingEdit) {
	for _, r := range step.Replaced {
		known := g.standing.OnHost(r.Host)
		edits = append(edits, pendingEdit{
			kind: stepReplace, pool: known, comes: []string{r.In}, begun: g.takesPlace(r),
			back: func() { g.standing.Regroup(known, replaced(known.Data, r.In, r.Out)) },
			tell: func(why string) {
				g.report(finding.Warning, ruleBack, "", "block device %s is rendered in the place of %s in the pool on node %s and not applied, and waits %s", r.In, r.Out, known.Node, why)
			},
		})
	}
	return edits
}

// replaced are RAID groups with a disk in the place of another.
func replaced(groups pool.Groups, out, in string) pool.Groups {
	groups = slices.Clone(groups)
	for i, group := range groups {
		if at := slices.Index(group, out); at >= 0 {
			groups[i] = slices.Clone(group)
			groups[i][at] = in
		}
	}
	return groups
}

// growth are the disks that pools get.
func (g *gate) growth(step admission.Step) (edits []pendingEdit) {
	for _, grown := range step.Grown {
		known := g.standing.OnHost(grown.Old.Hostname)
		kept, back := g.withoutUnclaimed(grown.Old, known.Pool)
		edits = append(edits, pendingEdit{
			kind: stepGrow, pool: known, comes: slices.Concat(grown.Groups...), begun: len(back) == 0,
			back: func() {
				g.standing.Regroup(known, kept)
				g.standing.ForgetGrowth(known)
			},
			tell: func(why string) {
				g.report(finding.Warning, ruleBack, "", "block %s %s %s rendered as part of the pool on node %s and not applied, and %s %s",
					finding.Agree(len(back), "device", "devices"), finding.Names(back), finding.Agree(len(back), "is", "are"), known.Node, finding.Agree(len(back), "waits", "wait"), why)
			},
		})
	}
	return edits
}

// withoutUnclaimed is the data of a pool without what the running one does not have, as far as nothing
// of it is claimed.
func (g *gate) withoutUnclaimed(running, known *pool.Pool) (kept pool.Groups, back []string) {
	had := running.Data.Disks()
	for _, group := range known.Data {
		added := pool.Without(group, had)
		switch {
		case len(added) == 0 || slices.ContainsFunc(added, func(name string) bool { return g.live.claims[name] }):
			kept = append(kept, group)
		case known.RAIDType == pool.Stripe:
			kept = append(kept, pool.Without(group, added))
			back = append(back, added...)
		case len(added) == len(group):
			back = append(back, added...)
		default:
			kept = append(kept, group) // a disk of it was replaced
		}
	}
	return kept, back
}

// newSettings are those of the whole and of each pool, if any change. Nothing is said of them: they are
// asked for again in the same render.
func (g *gate) newSettings(step admission.Step) []pendingEdit {
	if !step.Settings {
		return nil
	}
	return []pendingEdit{{kind: stepSettings, back: func() { g.standing.RestoreSettings(g.of) }, tell: func(string) {}}}
}

// ruleBack is the rule of the warning that a pending edit goes back to what is running.
const ruleBack = "step-postponed"
