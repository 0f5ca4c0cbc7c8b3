package cstor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/schema/finding"
)

// stepKind is what a step changes of a CStorPoolCluster. A render takes steps of one kind,
// and the next only when the facts show the last to be done.
type stepKind int

// The kinds, in the order in which they go. While a disk or a node of a pool is not there,
// the webhook (cStor 3.6) refuses every edit but the one that mends it: a replacement of
// all such disks, a removal of that pool, or a move of all pools whose disks moved.
const (
	stepMove     stepKind = iota // pools follow their disks to other hosts, all of them at once
	stepReplace                  // disks replace other ones, one a RAID group
	stepRemove                   // one pool goes
	stepAdd                      // pools come
	stepGrow                     // pools get RAID groups, or a stripe disks
	stepSettings                 // what all pools share, and the settings of each
	// The volumes of cloud disks get larger, those of one node. It is no edit of the
	// CStorPoolCluster, so it comes last: none of those waits for it, be it that volumes never
	// come to grow, and it waits for all of them.
	stepEnlarge
)

func (k stepKind) String() string {
	return [...]string{"moves", "replacements", "a removal", "new pools", "growth", "settings", "larger volumes"}[k]
}

// doneWhen says by what a step of a kind is seen to be done.
func (k stepKind) doneWhen() string {
	return [...]string{
		"the CStorPoolInstances are on their new hosts",
		"the claims of the new disks are bound and the resilver is over",
		"the CStorPoolInstance of the pool is gone",
		"the CStorPoolInstances of the new pools are there",
		"the CStorPoolInstances show the new disks",
		"the live CStorPoolCluster has them",
		"their PersistentVolumeClaims show it",
	}[k]
}

// What steps do, in clauses, whoever asks for them or finds them under way.

func poolGoes(node string) string  { return "the pool on node " + node + " goes" }
func poolComes(node string) string { return "a pool comes on node " + node }
func poolGets(node string, disks []string) string {
	return "the pool on node " + node + " gets " + finding.Names(disks)
}

func diskReplaces(disk, old, node string) string {
	return disk + " takes the place of " + old + " in the pool on node " + node
}

func volumesGrow(node, size string, volumes []string) string {
	return "the volumes of node " + node + " grow to " + size + ": " + finding.Names(volumes)
}

const settingsChange = "the settings of the pools change"

// step is the least that one edit of the CStorPoolCluster may do: a pool comes, a RAID group
// comes. Steps of one kind go together, as far as the webhook answers in time.
type step struct {
	kind  stepKind
	disks int    // so many come
	out   string // the disk that goes, of a replacement
	what  string // what it does, a clause: "the pool on node n1 gets bd-3, bd-4"

	// edit does it to the pools as they were rendered last; nil for what the workflow has
	// done in what stands, before anybody chose.
	edit func(*pool.Cluster)
	// wait is why it cannot go yet, whatever else goes: its disks are not there; or "".
	wait    string
	refused bool   // it waits for other steps, not for what is its own
	comes   bool   // what it waits for is rendered, and comes by itself
	advice  string // what lets the webhook answer it in time, where it is too much alone
	// settle hears what became of the step: "" that it goes, or what it waits for. It may be nil.
	settle func(wait string)
}

// steps picks what a render changes in a CStorPoolCluster: it is the only place that does.
// The workflows ask for steps, and learn what becomes of them.
type steps struct {
	*input
	of    *standing.Cluster
	asked []step // what the spec wants, in the order of its kinds by next
	taken []step // of one kind
	last  unfinished
	late  []step     // that the webhook would answer too late, the smallest of each kind last
	grows unfinished // the volume that has not grown yet: see ungrown

	transition *transition.Transition // what next has made of them, or nil

	ailing func() string // see findAiling, once, of the pools that stay
}

// ask asks for a step. It is taken, or waits, when next is called.
func (s *steps) ask(step step) { s.asked = append(s.asked, step) }

