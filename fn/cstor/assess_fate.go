package cstor

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
)

// review asks what becomes of an edit when it is applied.
func (a *assessment) review(old, wanted *pool.Cluster) {
	a.state = admission.NewState(a.facts, pool.LiveOf(a.facts))
	a.problems = a.state.Review(old, wanted)
	a.ofDisk = map[string][]admission.Problem{}
	for _, p := range a.problems {
		if p.Disk != "" {
			a.ofDisk[p.Disk] = append(a.ofDisk[p.Disk], p)
		}
	}
}

// fates judges what speaks against the edit as a whole. Of several problems of one kind
// it names the first. What the fields say already is not said again.
func (a assessment) fates() {
	type kind struct {
		outcome admission.Outcome
		rule    string
	}
	count := map[kind]int{}
	var first []admission.Problem
	for _, p := range a.problems {
		if a.saidByFields(p) {
			continue
		}
		if k := (kind{p.Outcome, p.Rule}); count[k] == 0 {
			first = append(first, p)
		}
		count[kind{p.Outcome, p.Rule}]++
	}
	for _, p := range first {
		risk, text := fateOf(p.Outcome)
		text += p.String() + p.Quoted()
		if more := count[kind{p.Outcome, p.Rule}] - 1; more > 0 {
			text += fmt.Sprintf(" (and %d more)", more)
		}
		if p.Remedy != "" {
			text += "; " + p.Remedy
		}
		a.Judge(risk, "", text)
	}
}

// saidByFields reports whether the rules of fields have a word for a problem.
func (a assessment) saidByFields(p admission.Problem) bool {
	switch p.Rule {
	case "two-changes", "write-cache", "replicas-unknown":
		return true
	case "disk-twice":
		return slices.Contains(a.disks, p.Disk)
	case "raid-type", "group-gone", "stripe-disk", "group-size", "replaced-twice":
		return p.Outcome == admission.Refused
	}
	return p.Disk != "" && !slices.Contains(a.disks, p.Disk)
}

// refused says that the webhook refuses a change of the RAID groups of a pool, with its words,
// and what comes of it where it does not look.
func (a assessment) refused(p *pool.Pool, otherwise string) string {
	if !a.state.Checks(p.Hostname) {
		return "the webhook lets it pass, since the hostname label of the node is not its name, and " + otherwise
	}
	words := ""
	for _, problem := range a.problems {
		if problem.Host == p.Hostname && problem.Disk == "" && problem.Outcome == admission.Refused && words == "" {
			words = problem.Quoted()
		}
	}
	return "the webhook refuses it" + words + ", or else " + otherwise
}

// fateOf is the risk of an outcome, and who sees to it.
func fateOf(outcome admission.Outcome) (change.Risk, string) {
	switch outcome {
	case admission.Refused:
		return change.Disruptive, "the webhook refuses it, and the sync stops here: "
	case admission.Ignored:
		return change.Disruptive, "the webhook lets it pass, and the operator never carries it out: "
	case admission.Broken:
		return change.Destructive, "the webhook lets it pass, and it goes wrong: "
	case admission.Lost:
		return change.Destructive, "the webhook lets it pass, and data is lost: "
	}
	return change.Disruptive, "it may be refused: "
}
