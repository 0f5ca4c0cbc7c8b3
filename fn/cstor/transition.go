package cstor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/drain"
	"github.com/poolwright/poolwright/fn/transition"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// begun is a step of a transition that was rendered, as the plan remembers it until none is
// left to come.
type begun struct {
	kind string
	what string
}

// drainKind is the kind of the steps by which volumes leave a pool: they change no
// CStorPoolCluster, and go beside those that do.
const drainKind = "drain"

// word is a kind of step in one word.
func (k stepKind) word() string {
	return [...]string{"move", "replacement", "removal", "addition", "growth", "settings", "enlargement"}[k]
}

// whyThere says why steps of a kind come where they come.
func whyThere(kind string) string {
	return map[string]string{
		stepMove.word():     "while a pool is not where its disks are, the cStor webhook refuses every other edit",
		stepReplace.word():  "while a disk of a pool is not Active, the cStor webhook refuses every edit that leaves it in",
		drainKind:           "a replica leaves once another is healthy, and its pool after that; pools may change meanwhile",
		stepRemove.word():   "a pool goes once no volume is on it, one at a time, before others come: the cStor operator only compares how many there are",
		stepAdd.word():      "new pools come before others grow: that costs the cStor webhook less",
		stepGrow.word():     "pools grow once the new ones are there: checking that takes the cStor webhook longest",
		stepSettings.word(): "nothing waits for settings, so they come after all other edits of the CStorPoolCluster",
		stepEnlarge.word():  "larger volumes change no CStorPoolCluster, and nothing waits for them, so they come last",
	}[kind]
}

// plan puts together which steps were taken, which are under way, and which come next; nil
// where there are none.
func (s *steps) plan() *transition.Transition {
	if !s.told() {
		return nil
	}
	now, next := s.of.drain.stages()
	if s.of.ends && s.until() == "" && !slices.ContainsFunc(now, s.of.hasBegun) {
		s.of.begun = nil // what comes now is another transition
	}
	done := slices.DeleteFunc(slices.Clone(s.of.begun), s.of.drain.isCalledOff)
	if step, ok := s.underWay(); ok {
		now = append(now, step)
	}
	var steps []transition.Step
	for _, b := range done {
		if !slices.ContainsFunc(now, func(n transition.Step) bool { return n.Kind == b.kind && n.What == b.what }) {
			steps = append(steps, transition.Step{State: transition.Done, Kind: b.kind, What: b.what})
		}
	}
	waiting := s.waiting()
	if len(now)+len(next) > 0 || slices.ContainsFunc(waiting, func(a step) bool { return a.refused || a.comes || a.kind == stepRemove }) {
		for _, a := range waiting {
			next = append(next, s.tellStep(transition.Next, a.kind, a.what, a.wait))
		}
	}
	if len(now)+len(next) == 0 {
		return nil
	}
	t := &transition.Transition{Spec: s.spec.Object.Ref, Object: s.of.ref(s.namespace), Steps: slices.Concat(steps, now, next)}
	for i := range t.Steps {
		t.Steps[i].Why = whyThere(t.Steps[i].Kind)
	}
	return t
}

// underWay is the step of the CStorPoolCluster that is rendered now, or that was before and is
// not done.
func (s *steps) underWay() (transition.Step, bool) {
	last := begun{}
	for _, b := range s.of.begun {
		if b.kind != drainKind { // a drain may have begun beside it
			last = b
		}
	}
	switch {
	case len(s.taken) > 0 && s.last.wait != "" && s.last.open && last.kind == s.taken[0].kind.word(): // it is added to
		what := last.what
		if more := clauses(s.taken); !strings.Contains(what, more) {
			what += "; " + more
		}
		return s.tellStep(transition.Now, s.taken[0].kind, what, "until "+s.taken[0].kind.doneWhen()), true
	case len(s.taken) > 0 && (s.last.wait == "" || s.last.open):
		return s.tellStep(transition.Now, s.taken[0].kind, clauses(s.taken), "until "+s.taken[0].kind.doneWhen()), true
	case s.until() == "" || s.ailing() != "" && len(s.taken) == 0:
		return transition.Step{}, false
	}
	if last == (begun{}) { // the plan remembers no step that was the only one
		u := cmp.Or(s.last, s.grows)
		last = begun{u.kind.word(), u.what}
	}
	return transition.Step{State: transition.Now, Kind: last.kind, What: last.what, Wait: "until " + s.until(), Objects: []finding.Ref{s.of.ref(s.namespace)}}, true
}

func (s *steps) tellStep(state transition.State, kind stepKind, what, wait string) transition.Step {
	return transition.Step{State: state, Kind: kind.word(), What: what, Wait: wait, Objects: []finding.Ref{s.of.ref(s.namespace)}}
}

