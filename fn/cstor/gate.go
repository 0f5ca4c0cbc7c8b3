package cstor

import (
	"slices"
	"sync"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/schema/finding"
)

// gate weighs the pending edits of a CStorPoolCluster. What is begun stays, since the operators carry
// it out. What the webhook would refuse now goes back to what is running, and is asked for again as
// an ordinary step. Which edit waits for what is decided here, and nowhere else:
//
//	any           what has a disk that can no longer be used is chosen again (see unusable.go)
//	addition      while its node is missing: the webhook refuses a pool that selects no node
//	removal       while a disk or a node of a running pool is not there: the webhook refuses every other edit
//	move          the same, of the pools that are where their disks are
//	replacement   the same, of what no pending or wanted replacement fixes
//	the others    the same; until the operators have made what is running: an old snapshot said otherwise;
//	              until what is pending of an earlier kind is applied; while a disk that comes is missing
type gate struct {
	*input
	of *standing.Cluster
}

func (in *input) gate(of *standing.Cluster) *gate { return &gate{in, of} }

// settle weighs each pending edit once, in the order in which steps go.
func (g *gate) settle() {
	g.holdAbsent()
	if g.of.Current == nil || g.standing.IsAdopted() {
		return // what is pending is not known, or nothing is
	}
	g.forget(g.weigh(g.moves(), together(g.movesWait)))
	step := g.pending()
	if g.weigh(g.replacements(step), together(func() string { return g.replacementsWait(step.Replaced) })) > 0 {
		g.forget(1)
		step.Replaced = nil
	}
	wait, first := g.othersWait(), g.unapplied(step)
	waits := func(e pendingEdit) string {
		if wait == "" && first.wait != "" && first.kind < e.kind {
			return "until " + first.wait
		}
		if i := slices.IndexFunc(e.comes, g.unseen); wait == "" && i >= 0 {
			return "while block device " + e.comes[i] + " is missing from the inventory: the cStor webhook refuses an edit with a disk that is not there"
		}
		return wait
	}
	g.forget(g.weigh(g.additions(step), waits))
	g.forget(g.weigh(g.growth(step), waits))
	g.forget(g.weigh(g.newSettings(step), waits))
}

// together is one answer for all edits of a kind, which are one edit to the webhook.
func together(waits func() string) func(pendingEdit) string {
	why := sync.OnceValue(waits) // before any goes back
	return func(pendingEdit) string { return why() }
}

// weigh puts back what waits and is not begun, says so, and counts it.
func (g *gate) weigh(edits []pendingEdit, waits func(pendingEdit) string) (back int) {
	for _, e := range edits {
		if e.begun {
			continue
		}
		if why := waits(e); why != "" {
			back++
			e.back()
			e.tell(why)
		}
	}
	return back
}

// forget forgets so many steps that were rendered last, and are not any more.
func (g *gate) forget(steps int) {
	for range steps {
		g.of.Forget(isDrain)
	}
}

// holdAbsent puts back the pools that come on nodes that are missing: the webhook refuses the whole
// edit with a pool that selects no node. The nodes are held.
func (g *gate) holdAbsent() {
	for _, e := range g.additions(g.pending()) {
		if g.host(e.pool.Hostname) == nil && g.live.knownGone(e.pool.Pool) {
			e.back()
			g.report(finding.Warning, ruleBack, "", "the pool on node %s is rendered but not applied, and waits while its node is missing from the inventory: the cStor webhook refuses a CStorPoolCluster with a pool that selects no node", e.pool.Node)
		}
	}
}

// removalWaits says why the pending removal of a pool goes back, or "".
func (g *gate) removalWaits() string { return refusedWhile(g.broken()) }

// movesWait says why pending moves go back, or "": a pool that is where its disks are has one that is
// not well, or no node. Of what is apart from its disks it is decided later whether it follows them.
func (g *gate) movesWait() string {
	pools := g.standing.PoolsOf(g.of)
	for _, p := range pools {
		if (g.runsOn(p) != p.Hostname || g.live.isRunning(p.Pool)) && len(g.displaced([]*standing.Pool{p})) == 0 {
			if why := g.ails(p, nil); why != "" {
				return refusedWhile(why)
			}
		}
	}
	return ""
}

// replacementsWait says why pending replacements go back, or "": something ails the running pools
// beside the disks that they replace, and is not to be replaced itself. They are one edit: if one is
// begun, all stay.
func (g *gate) replacementsWait(all []admission.Replacement) string {
	if slices.ContainsFunc(all, g.takesPlace) {
		return ""
	}
	var out []string
	for _, r := range all {
		out = append(out, r.Out)
	}
	return refusedWhile(g.ailing(func(p *pool.Pool) []string {
		mended := slices.DeleteFunc(g.failedDisks(p), func(name string) bool { return !g.isReplaced(name) || g.obstacle(p, name) != "" })
		return append(mended, out...)
	}))
}

// takesPlace reports whether a replacement is begun: its disk is claimed. That of a write cache is
// not carried out at all.
func (g *gate) takesPlace(r admission.Replacement) bool { return r.Cache || g.live.claims[r.In] }

// othersWait says why any other pending edit goes back, or "".
func (g *gate) othersWait() string {
	if why := g.broken(); why != "" {
		return refusedWhile(why)
	}
	if why := g.unmade(g.of.Current).wait; why != "" {
		return "until " + why
	}
	return ""
}

// broken says which disk or node of the running pools is not there, or "".
func (g *gate) broken() string {
	if g.of.Current == nil || g.standing.IsAdopted() {
		return ""
	}
	return g.ailing(func(*pool.Pool) []string { return nil })
}

// ailing says what ails the running pools but for some disks of each, or "".
func (g *gate) ailing(without func(*pool.Pool) []string) string {
	for _, p := range g.of.Current.Pools {
		if known := g.standing.OnHost(p.Hostname); known != nil {
			if why := g.ails(&standing.Pool{Node: known.Node, Of: g.of, Pool: p}, without(p)); why != "" {
				return why
			}
		}
	}
	return ""
}

// refusedWhile is what an edit waits for that would leave a member as it is that is not well; "" where
// all are well.
func refusedWhile(why string) string {
	if why == "" {
		return ""
	}
	return "while " + why + ": the cStor webhook refuses every other edit until that is fixed"
}
