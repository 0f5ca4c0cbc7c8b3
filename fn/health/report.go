package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/schema/finding"
)

// Report collects what is amiss with one spec, step by step in the order in which
// storage comes about. The worst phase wins, and in it an outage; of two as bad the
// earlier step does, since what follows is mostly its consequence.
type Report struct {
	steps []*Step
	parts []part
	quiet time.Time
}

// Step is one kind of thing of which there are several, such as the nodes.
type Step struct {
	noun     string // in the singular, such as "node"
	total    int
	problems []Problem
}

// Problem is one thing amiss.
type Problem struct {
	Phase   Phase
	Outage  bool // storage is down, not only at risk
	Made    bool // what was rendered is there as it is to be all the same: it is unwell, or may change
	Reason  string
	What    string // says it of the subject: "missing from the cluster"
	Subject string // the name of the thing, "" if only its node is known
	Note    string // more about this one: "/dev/sdb, Inactive"
	Message string // where the problem is not one of several: all of it, in place of the above
	Node    string // where it is, "" for nowhere
	Storage string // the disk that it is about, where there is an object for it
	Since   time.Time
}

// part is what a Detail is made for. There is no part without a node.
type part struct {
	object        finding.Ref
	node, storage string
	healthy       string
}

// Step starts the next step.
func (r *Report) Step(noun string) *Step {
	s := &Step{noun: noun}
	r.steps = append(r.steps, s)
	return s
}

// Count says that one more thing was looked at.
func (s *Step) Count() { s.total++ }

// Add adds a problem.
func (s *Step) Add(p Problem) { s.problems = append(s.problems, p) }

// Unchanged says that something well has been as it is since t: a healthy status
// is no older than the youngest of these.
func (r *Report) Unchanged(t time.Time) {
	if t.After(r.quiet) {
		r.quiet = t
	}
}

// PartOf makes a Detail: of all problems on a node, or with a storage also those
// of that disk alone. healthy is its message when there are none.
func (r *Report) PartOf(object finding.Ref, node, storage, healthy string) {
	r.parts = append(r.parts, part{object, node, storage, healthy})
}

// Status sums up. healthy is the message when nothing is amiss.
func (r *Report) Status(spec finding.Ref, healthy string) Status {
	status := Status{Spec: spec, Phase: OK, Reason: Healthy, Message: healthy, Since: r.quiet, Problems: r.observations()}
	if step, first := r.worst(func(Problem) bool { return true }); first != nil {
		status.Phase, status.Reason = first.Phase, first.Reason
		status.Message, status.Since = step.summary(first)
		if n := r.others(first); n > 0 {
			status.Message += "; and " + finding.Count(n, "problem") + " more"
		}
	}
	for _, part := range r.parts {
		d := Detail{Object: part.object, Node: part.node, Phase: OK, Reason: Healthy, Message: part.healthy}
		step, first := r.worst(func(p Problem) bool {
			return p.Node == part.node && (part.storage == "" || p.Storage == "" || p.Storage == part.storage)
		})
		if first != nil {
			d.Phase, d.Reason, d.Message, d.Since = first.Phase, first.Reason, step.line(first), first.Since
		}
		status.Details = append(status.Details, d)
	}
	return status
}

// worst is the first of the worst problems that are meant.
func (r *Report) worst(meant func(Problem) bool) (*Step, *Problem) {
	var in *Step
	var worst *Problem
	for _, s := range r.steps {
		for i := range s.problems {
			p := &s.problems[i]
			if meant(*p) && (worst == nil || p.worseThan(worst)) {
				in, worst = s, p
			}
		}
	}
	return in, worst
}

func (p *Problem) worseThan(q *Problem) bool {
	if p.Phase != q.Phase {
		return p.Phase.WorseThan(q.Phase)
	}
	return p.Outage && !q.Outage
}

// others counts the errors that are not like the first, each reason once. What is
// on its way is not counted: it mostly follows from the first.
func (r *Report) others(first *Problem) int {
	reasons := map[string]bool{first.Reason: true}
	for _, s := range r.steps {
		for _, p := range s.problems {
			if p.Phase == Error {
				reasons[p.Reason] = true
			}
		}
	}
	return len(reasons) - 1
}

// summary reports all the problems of a step that are like the first, and since when
// the oldest of them is there.
func (s *Step) summary(first *Problem) (string, time.Time) {
	if first.Message != "" {
		return first.Message, first.Since
	}
	const named = 3
	var names []string
	since := first.Since
	count := 0
	for _, p := range s.problems {
		if p.Reason != first.Reason || p.Phase != first.Phase || p.Message != "" {
			continue
		}
		if count++; count <= named {
			names = append(names, p.name())
		}
		if !p.Since.IsZero() && (since.IsZero() || p.Since.Before(since)) {
			since = p.Since
		}
	}
	if count > named {
		names = append(names, fmt.Sprintf("and %d more", count-named))
	}
	return fmt.Sprintf("%d of %s %s: %s", count, finding.Count(max(s.total, count), s.noun), first.What, strings.Join(names, ", ")), since
}

// line reports one problem alone.
func (s *Step) line(p *Problem) string {
	if p.Message != "" {
		return p.Message
	}
	line := s.noun + " " + cmp.Or(p.Subject, "on node "+p.Node) + " " + p.What
	if p.Note != "" {
		line += ": " + p.Note
	}
	return line
}

// name names it.
func (p *Problem) name() string {
	name := p.Subject
	if p.Node != "" && p.Node != p.Subject && p.Storage == "" { // a storage is named after its node
		name = strings.TrimSpace(name + " on node " + p.Node)
	}
	if p.Note != "" {
		name += " (" + p.Note + ")"
	}
	return name
}

// Sort puts statuses into the order of their specs.
func Sort(statuses []Status) {
	slices.SortStableFunc(statuses, func(a, b Status) int {
		return cmp.Or(
			cmp.Compare(a.Spec.Namespace, b.Spec.Namespace),
			cmp.Compare(a.Spec.Name, b.Spec.Name),
			cmp.Compare(a.Spec.Kind, b.Spec.Kind),
		)
	})
}

// FirstError is the message of the first error, and how many more there are.
func FirstError(fs []finding.Finding) string {
	message, more := "", -1
	for _, f := range finding.Sort(slices.Clone(fs)) {
		if f.Severity != finding.Error {
			continue
		}
		if more++; more > 0 {
			continue
		}
		if message = f.Message; f.Field != "" {
			message = f.Field + ": " + message
		}
	}
	if more > 0 {
		message += fmt.Sprintf(" (and %s)", finding.Count(more, "more error"))
	}
	return message
}
