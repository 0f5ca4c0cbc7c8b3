package plan

import (
	"encoding/json"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Record is a Plan as programs read it. The names of its fields stay.
type Record struct {
	Against  string           `json:"against"`
	Risk     change.Risk      `json:"risk,omitempty"` // the greatest; none without changes
	Summary  Tally            `json:"summary"`
	Changes  []ChangeRecord   `json:"changes"`
	Findings []finding.Record `json:"findings"`
}

// ChangeRecord is a change of a plan as programs read it.
type ChangeRecord struct {
	Risk    change.Risk    `json:"risk"`
	Action  change.Action  `json:"action"` // create, change, remove
	Object  finding.Object `json:"object"`
	GitOnly bool           `json:"gitOnly"`        // not for the cluster
	Step    *StepRecord    `json:"step,omitempty"` // of a transition
	Fields  []FieldRecord  `json:"fields"`
	Reasons []ReasonRecord `json:"reasons"`
}

// StepRecord is the step of a transition that a change is.
type StepRecord struct {
	Number int    `json:"number"`
	Of     int    `json:"of"` // about
	Kind   string `json:"kind"`
}

// FieldRecord is a field that a change touches.
type FieldRecord struct {
	Path   string          `json:"path"`
	Action change.Action   `json:"action"` // add, change, remove, reorder
	Old    json.RawMessage `json:"old,omitempty"`
	New    json.RawMessage `json:"new,omitempty"`
}

// ReasonRecord is why a change has its risk.
type ReasonRecord struct {
	Risk   change.Risk `json:"risk"`
	Field  string      `json:"field,omitempty"`
	Reason string      `json:"reason"`
}

// Record is the plan for programs.
func (p *Plan) Record() Record {
	out := Record{Against: p.Against, Summary: p.Tally(), Changes: make([]ChangeRecord, len(p.Changes)), Findings: finding.Records(p.Findings)}
	for i, c := range p.Changes {
		if out.Risk == "" {
			out.Risk = c.Risk // the riskiest comes first
		}
		r := ChangeRecord{c.Risk, c.Action, finding.Object(c.Ref), c.GitOnly(), nil, []FieldRecord{}, []ReasonRecord{}}
		if at, found := transition.Under(p.Transitions, c.Ref); found {
			r.Step = &StepRecord{at.Number, at.Of, at.Kind}
		}
		for j := range c.Fields {
			f := &c.Fields[j]
			r.Fields = append(r.Fields, FieldRecord{f.Path, f.Action, value(f.Old), value(f.New)})
		}
		for _, reason := range c.Reasons {
			r.Reasons = append(r.Reasons, ReasonRecord{reason.Risk, reason.Field, reason.Text})
		}
		out.Changes[i] = r
	}
	return out
}

func value(n *document.Node) json.RawMessage {
	if n == nil {
		return nil
	}
	return document.AppendJSON(nil, n)
}