// ref names the CStorPoolCluster.
func (c *poolCluster) ref(namespace string) finding.Ref {
	return finding.Ref{APIVersion: cstorVersion, Kind: poolClusterKind, Namespace: namespace, Name: c.name}
}

// hasBegun reports whether the plan remembers a step.
func (c *poolCluster) hasBegun(step transition.Step) bool {
	return slices.Contains(c.begun, begun{step.Kind, step.What})
}

// remembered are the steps that the plan remembers: those that were taken, where others come
// after them, and nothing else where one is all. ends says that none was to come after the last.
func (s *steps) remembered() (all []begun, ends bool) {
	under, more := false, false
	if t := s.transition; t != nil {
		for _, step := range t.Steps {
			under = under || step.State == transition.Now
			more = more || step.State == transition.Next
			if step.State != transition.Next && (step.Kind != drainKind || strings.HasPrefix(step.What, leave(""))) {
				all = append(all, begun{step.Kind, step.What})
			}
		}
	}
	switch {
	case !under || !more && len(s.of.begun) == 0:
		return nil, false
	case slices.Equal(all, s.of.begun): // said when the last of them was taken
		return all, s.of.ends
	}
	return all, !more
}

// begunNode writes down the steps of all CStorPoolClusters.
func begunNode(clusters []*poolCluster) (list d.Node) {
	list = d.List()
	for i, c := range clusters {
		all, ends := c.steps.remembered()
		for _, b := range all {
			step := d.Object()
			if i > 0 {
				step.Set("cluster", d.Text(c.name))
			}
			step.Set("kind", d.Text(b.kind))
			step.Set("what", d.Text(b.what))
			if ends {
				step.Set("ends", d.Bool(true))
			}
			list.Add(step)
		}
	}
	return list
}

// readBegun reads them from the plan.
func (l *lock) readBegun(steps []d.Node) {
	for i := range steps {
		n := &steps[i]
		c := l.clusters[0]
		if name := n.Str("cluster"); name != "" {
			c = l.clusterNamed(name)
		}
		if c != nil {
			c.begun = append(c.begun, begun{n.Str("kind"), n.Str("what")})
			c.ends, _ = n.Get("ends").Bool()
		}
	}
}

// takenBack forgets the step that was rendered last, which is not any more.
func (c *poolCluster) takenBack() {
	if i := len(c.begun) - 1; i >= 0 && c.begun[i].kind != drainKind {
		c.begun, c.ends = c.begun[:i], false
	}
}

// leave is what the drain of a pool does, as it is remembered.
func leave(node string) string { return "the volumes leave the pool on node " + node }

// stages are the drains of pools, those under way and those that have their turn later.
func (f *draining) stages() (now, next []transition.Step) {
	told := map[string]bool{}
	for i := range f.plan.Pools {
		s := &f.plan.Pools[i]
		if s.Volumes == 0 {
			continue
		}
		step := transition.Step{State: transition.Next, Kind: drainKind, What: leave(f.nodeAt(s.Pool)), Wait: "until " + sayStanding(s)}
		for _, m := range f.plan.Moves {
			if m.Volume.On(s.Pool) {
				told[m.Volume.Name] = true
				step.Objects = append(step.Objects, f.volumeRef(m.Volume))
			}
		}
		if s.Moving > 0 {
			step.State = transition.Now
			now = append(now, step)
		} else {
			next = append(next, step)
		}
	}
	var rest []string
	step := transition.Step{State: transition.Now, Kind: drainKind, Wait: "until every replica of them is healthy"}
	for _, m := range f.plan.Moves {
		if !told[m.Volume.Name] {
			rest = append(rest, m.Volume.Name)
			step.Objects = append(step.Objects, f.volumeRef(m.Volume))
		}
	}
	if len(rest) > 0 {
		step.What = fmt.Sprintf("%s %s pools", finding.Count(len(rest), "volume"), finding.Agree(len(rest), "comes to rest on its", "come to rest on their"))
		now = append(now, step)
	}
	return now, next
}

// isCalledOff reports whether a step is the drain of a pool that stays after all.
func (f *draining) isCalledOff(b begun) bool {
	for _, m := range f.at {
		if m.leaving == "" && b == (begun{drainKind, leave(m.name)}) {
			return true
		}
	}
	return false
}

// sayStanding says until when a pool is drained, and how far that is.
func sayStanding(s *drain.Standing) string {
	text := fmt.Sprintf("no volume is on it: %d still, %d of them on their way", s.Volumes, s.Moving)
	turn, held, _ := s.Waiting()
	if turn > 0 {
		text += fmt.Sprintf(", %d waiting", turn)
	}
	if held > 0 {
		text += fmt.Sprintf(", %d that cannot leave it now", held)
	}
	return text
}
