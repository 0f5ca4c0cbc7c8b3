package health

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/finding"
)

// Unhealthy leaves of trees what is not OK, and what leads there. The trees stay as
// they are.
func Unhealthy(trees []*Tree) []*Tree {
	var left []*Tree
	for _, t := range trees {
		cut := *t
		cut.Children = Unhealthy(t.Children)
		if len(cut.Children) > 0 || t.Phase.WorseThan(OK) {
			left = append(left, &cut)
		}
	}
	return left
}

// Tally is how many objects of a kind are well.
type Tally struct {
	Kind   string
	Phases map[Phase]int
}

// Tallies counts the objects of trees, kind by kind in the order in which they come.
// What hangs on several others counts once.
func Tallies(trees []*Tree) []Tally {
	var tallies []Tally
	counted := map[finding.Ref]bool{}
	var count func(trees []*Tree)
	count = func(trees []*Tree) {
		for _, t := range trees {
			if !counted[t.Object] {
				counted[t.Object] = !t.IsUnnamed()
				at := slices.IndexFunc(tallies, func(c Tally) bool { return c.Kind == t.Object.Kind })
				if at < 0 {
					at = len(tallies)
					tallies = append(tallies, Tally{t.Object.Kind, map[Phase]int{}})
				}
				tallies[at].Phases[t.Phase]++
			}
			count(t.Children)
		}
	}
	count(trees)
	return tallies
}

// String gives "3 CStorPoolInstances: 1 ERROR, 2 OK".
func (t Tally) String() string {
	total := 0
	var parts []string
	for _, phase := range []Phase{Error, Progressing, OK, ""} {
		n := t.Phases[phase]
		total += n
		switch {
		case n == 0:
		case phase == "":
			parts = append(parts, fmt.Sprintf("%d unknown", n))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, phase))
		}
	}
	return finding.Count(total, t.Kind) + ": " + strings.Join(parts, ", ")
}
