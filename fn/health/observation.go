package health

import "time"

// Observation is one problem as a line of its own.
type Observation struct {
	Phase   Phase
	Made    bool // see Problem
	Reason  string
	Message string
	Node    string
	Since   time.Time
}

// observations lists every problem, in the order of the steps.
func (r *Report) observations() []Observation {
	var all []Observation
	for _, s := range r.steps {
		for i := range s.problems {
			p := &s.problems[i]
			all = append(all, Observation{p.Phase, p.Made, p.Reason, s.line(p), p.Node, p.Since})
		}
	}
	return all
}
