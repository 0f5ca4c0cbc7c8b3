package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// print writes the plan in the form that -o names.
func (p *plan) print(w io.Writer, form format) error {
	switch form {
	case asMarkdown:
		_, err := io.WriteString(w, p.markdown())
		return err
	case asText:
		return p.table(w)
	}
	return printAs(w, form, p.machine())
}

// table prints a line for each object, and under it what differs and why that
// matters.
func (p *plan) table(out io.Writer) error {
	w := bufio.NewWriter(out)
	color := terminal.HasColor(out)
	if len(p.changes) > 0 {
		terminal.Println(w, "RISK         ACTION  OBJECT")
	}
	for _, c := range p.changes {
		risk := fmt.Sprintf("%-13s", c.Risk)
		if color {
			risk = riskColor(c.Risk) + risk + terminal.Plain
		}
		w.WriteString(risk)
		terminal.Printf(w, "%-8s%s%s", c.Action, c.Ref, p.mark(c))
		if len(c.Fields) == 0 && len(c.Reasons) == 1 {
			terminal.Printf(w, ": %s\n", c.Reasons[0].Text)
			continue
		}
		terminal.Println(w)
		width := 0
		for i := range c.Fields {
			width = min(max(width, utf8.RuneCountInString(c.Fields[i].Path)), maxPath)
		}
		for i := range c.Fields {
			f := &c.Fields[i]
			line := fmt.Sprintf("%13s%s %-*s  %s", "", sign(f.Action), width, f.Path, difference(f))
			terminal.Println(w, strings.TrimRight(line, " "))
		}
		said := map[change.Reason]bool{}
		for _, r := range c.Reasons {
			if r.Field = ""; !said[r] {
				terminal.Printf(w, "%13s%s: %s\n", "", r.Risk, r.Text)
			}
			said[r] = true
		}
	}
	if len(p.changes) > 0 {
		terminal.Println(w)
	}
	terminal.Println(w, p.summary())
	return w.Flush()
}

func riskColor(r change.Risk) string {
	switch r {
	case change.Destructive:
		return terminal.Red
	case change.Disruptive:
		return terminal.Yellow
	}
	return terminal.Cyan
}

// sign is what stands before a field that differs.
func sign(a change.Action) string {
	switch a {
	case change.Add:
		return "+"
	case change.Remove:
		return "-"
	}
	return "~"
}

// difference writes the values of a field on one line.
func difference(f *change.Field) string {
	switch {
	case f.Action == change.Reorder:
		return "in another order"
	case f.Action == change.Modify:
		return shown(f.Old) + " -> " + shown(f.New)
	case f.New != nil && !named(f.Path, f.New):
		return shown(f.New)
	case f.Old != nil && !named(f.Path, f.Old):
		return shown(f.Old)
	}
	return ""
}

// named reports whether an item of a list is no more than the name that the path
// gives it.
func named(path string, n *document.Node) bool {
	if n.Kind() == document.Map && len(n.Fields()) == 1 {
		return strings.HasSuffix(path, "["+n.Fields()[0].Key+"="+n.Fields()[0].Value.Str()+"]")
	}
	return n.Kind() == document.Scalar && strings.HasSuffix(path, "[="+string(document.AppendJSON(nil, n))+"]")
}

// How many characters of a value the table shows, and up to which length of the
// paths it has the values in a column.
const (
	maxShown = 100
	maxPath  = 90
)

func shown(n *document.Node) string {
	text := ""
	if n.Kind() == document.Scalar && !strings.Contains(n.Value(), "\n") {
		text = strings.TrimSuffix(string(document.Append(nil, n, 0)), "\n")
	} else {
		text = string(document.AppendJSON(nil, n))
	}
	if runes := []rune(text); len(runes) > maxShown {
		text = string(runes[:maxShown-1]) + "…"
	}
	return text
}

// tally are how many objects a plan touches.
type tally struct {
	Create      int `json:"create"`
	Change      int `json:"change"`
	Remove      int `json:"remove"`
	Safe        int `json:"safe"`
	Disruptive  int `json:"disruptive"`
	Destructive int `json:"destructive"`
	GitOnly     int `json:"gitOnly"`
}

func (p *plan) tally() tally {
	var n tally
	for _, c := range p.changes {
		switch c.Action {
		case change.Create:
			n.Create++
		case change.Modify:
			n.Change++
		case change.Remove:
			n.Remove++
		}
		switch c.Risk {
		case change.Safe:
			n.Safe++
		case change.Disruptive:
			n.Disruptive++
		case change.Destructive:
			n.Destructive++
		}
		if c.GitOnly() {
			n.GitOnly++
		}
	}
	return n
}

// summary is the plan in one line.
func (p *plan) summary() string {
	switch {
	case len(p.changes) == 0 && p.files > 0:
		return "no object changes; " + finding.Count(p.files, "file") + " to write"
	case len(p.changes) == 0:
		return "no changes"
	}
	n := p.tally()
	text := fmt.Sprintf("%d to create, %d to change, %d to remove; ", n.Create, n.Change, n.Remove)
	var risks []string
	if n.Destructive > 0 {
		risks = append(risks, fmt.Sprintf("%d destructive", n.Destructive))
	}
	if n.Disruptive > 0 {
		risks = append(risks, fmt.Sprintf("%d disruptive", n.Disruptive))
	}
	if len(risks) == 0 {
		risks = append(risks, "all safe")
	}
	text += strings.Join(risks, ", ")
	if n.GitOnly > 0 {
		text += fmt.Sprintf("; %d in Git only", n.GitOnly)
	}
	return text
}

// machinePlan is a plan as -o json prints it. The names of its fields stay.
type machinePlan struct {
	Against  string           `json:"against"`
	Risk     change.Risk      `json:"risk,omitempty"` // the greatest; none without changes
	Summary  tally            `json:"summary"`
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

func (p *plan) machine() machinePlan {
	out := machinePlan{Against: p.against, Summary: p.tally(), Changes: make([]machineChange, len(p.changes)), Findings: finding.Records(p.findings)}
	for i, c := range p.changes {
		if out.Risk == "" {
			out.Risk = c.Risk // the riskiest comes first
		}
		m := machineChange{c.Risk, c.Action, machineRef(c.Ref), c.GitOnly(), stepForMachines(transition.Under(p.transitions, c.Ref)), []machineField{}, []machineReason{}}
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
