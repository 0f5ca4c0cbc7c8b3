package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// changeGroup are changes of one risk, one action and one kind.
type changeGroup struct {
	risk    change.Risk
	action  change.Action
	kind    string
	gitOnly bool
}

// printSummary prints a line for the changes of one sort, the riskiest first, and
// under it what is said of them as risky as that, with how often.
func (p *planning) printSummary(out io.Writer) error {
	var groups []changeGroup
	changes := map[changeGroup][]*change.Change{}
	for _, c := range p.Changes {
		g := changeGroup{c.Risk, c.Action, c.Ref.Kind, c.GitOnly()}
		if changes[g] == nil {
			groups = append(groups, g)
		}
		changes[g] = append(changes[g], c)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(groups) > 0 {
		terminal.Printf(w, "RISK\tACTION\tOBJECTS\n")
	}
	for _, g := range groups {
		objects := changes[g][0].Ref.String()
		if n := len(changes[g]); n > 1 {
			objects = finding.Count(n, g.kind)
		}
		if g.gitOnly {
			objects += " (in Git only)"
		}
		terminal.Printf(w, "%s\t%s\t%s\n", g.risk, g.action, objects)
		if g.risk == change.Safe {
			continue
		}
		for _, r := range reasonsOf(changes[g]) {
			if r.risk == g.risk {
				terminal.Printf(w, "\t\t%s\n", r.String())
			}
		}
	}
	if len(groups) > 0 {
		terminal.Println(w)
	}
	terminal.Println(w, p.Summary())
	return w.Flush()
}

// countedReason is a reason and how often it is given.
type countedReason struct {
	risk  change.Risk
	text  string
	count int
}

func (r countedReason) String() string {
	if r.count == 1 {
		return r.text
	}
	return fmt.Sprintf("%d times: %s", r.count, r.text)
}

// reasonsOf counts the reasons of some changes, the most frequent first.
func reasonsOf(changes []*change.Change) []countedReason {
	var reasons []countedReason
	for _, c := range changes {
		for _, r := range c.Reasons {
			i := slices.IndexFunc(reasons, func(o countedReason) bool { return o.risk == r.Risk && o.text == r.Text })
			if i < 0 {
				i = len(reasons)
				reasons = append(reasons, countedReason{risk: r.Risk, text: r.Text})
			}
			reasons[i].count++
		}
	}
	slices.SortStableFunc(reasons, func(a, b countedReason) int { return cmp.Compare(b.count, a.count) })
	const most = 10
	if len(reasons) > most {
		rest := 0
		for _, r := range reasons[most:] {
			rest += r.count
		}
		reasons = append(reasons[:most:most], countedReason{changes[0].Risk, fmt.Sprintf("and %d more reasons; leave out --summary to see all", rest), 1})
	}
	return reasons
}
