package main

import (
	"io"

	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// machineTransition is a transition as -o json prints it. The names of its fields stay.
type machineTransition struct {
	Spec   machineRef        `json:"-"`
	Object machineRef        `json:"object"`
	Step   int               `json:"step"`
	Of     int               `json:"of"` // about
	Steps  []machinePlanStep `json:"steps"`
}

type machinePlanStep struct {
	State transition.State `json:"state"` // done, now, next
	Kind  string           `json:"kind"`
	What  string           `json:"what"`
	Wait  string           `json:"wait,omitempty"`
	Why   string           `json:"why,omitempty"`
}

func transitionsForMachines(all []transition.Transition) []machineTransition {
	var out []machineTransition
	for i := range all {
		t := &all[i]
		m := machineTransition{Spec: machineRef(t.Spec), Object: machineRef(t.Object), Step: t.Number(), Of: t.Of()}
		for _, s := range t.Steps {
			m.Steps = append(m.Steps, machinePlanStep{s.State, s.Kind, s.What, s.Wait, s.Why})
		}
		out = append(out, m)
	}
	return out
}

// printTransition prints a step in two or three lines: what it does, what is waited for, and
// why it comes there, once for steps of one kind that follow each other.
func printTransition(w io.Writer, t *machineTransition) {
	terminal.Printf(w, "  Transition of %s: step %d of about %d\n", finding.Ref(t.Object), t.Step, t.Of)
	kind := ""
	for i, s := range t.Steps {
		terminal.Printf(w, "    %d %-4s  %s: %s\n", i+1, s.State, s.Kind, s.What)
		if s.Wait != "" {
			terminal.Printf(w, "            %s\n", s.Wait)
		}
		if s.Why != "" && s.Kind != kind {
			terminal.Printf(w, "            why here: %s\n", s.Why)
		}
		kind = s.Kind
	}
}

// machineStep is the step of a transition that a change is.
type machineStep struct {
	Number int    `json:"number"`
	Of     int    `json:"of"` // about
	Kind   string `json:"kind"`
}

func stepForMachines(p transition.Place, found bool) *machineStep {
	if !found {
		return nil
	}
	return &machineStep{p.Number, p.Of, p.Kind}
}
