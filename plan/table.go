package plan

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/terminal"
)

// Table prints a line for each object, and under it what differs and why that
// matters.
func (p *Plan) Table(out io.Writer) error {
	w := bufio.NewWriter(out)
	color := terminal.HasColor(out)
	if len(p.Changes) > 0 {
		terminal.Println(w, "RISK         ACTION  OBJECT")
	}
	for _, c := range p.Changes {
		risk := fmt.Sprintf("%-13s", c.Risk)
		if color {
			risk = riskColor(c.Risk) + risk + terminal.Plain
		}
		w.WriteString(risk)
		terminal.Printf(w, "%-8s%s%s", c.Action, c.Ref, p.Mark(c))
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
	if len(p.Changes) > 0 {
		terminal.Println(w)
	}
	terminal.Println(w, p.Summary())
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
