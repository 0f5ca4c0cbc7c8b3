package cstor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/drain"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/transition"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// drainKind is the kind of the steps by which volumes leave a pool: they change no
// CStorPoolCluster, and go beside those that do.
const drainKind = "drain"

// isDrain reports whether steps of a kind go beside those that edit the CStorPoolCluster.
func isDrain(kind string) bool { return kind == drainKind }

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
	now, next := s.drain(s.of).stages()
	begun, ends := s.of.Begun()
	isBegun := func(step transition.Step) bool {
		return slices.Contains(begun, record.Step{Kind: step.Kind, What: step.What})
	}
	if ends && s.until() == "" && !slices.ContainsFunc(now, isBegun) {
		s.of.ForgetAll() // what comes now is another transition
		begun = nil
	}
	done := slices.DeleteFunc(slices.Clone(begun), s.drain(s.of).isCalledOff)
	if step, ok := s.underWay(); ok {
		now = append(now, step)
	}
	var steps []transition.Step
	for _, b := range done {
		if !slices.ContainsFunc(now, func(n transition.Step) bool { return n.Kind == b.Kind && n.What == b.What }) {
			steps = append(steps, transition.Step{State: transition.Done, Kind: b.Kind, What: b.What})
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
	t := &transition.Transition{Spec: s.spec.Object.Ref, Object: s.of.Ref(s.namespace), Steps: slices.Concat(steps, now, next)}
	for i := range t.Steps {
		t.Steps[i].Why = whyThere(t.Steps[i].Kind)
	}
	return t
}

// underWay is the step of the CStorPoolCluster that is rendered now, or that was before and is
// not done.
func (s *steps) underWay() (transition.Step, bool) {
	last := record.Step{}
	begun, _ := s.of.Begun()
	for _, b := range begun {
		if b.Kind != drainKind { // a drain may have begun beside it
			last = b
		}
	}
	switch {
	case len(s.taken) > 0 && s.last.wait != "" && s.last.open && last.Kind == s.taken[0].kind.word(): // it is added to
		what := last.What
		if more := clauses(s.taken); !strings.Contains(what, more) {
			what += "; " + more
		}
		return s.tellStep(transition.Now, s.taken[0].kind, what, "until "+s.taken[0].kind.doneWhen()), true
	case len(s.taken) > 0 && (s.last.wait == "" || s.last.open):
		return s.tellStep(transition.Now, s.taken[0].kind, clauses(s.taken), "until "+s.taken[0].kind.doneWhen()), true
	case s.until() == "" || s.ailing() != "" && len(s.taken) == 0:
		return transition.Step{}, false
	}
	if last == (record.Step{}) { // the plan remembers no step that was the only one
		u := cmp.Or(s.last, s.grows)
		last = record.Step{Kind: u.kind.word(), What: u.what}
	}
	return transition.Step{State: transition.Now, Kind: last.Kind, What: last.What, Wait: "until " + s.until(), Objects: []finding.Ref{s.of.Ref(s.namespace)}}, true
}

func (s *steps) tellStep(state transition.State, kind stepKind, what, wait string) transition.Step {
	return transition.Step{State: state, Kind: kind.word(), What: what, Wait: wait, Objects: []finding.Ref{s.of.Ref(s.namespace)}}
}

// remembered are the steps that the plan remembers: those that were taken, where others come
// after them, and nothing else where one is all. ends says that none was to come after the last.
func (s *steps) remembered() (all []record.Step, ends bool) {
	begun, ended := s.of.Begun()
	under, more := false, false
	if t := s.transition; t != nil {
		for _, step := range t.Steps {
			under = under || step.State == transition.Now
			more = more || step.State == transition.Next
			if step.State != transition.Next && (step.Kind != drainKind || strings.HasPrefix(step.What, leave(""))) {
				all = append(all, record.Step{Kind: step.Kind, What: step.What})
			}
		}
	}
	switch {
	case !under || !more && len(begun) == 0:
		return nil, false
	case slices.Equal(all, begun): // said when the last of them was taken
		return all, ended
	}
	return all, !more
}

// begunNode writes down the steps of all CStorPoolClusters.
func (in *input) begunNode() (list d.Node) {
	list = d.List()
	for i, c := range in.standing.Clusters() {
		all, ends := in.steps(c).remembered()
		for _, b := range all {
			step := d.Object()
			if i > 0 {
				step.Set("cluster", d.Text(c.Name))
			}
			step.Set("kind", d.Text(b.Kind))
			step.Set("what", d.Text(b.What))
			if ends {
				step.Set("ends", d.Bool(true))
			}
			list.Add(step)
		}
	}
	return list
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
func (f *draining) isCalledOff(b record.Step) bool {
	for _, m := range f.at {
		if m.leaving == "" && b == (record.Step{Kind: drainKind, What: leave(m.name)}) {
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