// took notes a step that was carried out in what stands.
func (s *steps) took(kind stepKind, what string) {
	s.taken = append(s.taken, step{kind: kind, what: what})
}

// free reports whether any change may go at once: there is no CStorPoolCluster yet.
func (s *steps) free() bool {
	return s.of.Before == nil || s.of.Current == nil && s.facts.Tells(cstorGroup, poolClusterKind, s.namespace)
}

// told reports whether the facts show what lives. Where they do not, a change cannot be told
// from one that was rendered before, and steps of several kinds go together.
func (s *steps) told() bool { return s.of.Current != nil }

// begin weighs what is pending, and looks at how far the last step is, before any pool is released.
func (s *steps) begin() {
	s.gate(s.of).settle()
	s.grows = s.ungrown(s.of)
	if !s.free() {
		s.last = findUnfinished(s.input, s.of, noPool)
	}
}

// forget looks again, once pools were let go of which nothing ever lived: what was rendered of
// them is not waited for.
func (s *steps) forget(gone func(*standing.Pool) bool) {
	if !s.free() && slices.ContainsFunc(s.standing.PoolsOf(s.of), gone) {
		s.last = findUnfinished(s.input, s.of, gone)
	}
}

// goneSoon is what a new pool waits for after one was removed.
func goneSoon(i *pool.Instance) string {
	return "CStorPoolInstance " + i.Name + " of the pool that was on " + i.Hostname + " is gone from the live cluster: the cStor operator ignores an addition until a removal is done"
}

// until says what of the last step is not done yet, be it one that no other waits for, or "".
func (s *steps) until() string { return cmp.Or(s.last.wait, s.grows.wait) }

// refusal says why no step of a kind may be taken now, or "". A step that mends what makes
// the webhook refuse all others goes beside that.
func (s *steps) refusal(kind stepKind, mends bool) string {
	switch {
	case len(s.taken) > 0 && (s.told() && s.taken[0].kind != kind || kind == stepEnlarge):
		return "until " + s.taken[0].what + ", and " + s.taken[0].kind.doneWhen()
	case kind == stepEnlarge && s.of.Before != nil && s.free():
		return "until CStorPoolCluster " + s.of.Name + " is in the live cluster"
	case kind == stepEnlarge && s.until() != "":
		return "until " + s.until()
	case kind == stepEnlarge && s.ailing() != "":
		return "while " + s.ailing()
	case !mends && s.ailing() != "":
		return "while " + s.ailing() + ": the cStor webhook refuses every edit of the CStorPoolCluster until then"
	case !s.last.takes(kind):
		return "until " + s.last.wait
	}
	return ""
}

// removalWaits says why the pool of a member may not go now, or "", together with others or alone.
func (s *steps) removalWaits(m *member, together func(*standing.Pool) bool) string {
	if s.free() {
		return ""
	}
	ailing := s.findAiling(s.of, func(p *standing.Pool) bool { return p == m.before || together(p) })
	if ailing != "" {
		return "it waits while " + ailing + ": the cStor webhook refuses every edit of the CStorPoolCluster until then"
	}
	if why := s.refusal(stepRemove, true); why != "" {
		return "it waits " + why
	}
	if i := slices.IndexFunc(s.taken, func(t step) bool { return t.kind == stepRemove }); i >= 0 && s.host(m.hostname) != nil {
		return "it waits until " + s.taken[i].what + ": one pool goes at a time"
	}
	return ""
}

// lateFor says that the webhook would answer an edit too late that is carried out in what stands,
// with what would do, or "".
func (s *steps) lateFor(edited *pool.Cluster) string {
	if late, found := s.state.Late(baseline(s.input, s.of), edited); found && s.told() {
		return late.Advice()
	}
	return ""
}

