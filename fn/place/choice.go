package place

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/finding"
)

// Verdict is what became of a candidate.
type Verdict string

// The verdicts, from best to worst.
const (
	Kept    Verdict = "kept"    // was in use before and stays
	Chosen  Verdict = "chosen"  // newly taken
	Held    Verdict = "held"    // the spec no longer wants it, but it holds data
	Awaited Verdict = "awaited" // wanted, but a fact is missing
	Free    Verdict = "free"    // could be used, is not needed
	Refused Verdict = "refused" // must not be used
)

// Verdicts lists all of them, from best to worst.
func Verdicts() []Verdict { return []Verdict{Kept, Chosen, Held, Awaited, Free, Refused} }

// Choice is one decision and its reason, for poolwright explain.
type Choice struct {
	Spec    finding.Ref `json:"spec"`           // the spec it was made for
	Subject finding.Ref `json:"subject"`        // the Node, BlockDevice or Storage
	Node    string      `json:"node,omitempty"` // where the subject is, for disks
	Role    string      `json:"role,omitempty"` // data, cache, spare
	Verdict Verdict     `json:"verdict"`
	Reason  string      `json:"reason"`
}

// InOrder sorts the choices for one spec as a person reads them: the nodes from the
// best verdict to the worst, then node by node what is on them, again the best first.
// What is as good keeps its order.
func InOrder(choices []Choice) []Choice {
	sorted := slices.Clone(choices)
	slices.SortStableFunc(sorted, func(a, b Choice) int {
		return cmp.Or(nodesFirst(a, b), rank(a.Verdict)-rank(b.Verdict), nodesByName(a, b))
	})
	of := map[string]int{}
	for i, c := range sorted {
		if _, known := of[c.Node]; !known && c.isNode() {
			of[c.Node] = i
		}
	}
	at := func(c Choice) int {
		if i, known := of[c.Node]; known {
			return i
		}
		return len(sorted) // on no node that was looked at
	}
	slices.SortStableFunc(sorted, func(a, b Choice) int {
		return cmp.Or(nodesFirst(a, b), at(a)-at(b))
	})
	return sorted
}

// isNode reports whether the choice is about a node, and not about what is on one.
func (c *Choice) isNode() bool { return c.Subject.Namespace == "" && c.Subject.Name == c.Node }

func nodesByName(a, b Choice) int {
	if a.isNode() && b.isNode() {
		return strings.Compare(a.Node, b.Node)
	}
	return 0
}

func rank(v Verdict) int { return slices.Index(Verdicts(), v) }

func nodesFirst(a, b Choice) int {
	switch {
	case a.isNode() == b.isNode():
		return 0
	case a.isNode():
		return -1
	}
	return 1
}
