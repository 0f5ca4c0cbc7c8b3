package physical

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/finding"
)

// begin is the event that makes a cluster.
const begin = "begin"

// Tally counts what happened.
type Tally struct {
	Renders, Failed, Chose, Disks, Several, Handed, Unknown int

	Events map[string]*EventCount
	Errors map[string]*ErrorCount // by kind and rule
	owners map[*Disk]string       // for whom it was rendered last
}

// EventCount is how often an event happened, and was rendered without an error at once.
type EventCount struct{ Happened, Rendered int }

// ErrorCount is in how many renders an error was seen, and how often what it asks for put an end to it.
type ErrorCount struct{ Seen, Mended int }

func (t *Tally) row(event string) *EventCount {
	if t.Events == nil {
		t.Events = map[string]*EventCount{}
	}
	if t.Events[event] == nil {
		t.Events[event] = &EventCount{}
	}
	return t.Events[event]
}

func (t *Tally) error(rule string) *ErrorCount {
	if t.Errors == nil {
		t.Errors = map[string]*ErrorCount{}
	}
	if t.Errors[rule] == nil {
		t.Errors[rule] = &ErrorCount{}
	}
	return t.Errors[rule]
}

// count counts a render without errors.
func (t *Tally) count(out Outcome) {
	if len(out.Chosen) > 0 {
		t.Chose++
	}
	if t.owners == nil {
		t.owners = map[*Disk]string{}
	}
	systems := map[string]bool{}
	for d, owner := range out.Chosen {
		t.Disks++
		systems[owner] = true
		if was := t.owners[d]; was != "" && was != owner {
			t.Handed++
		}
		t.owners[d] = owner
	}
	if len(systems) > 1 {
		t.Several++
	}
}

// Add adds the counts of another.
func (t *Tally) Add(o Tally) {
	t.Renders += o.Renders
	t.Failed += o.Failed
	t.Chose += o.Chose
	t.Disks += o.Disks
	t.Several += o.Several
	t.Handed += o.Handed
	t.Unknown += o.Unknown
	for event, n := range o.Events {
		t.row(event).Happened += n.Happened
		t.row(event).Rendered += n.Rendered
	}
	for rule, n := range o.Errors {
		t.error(rule).Seen += n.Seen
		t.error(rule).Mended += n.Mended
	}
}

// rulesOf lists the errors by kind and rule, each once.
func rulesOf(findings []finding.Finding) []string {
	var rules []string
	for _, f := range findings {
		if rule := f.Object.Kind + " " + f.Rule; f.Severity == finding.Error && !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// String is a table of events and one of errors.
func (t *Tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d renders, %d with errors (%d percent); %d choose disks (%d), %d of them for several systems; %d disks handed over; %d disks with two owners of which nothing tells\n",
		t.Renders, t.Failed, 100*t.Failed/max(t.Renders, 1), t.Chose, t.Disks, t.Several, t.Handed, t.Unknown)
	fmt.Fprintf(&b, "  happened  rendered  event\n")
	for _, event := range slices.Sorted(maps.Keys(t.Events)) {
		fmt.Fprintf(&b, "%10d%10d  %s\n", t.Events[event].Happened, t.Events[event].Rendered, event)
	}
	fmt.Fprintf(&b, "      seen    mended  error\n")
	rules := slices.SortedFunc(maps.Keys(t.Errors), func(x, y string) int {
		return cmp.Or(t.Errors[y].Seen-t.Errors[x].Seen, cmp.Compare(x, y))
	})
	for _, rule := range rules {
		fmt.Fprintf(&b, "%10d%10d  %s\n", t.Errors[rule].Seen, t.Errors[rule].Mended, rule)
	}
	return b.String()
}