// next carries out the steps that come next in what was rendered last, and lets the others
// know what they wait for. It is called again where more is asked for: volumes grow after that.
func (s *steps) next(from *pool.Cluster) *pool.Cluster {
	s.taken = slices.DeleteFunc(s.taken, func(t step) bool { return t.kind == stepEnlarge })
	slices.SortStableFunc(s.asked, func(a, b step) int { return cmp.Compare(a.kind, b.kind) })
	cluster := from.Clone()
	s.replaceAllOrNone()
	for i := range s.asked {
		a := &s.asked[i]
		if a.wait == "" && (!s.free() || a.kind == stepEnlarge) {
			a.wait = s.refusal(a.kind, a.kind == stepReplace)
			a.refused = a.wait != ""
		}
		if at := slices.IndexFunc(s.asked[:i], step.comesFirst); a.kind == stepEnlarge && a.wait == "" && at >= 0 {
			a.wait, a.refused = "until "+s.asked[at].what, true
		}
		if a.wait == "" {
			cluster = s.take(cluster, a)
		}
		if a.settle != nil {
			a.settle(a.wait)
		}
	}
	return cluster
}

// comesFirst reports whether volumes that are to grow wait for a step that waits itself. A removal
// may wait for long.
func (a step) comesFirst() bool { return a.wait != "" && a.kind != stepRemove && a.kind != stepEnlarge }

// replaceAllOrNone makes one step of all replacements: while one disk is not Active, the
// webhook refuses every edit that leaves it in.
func (s *steps) replaceAllOrNone() {
	others := slices.IndexFunc(s.asked, func(a step) bool { return a.kind > stepReplace })
	if others < 0 {
		others = len(s.asked)
	}
	all := slices.Clone(s.asked[:others])
	if len(all) == 0 {
		return
	}
	one := step{kind: stepReplace, what: clauses(all)}
	for _, a := range all {
		one.wait = cmp.Or(one.wait, a.wait)
	}
	var out []string
	for _, a := range all {
		out = append(out, a.out)
	}
	for _, p := range s.standing.PoolsOf(s.of) {
		if still := s.ails(p, out); still != "" && one.wait == "" && s.live.isRunning(p.Pool) {
			one.wait = "while " + still + ": the cStor webhook refuses every edit that leaves it so"
			s.report(finding.Warning, "replacement-waits", "", "%s, which waits %s", one.what, one.wait)
		}
	}
	one.edit = func(c *pool.Cluster) {
		for _, a := range all {
			a.edit(c)
		}
	}
	one.settle = func(wait string) {
		for _, a := range all {
			if a.settle != nil {
				a.settle(wait)
			}
		}
	}
	s.asked = append([]step{one}, s.asked[others:]...)
}

// take carries out a step, unless the webhook would answer too late: one that is too much
// beside others waits for them; one that is too much alone is never taken.
func (s *steps) take(cluster *pool.Cluster, a *step) *pool.Cluster {
	if !s.told() {
		a.edit(cluster)
		s.taken = append(s.taken, *a)
		return cluster
	}
	// What is no smaller than a step that is late is late as well: of thousands of steps few
	// are tried.
	if i := slices.IndexFunc(s.late, func(l step) bool { return l.kind == a.kind && l.disks <= a.disks }); i >= 0 {
		a.wait, a.advice = s.late[i].wait, s.late[i].advice
		return cluster
	}
	edited := cluster.Clone()
	a.edit(edited)
	late, found := s.state.Late(baseline(s.input, s.of), edited)
	switch {
	case !found:
		s.taken = append(s.taken, *a)
		return edited
	case len(s.taken) > 0:
		a.wait = "until " + s.taken[0].what + ": together they take the cStor webhook too long"
	default:
		a.advice = late.Advice()
		a.wait = "since " + a.advice
	}
	s.late = append(s.late, *a)
	return cluster
}

// isLate reports whether a step is not taken since the webhook has no time for it.
func (s *steps) isLate() bool {
	return slices.ContainsFunc(s.asked, func(a step) bool { return a.advice != "" })
}

