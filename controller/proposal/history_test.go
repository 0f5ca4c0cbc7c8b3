package proposal

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/controller/forge"
)

// world is a repository and a forge, as simple as they can be.
type world struct {
	base     Side
	merged   map[string]bool // commits that the base has
	head     *Head
	requests []*forge.Request // the oldest first
	declined map[string]bool  // outputs of which a person closed the pull request
	count    int
}

func (w *world) name(of string) string {
	w.count++
	return fmt.Sprintf("%s%d", of, w.count)
}

func (w *world) open() *forge.Request {
	for _, r := range w.requests {
		if r.State == forge.Open {
			return r
		}
	}
	return nil
}

// sync is what a forge does after a push.
func (w *world) sync() {
	for _, r := range w.requests {
		if r.State != forge.Open {
			continue
		}
		if w.head == nil {
			r.State = forge.Closed
			if marks := ReadMarks(r.Body); !marks.Withdrawn {
				w.declined[marks.Output] = true
			}
			continue
		}
		r.Head = w.head.Commit
		r.Conflict = w.head.Fork.Package != w.base.Package
	}
}

func (w *world) state(judged string) *State {
	_, text := Compose("title "+judged, "body", judged)
	s := &State{Base: w.base, Judged: judged, Text: text, Me: me}
	if w.head != nil {
		h := *w.head
		h.Commits = slices.DeleteFunc(slices.Clone(h.Commits), func(c Commit) bool { return w.merged[c.ID] })
		s.Head = &h
	}
	for _, r := range slices.Backward(w.requests) {
		s.Request = append(s.Request, *r)
	}
	return s
}

// commitBase adds a commit to the branch of the specs.
func (w *world) commitBase(output string, changesPackage bool) {
	w.base.Commit = w.name("b")
	w.base.Output = output
	if changesPackage {
		w.base.Package = w.name("p")
	}
	w.sync()
}

// people do something.
func (w *world) people(t *rapid.T) {
	r := w.open()
	switch what := rapid.SampledFrom([]string{"other", "package", "revert", "merge", "squash", "close", "reopen", "commit", "update", "reset", "delete", "edit"}).Draw(t, "people"); {
	case what == "other":
		w.commitBase(w.base.Output, false)
	case what == "package":
		w.commitBase(w.base.Output, true)
	case what == "revert":
		w.commitBase(rapid.SampledFrom([]string{"o1", "o2", "o3"}).Draw(t, "reverted"), true)
	case what == "merge" && r != nil && !r.Conflict, what == "squash" && r != nil && !r.Conflict:
		if what == "merge" {
			for _, c := range w.head.Commits {
				w.merged[c.ID] = true
			}
		}
		r.State, r.Head = forge.Merged, w.head.Commit
		w.commitBase(w.head.Output, true)
	case what == "close" && r != nil:
		r.State = forge.Closed
		if marks := ReadMarks(r.Body); !marks.Withdrawn {
			w.declined[marks.Output] = true
		}
	case what == "reopen" && r == nil && w.head != nil && len(w.requests) > 0:
		if last := w.requests[len(w.requests)-1]; last.State == forge.Closed {
			last.State = forge.Open
			delete(w.declined, ReadMarks(last.Body).Output)
			w.sync()
		}
	case what == "commit" && w.head != nil:
		c := Commit{ID: w.name("x"), Author: ann, Committer: ann, Output: w.head.Output}
		w.head.Commits = append(w.head.Commits, c)
		w.head.Commit = c.ID
		w.sync()
	case what == "update" && w.head != nil && w.head.Fork != w.base && w.head.Fork.Package == w.base.Package:
		c := Commit{ID: w.name("m"), Author: ann, Committer: ann, Output: w.head.Output, MergesBase: true}
		w.head.Commits = append(w.head.Commits, c)
		w.head.Commit, w.head.Fork = c.ID, w.base
		w.sync()
	case what == "reset" && w.head != nil: // commits of people are removed
		w.head.Commits = slices.DeleteFunc(w.head.Commits, func(c Commit) bool { return c.Author == ann && !c.MergesBase })
		w.head.Commit = w.name("r")
		if n := len(w.head.Commits); n > 0 {
			w.head.Commits[n-1].ID = w.head.Commit
		}
		w.sync()
	case what == "delete" && w.head != nil:
		w.head = nil
		w.sync()
	case what == "edit" && r != nil:
		r.Title = "edited"
	}
}

