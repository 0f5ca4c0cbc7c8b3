package main

import (
	"encoding/json"
	"io"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// print writes the plan in the form that -o names.
func (p *planning) print(w io.Writer, form format) error {
	switch form {
	case asMarkdown:
		_, err := io.WriteString(w, p.Markdown())
		return err
	case asText:
		return p.Table(w)
	}
	return printAs(w, form, p.machine())
}

// machinePlan is a plan as -o json prints it. The names of its fields stay.
type machinePlan struct {
	Against  string           `json:"against"`
	Risk     change.Risk      `json:"risk,omitempty"` // the greatest; none without changes
	Summary  plan.Tally       `json:"summary"`
	Changes  []machineChange  `json:"changes"`
	Findings []machineFinding `json:"findings"`
}

type machineChange struct {
	Risk    change.Risk     `json:"risk"`
	Action  change.Action   `json:"action"` // create, change, remove
	Object  machineRef      `json:"object"`
	GitOnly bool            `json:"gitOnly"`        // not for the cluster
	Step    *machineStep    `json:"step,omitempty"` // of a transition
	Fields  []machineField  `json:"fields"`
	Reasons []machineReason `json:"reasons"`
}

type machineField struct {
	Path   string          `json:"path"`
	Action change.Action   `json:"action"` // add, change, remove, reorder
	Old    json.RawMessage `json:"old,omitempty"`
	New    json.RawMessage `json:"new,omitempty"`
}

type machineReason struct {
	Risk   change.Risk `json:"risk"`
	Field  string      `json:"field,omitempty"`
	Reason string      `json:"reason"`
}

func (p *planning) machine() machinePlan {
	out := machinePlan{Against: p.Against, Summary: p.Tally(), Changes: make([]machineChange, len(p.Changes)), Findings: finding.Records(p.Findings)}
	for i, c := range p.Changes {
		if out.Risk == "" {
			out.Risk = c.Risk // the riskiest comes first
		}
		m := machineChange{c.Risk, c.Action, machineRef(c.Ref), c.GitOnly(), stepForMachines(transition.Under(p.Transitions, c.Ref)), []machineField{}, []machineReason{}}
		for j := range c.Fields {
			f := &c.Fields[j]
			m.Fields = append(m.Fields, machineField{f.Path, f.Action, machineValue(f.Old), machineValue(f.New)})
		}
		for _, r := range c.Reasons {
			m.Reasons = append(m.Reasons, machineReason{r.Risk, r.Field, r.Text})
		}
		out.Changes[i] = m
	}
	return out
}

func machineValue(n *document.Node) json.RawMessage {
	if n == nil {
		return nil
	}
	return document.AppendJSON(nil, n)
}