// tellLate tells of the steps that are too much alone, those together for which the same
// would do.
func (s *steps) tellLate() {
	var told []string
	for _, a := range s.asked {
		if a.advice == "" || slices.Contains(told, a.advice) {
			continue
		}
		same := slices.DeleteFunc(slices.Clone(s.asked), func(b step) bool { return b.advice != a.advice })
		told = append(told, a.advice)
		s.report(finding.Warning, "webhook-timeout", "", "not rendered: %s; %s", clauses(same), a.advice)
	}
}

// tell says which step this is of how many, what it waits for, and what comes next.
func (s *steps) tell() {
	s.tellLate()
	s.transition = s.plan()
	waiting := s.waiting()
	refused := slices.IndexFunc(waiting, func(a step) bool { return a.refused })
	if len(s.taken) == 0 && refused >= 0 && (!s.told() || s.ailing() != "") {
		s.report(finding.Warning, "step-waits", "", "%s %s; apply, refresh the inventory, render again", waitOf(waiting), waiting[refused].wait)
	}
	if s.transition == nil {
		return
	}
	rest := following(s.transition)
	for i, step := range s.transition.Steps {
		switch {
		case step.State != transition.Now || step.Kind == drainKind:
		case len(s.taken) > 0 && (s.last.wait == "" || s.last.open):
			s.report(finding.Info, ruleStep, "", "step %d of about %d%s: %s; it is done when %s%s", i+1, s.transition.Of(), s.ofWhich(), step.What, s.taken[0].kind.doneWhen(), rest)
		default:
			s.report(finding.Info, ruleStep, "", "step %d of about %d%s is in progress %s; apply what is rendered, and refresh the inventory%s", i+1, s.transition.Of(), s.ofWhich(), step.Wait, rest)
		}
	}
	if first := s.transition.Steps[0]; first.State == transition.Next && len(waiting) > 0 && waiting[0].comes {
		s.report(finding.Info, ruleStep, "", "%s%s comes next: %s; it waits %s", s.transition, s.ofWhich(), first.What, first.Wait)
	}
	for _, standing := range s.drain(s.of).standings {
		s.report(finding.Info, ruleDrain, "", "%s: %s%s", s.transition, standing, rest)
	}
}

// ofWhich says of which CStorPoolCluster the steps are, where there are several.
func (s *steps) ofWhich() string {
	if len(s.standing.Clusters()) == 1 {
		return ""
	}
	return " of " + s.of.Name
}

// waitOf says which kinds of steps wait.
func waitOf(waiting []step) string {
	var kinds []string
	for _, a := range waiting {
		if a.refused {
			kinds = append(kinds, a.kind.String())
		}
	}
	kinds = slices.Compact(kinds)
	if len(kinds) == 1 && (kinds[0] == stepGrow.String() || kinds[0] == stepRemove.String()) {
		return kinds[0] + " waits"
	}
	return strings.Join(kinds, ", ") + " wait"
}

// ruleStep is the rule of the finding that tells of a transition.
const ruleStep = "step"

// waiting lists the kinds of steps that are still to come, those that go one at a time each.
func (s *steps) waiting() []step {
	var left []step
	for _, a := range s.asked {
		if a.wait != "" && (a.kind == stepRemove || a.kind == stepEnlarge || !slices.ContainsFunc(left, func(b step) bool { return a.kind == b.kind })) {
			left = append(left, a)
		}
	}
	return left
}

func clauses(steps []step) string {
	all := make([]string, len(steps))
	for i, s := range steps {
		all[i] = s.what
	}
	return finding.Clauses(all)
}

// following says what comes after a step.
func following(t *transition.Transition) string {
	for _, step := range t.Steps {
		if step.State == transition.Next {
			return "; next: " + step.What
		}
	}
	return ""
}
