package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/schema/finding"
)

// postpone takes back what was rendered and is known not to be applied, where the live pools
// have a member that is not well: the webhook refuses it until that is mended, and with it
// what would mend it. So it does where another step is under way in the live cluster, of which
// the render did not know: an old snapshot said otherwise. Of several kinds that are not applied,
// as renders leave them that do not see what lives, the first goes on alone; and what has a disk that
// is missing from the inventory waits for it. What has been claimed is on its way, and stays. A pool
// whose removal is rendered is taken back before, by restorePool.
func (s *steps) postpone() {
	wait := ""
	if why := s.brokenLive(); why != "" {
		wait = refusedWhile(why)
	} else if s.told() && !s.standing.IsAdopted() {
		if why = s.unmade(s.of.Current).wait; why != "" {
			wait = "until " + why
		}
	}
	if !s.told() {
		return
	}
	left := admission.NewStep(s.of.Current, s.rendered(s.of, noPool))
	if s.postponeReplacements(left.Replaced) {
		left.Replaced = nil
	}
	first := s.unapplied(left)
	waits := func(kind stepKind, disks ...string) string {
		if wait == "" && !s.standing.IsAdopted() && first.wait != "" && first.kind < kind {
			wait = "until " + first.wait
		}
		if i := slices.IndexFunc(disks, s.unseen); wait == "" && !s.standing.IsAdopted() && i >= 0 {
			return "while block device " + disks[i] + " is missing from the inventory: the cStor webhook refuses an edit with a disk that is not there"
		}
		return wait
	}
	for _, p := range left.Added {
		why := waits(stepAdd, p.Disks()...)
		if why == "" {
			continue
		}
		if known := s.standing.OnHost(p.Hostname); known != nil && (s.live.knownGone(p) || s.isGoing(p)) {
			s.standing.RemovePool(known)
			s.of.Forget(isDrain)
			s.report(finding.Warning, "step-postponed", "", "the pool on node %s is rendered and not applied, and waits %s", known.Node, why)
		}
	}
	for _, g := range left.Grown {
		why := waits(stepGrow, slices.Concat(g.Groups...)...)
		if why == "" {
			continue
		}
		known := s.standing.OnHost(g.Old.Hostname)
		kept, back := s.withoutUnclaimed(g.Old, known.Pool)
		if len(back) == 0 {
			continue
		}
		s.standing.Regroup(known, kept)
		s.standing.ForgetGrowth(known)
		s.of.Forget(isDrain)
		s.report(finding.Warning, "step-postponed", "", "block %s %s %s rendered as part of the pool on node %s and not applied, and %s %s",
			finding.Agree(len(back), "device", "devices"), finding.Names(back), finding.Agree(len(back), "is", "are"), known.Node, finding.Agree(len(back), "waits", "wait"), why)
	}
	if left.Settings && !s.standing.IsAdopted() && waits(stepSettings) != "" {
		s.of.Forget(isDrain)
		s.standing.RestoreSettings(s.of)
	}
}

// postponeReplacements takes back replacements that are rendered and known not to be applied, where
// something ails the live pools that none can mend: the webhook refuses every edit that leaves it in.
func (s *steps) postponeReplacements(all []admission.Replacement) bool {
	claimed := func(r admission.Replacement) bool { return r.Cache || s.live.claims[r.In] }
	if len(all) == 0 || s.standing.IsAdopted() || slices.ContainsFunc(all, claimed) {
		return false
	}
	why := s.unmendable(all)
	if why == "" {
		return false
	}
	for _, r := range all {
		known := s.standing.OnHost(r.Host)
		groups := slices.Clone(known.Data)
		for i, group := range groups {
			if at := slices.Index(group, r.In); at >= 0 {
				groups[i] = slices.Clone(group)
				groups[i][at] = r.Out
			}
		}
		s.standing.Regroup(known, groups)
		s.report(finding.Warning, "step-postponed", "", "block device %s is rendered in the place of %s in the pool on node %s and not applied, and waits %s", r.In, r.Out, known.Node, refusedWhile(why))
	}
	s.of.Forget(isDrain)
	return true
}

// unmendable says what ails the live pools beside some replacements, and is not to be replaced itself, or "".
func (s *steps) unmendable(beside []admission.Replacement) string {
	var out []string
	for _, r := range beside {
		out = append(out, r.Out)
	}
	return s.ailsLive(func(p *pool.Pool) []string {
		mended := slices.DeleteFunc(s.failedDisks(p), func(name string) bool { return !s.isReplaced(name) || s.obstacle(p, name) != "" })
		return append(mended, out...)
	})
}

// postponeMissing takes back pools that are rendered and known not to be applied, and whose
// nodes are missing: the webhook refuses the whole edit. The nodes are held.
func (s *steps) postponeMissing() {
	for _, p := range s.standing.PoolsOf(s.of) {
		if s.host(p.Hostname) != nil || !s.live.knownGone(p.Pool) {
			continue
		}
		s.standing.RemovePool(p)
		s.report(finding.Warning, "step-postponed", "", "the pool on node %s is rendered but not applied, and waits while its node is missing from the inventory: the cStor webhook refuses a CStorPoolCluster with a pool that selects no node", p.Node)
	}
}

// refusedWhile is what an edit waits for that would leave a member as it is that is not well.
func refusedWhile(why string) string {
	return "while " + why + ": the cStor webhook refuses every other edit until that is fixed"
}

// brokenLive says which disk or node of the live pools is not there, or "".
func (s *steps) brokenLive() string {
	if !s.told() || s.standing.IsAdopted() {
		return ""
	}
	return s.ailsLive(func(*pool.Pool) []string { return nil })
}

// ailsLive says what ails the live pools but for some disks of each, or "".
func (s *steps) ailsLive(without func(*pool.Pool) []string) string {
	for _, p := range s.of.Current.Pools {
		if known := s.standing.OnHost(p.Hostname); known != nil {
			if why := s.ails(&standing.Pool{Node: known.Node, Of: s.of, Pool: p}, without(p)); why != "" {
				return why
			}
		}
	}
	return ""
}

// isGoing reports whether all that is left of a pool is an instance that is being deleted.
func (s *steps) isGoing(p *pool.Pool) bool {
	i := s.live.instances[p.Hostname]
	return i != nil && i.Object.Deleting() && s.of.Current.Host(p.Hostname) == nil
}

// withoutUnclaimed is the data of a pool without what the live one has not, as far as nothing
// of it is claimed.
func (s *steps) withoutUnclaimed(live, known *pool.Pool) (kept pool.Groups, back []string) {
	had := live.Data.Disks()
	for _, group := range known.Data {
		added := slices.DeleteFunc(slices.Clone(group), func(name string) bool { return slices.Contains(had, name) })
		switch {
		case len(added) == 0 || slices.ContainsFunc(added, func(name string) bool { return s.live.claims[name] }):
			kept = append(kept, group)
		case known.RAIDType == pool.Stripe:
			kept = append(kept, slices.DeleteFunc(slices.Clone(group), func(name string) bool { return slices.Contains(added, name) }))
			back = append(back, added...)
		case len(added) == len(group):
			back = append(back, added...)
		default:
			kept = append(kept, group) // a disk of it was replaced
		}
	}
	return kept, back
}
