package main

import (
	"io"

	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// printTransition prints a step in two or three lines: what it does, what is waited for, and
// why it comes there, once for steps of one kind that follow each other.
func printTransition(w io.Writer, t *transition.Record) {
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
