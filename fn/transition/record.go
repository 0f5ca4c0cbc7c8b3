package transition

import "github.com/poolwright/poolwright/schema/finding"

// Record is a Transition as programs read it. The names of its fields stay.
type Record struct {
	Spec   finding.Object `json:"-"`
	Object finding.Object `json:"object"`
	Step   int            `json:"step"`
	Of     int            `json:"of"` // about
	Steps  []StepRecord   `json:"steps"`
}

// StepRecord is a Step as programs read it.
type StepRecord struct {
	State State  `json:"state"` // done, now, next
	Kind  string `json:"kind"`
	What  string `json:"what"`
	Wait  string `json:"wait,omitempty"`
	Why   string `json:"why,omitempty"`
}

// Records are transitions for programs; nil for none.
func Records(all []Transition) []Record {
	var out []Record
	for i := range all {
		t := &all[i]
		r := Record{Spec: finding.Object(t.Spec), Object: finding.Object(t.Object), Step: t.Number(), Of: t.Of()}
		for _, s := range t.Steps {
			r.Steps = append(r.Steps, StepRecord{s.State, s.Kind, s.What, s.Wait, s.Why})
		}
		out = append(out, r)
	}
	return out
}