// turn decides and acts, and is killed after some steps. It reports whether there was anything to do.
func (w *world) turn(t *rapid.T, judged string, steps int) (Decision, bool) {
	s := w.state(judged)
	d := Decide(s)
	busy := false
	step := func(wanted bool, do func()) {
		if !wanted {
			return
		}
		busy = true
		if steps--; steps >= 0 {
			do()
		}
	}
	lost := func() {
		if len(s.strangers()) > 0 && !s.isMerged() {
			t.Fatalf("commits %v of people are lost", s.strangers())
		}
	}
	for _, twin := range d.Duplicates {
		r := w.requests[twin.Number-1]
		step(true, func() { r.Text = Duplicate(r, d.Request) })
		step(true, func() { r.State = forge.Closed })
	}
	step(d.Push, func() {
		lost()
		c := own(w.name("h"), judged)
		w.head = &Head{Side: Side{Commit: c.ID, Output: judged}, Fork: w.base, Commits: []Commit{c}}
		w.sync()
	})
	text, _ := Compose("title "+judged, "body", judged)
	created := rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "created") // a forge may make two
	step(d.Create, func() {
		if w.open() != nil {
			t.Fatal("a second pull request")
		}
		if w.declined[judged] {
			t.Fatalf("%s was declined, and is proposed again", judged)
		}
		for range created {
			w.requests = append(w.requests, &forge.Request{Number: len(w.requests) + 1, State: forge.Open, Head: w.head.Commit, Text: text})
		}
	})
	step(d.Edit, func() { w.open().Text = text })
	step(d.Withdraw, func() { r := w.open(); r.Text = Withdrawn(r) })
	step(d.Withdraw, func() { w.open().State = forge.Closed })
	step(d.Delete, func() {
		lost()
		w.head = nil
		w.sync()
	})
	return d, busy
}

// TestHistories: whatever people do, and wherever the controller is killed, there is at most one pull
// request, nothing of people is lost, and what is there in the end is what is to be.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{base: Side{Commit: "b0", Output: "o0", Package: "p0"}, merged: map[string]bool{}, declined: map[string]bool{}}
		judged := "o0"
		for range rapid.IntRange(1, 25).Draw(t, "events") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				judged = rapid.SampledFrom([]string{"o0", "o1", "o2", "o3"}).Draw(t, "judged")
			case 1:
				w.people(t)
			default:
				w.turn(t, judged, rapid.IntRange(0, 6).Draw(t, "steps"))
			}
		}
		var d Decision
		busy := true
		for turns := 0; busy; turns++ {
			if turns > 3 {
				t.Fatalf("it does not rest: %+v", d)
			}
			d, busy = w.turn(t, judged, 10)
		}
		open := w.open()
		if all := slices.DeleteFunc(slices.Clone(w.requests), func(r *forge.Request) bool { return r.State != forge.Open }); len(all) > 1 {
			t.Fatalf("%d pull requests are open", len(all))
		}
		switch {
		case d.Verdict == ForeignCommits || d.Verdict == Declined:
		case judged == w.base.Output:
			if d.Verdict != UpToDate || open != nil {
				t.Fatalf("nothing is to be proposed: %+v, %+v", d, open)
			}
		case d.Verdict != AwaitingMerge || open == nil || w.head == nil || w.head.Output != judged || ReadMarks(open.Body).Output != judged || ReadMarks(open.Body).Withdrawn || w.head.Fork.Package != w.base.Package:
			t.Fatalf("%s is to be proposed: %+v, %+v, %+v", judged, d, open, w.head)
		}
		if d.Verdict == Declined && !w.declined[judged] {
			t.Fatalf("%s was never declined", judged)
		}
		if d.Verdict == ForeignCommits && len(w.state(judged).strangers()) == 0 {
			t.Fatal("there are no commits of people")
		}
	})
}
