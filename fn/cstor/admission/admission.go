// Package admission says what becomes of an edit of a CStorPoolCluster before anybody
// applies it: what the admission webhook of cStor 3.6 refuses, and what it lets pass
// although the operators ignore it, do something else, or lose data, as was seen
// on the real ones. Render, plan and the dry run ask it, so that they never
// contradict each other.
//
// Source: cstor-operators, admission webhook and cspc-operator, 3.6.0, measured.
package admission

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
)

// Outcome is what becomes of an edit that has a problem.
type Outcome string

// The outcomes.
const (
	Refused Outcome = "refused" // by the webhook: nothing changes, and a sync stops
	Late    Outcome = "late"    // the webhook may not answer in time, which is a refusal
	Ignored Outcome = "ignored" // the webhook lets it pass, and the operators never carry it out
	Broken  Outcome = "broken"  // the webhook lets it pass, and the operators do something else, or get stuck
	Lost    Outcome = "lost"    // the webhook lets it pass, and data is lost
	Unknown Outcome = "unknown" // the facts do not tell
)

// Problem is one thing that speaks against an edit.
type Problem struct {
	Outcome Outcome
	Rule    string // such as disk-inactive
	Host    string // of the pool; "" for the whole
	Disk    string // the block device; "" for more than one
	Cache   bool   // it is about the write cache
	Text    string // what is wrong: of a disk it follows its name, "is Inactive, not Active"
	Remedy  string // what to do; "" where the text says it
	Words   string // of the webhook, where it refuses; "" where they are not known
}

// String is the problem in words, without the remedy.
func (p Problem) String() string {
	switch {
	case p.Disk != "" && p.Host != "":
		return "block device " + p.Disk + " of the pool on " + p.Host + " " + p.Text
	case p.Disk != "":
		return "block device " + p.Disk + " " + p.Text
	case p.Host != "":
		return "pool on " + p.Host + ": " + p.Text
	}
	return p.Text
}

// Advice is the problem in words, with the remedy.
func (p Problem) Advice() string {
	if p.Remedy == "" {
		return p.String()
	}
	return p.String() + "; " + p.Remedy
}

// State is what the webhook and the operators find when the edit reaches them.
type State struct {
	Facts   *inventory.Facts
	Live    *pool.Live
	Timeout Timeout
}

// NewState reads the state from the facts. The facts and the pools among them must be
// of one snapshot.
func NewState(facts *inventory.Facts, live *pool.Live) State {
	return State{Facts: facts, Live: live, Timeout: readTimeout(facts)}
}

// Review lists the problems of an edit, by host, disk and rule, whichever order pools,
// groups and disks stand in. old is what the API server has, nil for a new object. An
// edit that changes nothing has none.
func (s State) Review(old, wanted *pool.Cluster) []Problem {
	old, wanted = s.Resolve(old), s.Resolve(wanted)
	step := NewStep(old, wanted)
	if step.Empty() && len(old.Pools) == len(wanted.Pools) && len(old.Disks()) == len(wanted.Disks()) {
		return nil // a host or a disk that is there twice is no step, and is refused
	}
	r := review{State: s, Step: step, old: old, wanted: wanted}
	r.asItStands()
	if old != nil {
		r.removals()
		r.additions()
		r.groups()
		r.caches()
	}
	r.time()
	slices.SortFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Disk, b.Disk), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Text, b.Text),
			cmp.Compare(a.Words, b.Words), cmp.Compare(a.Remedy, b.Remedy), cmp.Compare(a.Outcome, b.Outcome))
	})
	return slices.Compact(r.problems)
}

// review is one edit under review.
type review struct {
	State
	Step
	old, wanted *pool.Cluster
	problems    []Problem
}

func (r *review) add(p Problem) { r.problems = append(r.problems, p) }

// knows reports whether the facts tell of a kind where the cluster is.
func (r *review) knows(group, kind string) bool {
	return r.Facts.Tells(group, kind, r.wanted.Namespace)
}

// Quoted is what the webhook says, as a clause in brackets, or "".
func (p Problem) Quoted() string {
	if p.Words == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", p.Words)
}

// Checks reports whether the webhook looks at later changes of the pool on a host: it
// takes the hostname label for the name of the node, and skips them where that differs.
func (s State) Checks(hostname string) bool {
	nodes := s.Facts.Host(hostname)
	return len(nodes) != 1 || nodes[0].Name == hostname
}

// unchecked is what becomes of an edit that the webhook refuses where it looks.
func (r *review) unchecked(hostname string, otherwise Outcome) Outcome {
	if r.Checks(hostname) {
		return Refused
	}
	return otherwise
}
