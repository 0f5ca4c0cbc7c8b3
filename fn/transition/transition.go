// Package transition says how far something that exists is on its way to what a spec says,
// where one edit must not do all of it: which steps were taken, which is under way, which
// come next, and why they come in this order.
package transition

import (
	"fmt"

	"github.com/poolwright/poolwright/schema/finding"
)

// State is how far a step is.
type State string

// The states, in the order of the steps of a transition.
const (
	Done State = "done"
	Now  State = "now"  // rendered: it is applied, or carried out
	Next State = "next" // not rendered yet
)

// Step is a part of a transition.
type Step struct {
	State State
	Kind  string // one word, such as replacement
	What  string // a clause: "the pool on node n4 goes"
	// Wait is, of a step under way, when it is done, and of one that comes next what it waits
	// for: "until the resilver is over". It may be empty.
	Wait    string
	Why     string        // why it comes where it comes
	Objects []finding.Ref // in which it is rendered
}

// Transition is the way of one object to what a spec says.
type Transition struct {
	Spec   finding.Ref
	Object finding.Ref
	Steps  []Step // those that are done, then those under way, then the next
}

// Number is how many steps were taken, with those under way, and at least 1.
func (t *Transition) Number() int {
	n := 0
	for i := range t.Steps {
		if t.Steps[i].State != Next {
			n++
		}
	}
	return max(n, 1)
}

// Of is of about how many: more may show on the way.
func (t *Transition) Of() int { return max(len(t.Steps), 1) }

// String is "step 2 of about 4".
func (t *Transition) String() string { return fmt.Sprintf("step %d of about %d", t.Number(), t.Of()) }

// Place is a step of a transition, by its number.
type Place struct {
	*Step
	Number, Of int
}

// Under is the step under way that is rendered in an object, if there is one.
func Under(all []Transition, object finding.Ref) (Place, bool) {
	for i := range all {
		for j := range all[i].Steps {
			step := &all[i].Steps[j]
			if step.State != Now {
				continue
			}
			for _, o := range step.Objects {
				if o == object {
					return Place{step, j + 1, all[i].Of()}, true
				}
			}
		}
	}
	return Place{}, false
}
