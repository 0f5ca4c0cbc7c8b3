// Package plan is what a render would change, as people read it: in one line, as a table, and
// as a comment on a pull request. Who compares with what is up to the caller.
package plan

import (
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/schema/finding"
)

// Plan is what would change, and what else there is to say.
type Plan struct {
	Against  string           // what is compared with, as a person calls it
	Changes  []*change.Change // the riskiest first
	Files    int              // of the output that would be written although no object in them changes
	Findings []finding.Finding

	Transitions []transition.Transition
	Most        int    // bytes of a comment, 0 for 64,000
	Verbose     bool   // findings are not folded
	Picture     string // the URL of one for a comment, or ""
}

// Risk is the greatest of the changes, "" for none.
func (p *Plan) Risk() change.Risk {
	if len(p.Changes) == 0 {
		return ""
	}
	return p.Changes[0].Risk
}

// Tally is how many objects a plan touches.
type Tally struct {
	Create      int `json:"create"`
	Change      int `json:"change"`
	Remove      int `json:"remove"`
	Safe        int `json:"safe"`
	Disruptive  int `json:"disruptive"`
	Destructive int `json:"destructive"`
	GitOnly     int `json:"gitOnly"`
}

// Tally counts the changes.
func (p *Plan) Tally() Tally {
	var n Tally
	for _, c := range p.Changes {
		switch c.Action {
		case change.Create:
			n.Create++
		case change.Modify:
			n.Change++
		case change.Remove:
			n.Remove++
		}
		switch c.Risk {
		case change.Safe:
			n.Safe++
		case change.Disruptive:
			n.Disruptive++
		case change.Destructive:
			n.Destructive++
		}
		if c.GitOnly() {
			n.GitOnly++
		}
	}
	return n
}

// Summary is the plan in one line.
func (p *Plan) Summary() string {
	switch {
	case len(p.Changes) == 0 && p.Files > 0:
		return "no object changes; " + finding.Count(p.Files, "file") + " to write"
	case len(p.Changes) == 0:
		return "no changes"
	}
	n := p.Tally()
	text := fmt.Sprintf("%d to create, %d to change, %d to remove; ", n.Create, n.Change, n.Remove)
	var risks []string
	if n.Destructive > 0 {
		risks = append(risks, fmt.Sprintf("%d destructive", n.Destructive))
	}
	if n.Disruptive > 0 {
		risks = append(risks, fmt.Sprintf("%d disruptive", n.Disruptive))
	}
	if len(risks) == 0 {
		risks = append(risks, "all safe")
	}
	text += strings.Join(risks, ", ")
	if n.GitOnly > 0 {
		text += fmt.Sprintf("; %d in Git only", n.GitOnly)
	}
	return text
}

// Mark is what the head of a change says beside its object: " (step 2 of about 4: removal)".
func (p *Plan) Mark(c *change.Change) string {
	if c.GitOnly() {
		return " (in Git only)"
	}
	if at, found := transition.Under(p.Transitions, c.Ref); found {
		return fmt.Sprintf(" (step %d of about %d: %s)", at.Number, at.Of, at.Kind)
	}
	return ""
}
