package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// printWhatIf prints the answer in the form that -o names.
func printWhatIf(w io.Writer, f *whatIfFlags, q fn.Question, answer *fn.WhatIf, next *planning) error {
	switch f.format {
	case asJSON, asYAML:
		m := next.Record()
		return printAs(w, f.format, machineWhatIf{f.from, answer.Answer, machineNext{m.Risk, m.Changes, m.Findings}})
	case asSVG:
		_, err := w.Write(lossMap(answer, q).SVG())
		return err
	case asMarkdown:
		_, err := io.WriteString(w, whatIfMarkdown(answer, next))
		return err
	}
	return printWhatIfTable(w, answer, next)
}

// sections are the tables and lists of an answer for people.
type sections struct {
	header []string
	rows   []row
	lists  []list
}

// list is a title with lines below it, or one line behind it.
type list struct {
	title string
	lines []string
	text  string
}

// mostListed is how many lines of a list people get.
const mostListed = 10

func sectionsOf(w *fn.WhatIf, next *planning) sections {
	var s sections
	if w.Every != "" {
		s.header = []string{"OBJECT", "LOST", "STOPS", "DEGRADED", "UNKNOWN", "SAFE"}
		for _, l := range w.Rows {
			cells := []string{l.Object}
			for _, n := range []int{l.Summary.Lost, l.Summary.Stops, l.Summary.Degraded, l.Summary.Unknown, l.Summary.Safe} {
				cells = append(cells, strconv.Itoa(n))
			}
			s.rows = append(s.rows, row{stateColor(l.Summary.Worst()), cells})
		}
	} else {
		s.header = []string{"OBJECT", "BEFORE", "AFTER", "COPIES", "CAUSE", "REMEDY"}
		s.rows = unsafeRows(w)
	}
	if d := w.Drain; d != nil {
		s.lists = append(s.lists, drainList(d))
	}
	for _, r := range w.Requirements {
		if r.Holds {
			s.lists = append(s.lists, list{title: "Required", text: fmt.Sprintf("%q holds", r.Require)})
		}
	}
	s.lists = append(s.lists, list{title: "Next render", text: nextText(w, next), lines: nextLines(next)})
	fatal := list{title: "Then fatal"}
	for i, f := range w.ThenFatal {
		if i == mostListed {
			fatal.lines = append(fatal.lines, fmt.Sprintf("and %d more; -o json lists all", len(w.ThenFatal)-mostListed))
			break
		}
		fatal.lines = append(fatal.lines, fmt.Sprintf("%s: %d more lost, %d more stop", f.Object, f.Lost, f.Stops))
	}
	if len(fatal.lines) == 0 {
		fatal.text = "no single further loss makes more volumes lost or stop"
	}
	return sections{s.header, s.rows, append(s.lists, fatal, list{title: "Not modelled", text: strings.Join(w.NotModelled, ", ")})}
}

// drainList is how a node is drained, or why it is not empty in the end.
func drainList(d *resilience.DrainPlan) list {
	l := list{title: "Drain of " + d.Node, text: finding.Count(d.Renders, "render")}
	for _, s := range d.Steps {
		l.lines = append(l.lines, s.Text)
	}
	if len(l.lines) > mostListed {
		l.lines = append(l.lines[:mostListed], fmt.Sprintf("and %d more; -o json lists all", len(l.lines)-mostListed))
	}
	if d.Blocked != "" {
		l.lines = append(l.lines, "blocked: "+d.Blocked)
	}
	return l
}

// unsafeRows are the volumes and pools that are not safe both times, the worst first.
func unsafeRows(w *fn.WhatIf) []row {
	var all []*resilience.Row
	for _, rows := range [][]resilience.Row{w.Volumes, w.Pools} {
		for i := range rows {
			if r := &rows[i]; r.Before != resilience.Safe || r.After != resilience.Safe {
				all = append(all, r)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *resilience.Row) int {
		return cmp.Compare(resilience.Listed(a.After), resilience.Listed(b.After))
	})
	var rows []row
	for _, r := range all {
		after := string(r.After)
		if r.After == resilience.Unknown {
			after += ", worst " + string(r.Worst)
		}
		rows = append(rows, row{stateColor(r.After), []string{r.Ref(), string(r.Before), after, copiesText(&r.Copies), dash(r.Cause), dash(r.Remedy)}})
	}
	return rows
}

// copiesText is 3 -> 2 of 3; a number that is not known is ?.
func copiesText(c *resilience.Copies) string {
	text := func(n *int) string {
		if n == nil {
			return "?"
		}
		return strconv.Itoa(*n)
	}
	before, after := text(c.Before), text(c.After)
	if before != after {
		after = before + " -> " + after
	}
	return after + " of " + text(c.Want)
}

func stateColor(s resilience.State) string {
	switch s {
	case resilience.Lost, resilience.Stops:
		return terminal.Red
	case resilience.Degraded, resilience.Unknown:
		return terminal.Yellow
	}
	return terminal.Cyan
}

// nextText is the next render in one line.
func nextText(w *fn.WhatIf, next *planning) string {
	failed := 0
	for i := range next.Findings {
		if next.Findings[i].Severity == finding.Error {
			failed++
		}
	}
	switch {
	case w.Next.Facts == nil && len(next.Findings) == 0:
		return "there is no spec"
	case failed > 0:
		return finding.Count(failed, "error") + ": nothing would be written"
	}
	return next.Summary()
}

// nextLines are the errors of the next render, or else what it changes, the riskiest first.
func nextLines(next *planning) []string {
	var lines []string
	for _, f := range next.Findings {
		if f.Severity == finding.Error {
			lines = append(lines, f.String())
		}
	}
	for _, c := range next.Changes {
		line := fmt.Sprintf("%s %s %s%s", c.Risk, c.Action, c.Ref, next.Mark(c))
		for _, r := range c.Reasons {
			if r.Risk == c.Risk && c.Risk != change.Safe {
				line += ": " + r.Text
				break
			}
		}
		lines = append(lines, line)
	}
	if len(lines) > mostListed {
		lines = append(lines[:mostListed], fmt.Sprintf("and %d more; -o json lists all", len(lines)-mostListed))
	}
	return lines
}

func printWhatIfTable(w io.Writer, answer *fn.WhatIf, next *planning) error {
	terminal.Println(w, answer.Summary.Text("volume"))
	terminal.Println(w, answer.PoolsSummary.Text("pool"))
	s := sectionsOf(answer, next)
	if len(s.rows) > 0 {
		terminal.Println(w)
		if err := printTable(w, s.header, s.rows); err != nil {
			return err
		}
	}
	for _, l := range s.lists {
		terminal.Printf(w, "\n%s:", l.title)
		if l.text != "" {
			terminal.Printf(w, " %s", l.text)
		}
		terminal.Println(w)
		for _, line := range l.lines {
			terminal.Println(w, "  "+line)
		}
	}
	return nil
}

// whatIfMarkdown is the answer as a comment.
func whatIfMarkdown(answer *fn.WhatIf, next *planning) string {
	var b strings.Builder
	cell := func(text string) string {
		return strings.NewReplacer("|", "\\|", "`", "'", "<", "&lt;").Replace(terminal.Printable(text))
	}
	changes := make([]string, 0, len(answer.Changes))
	for _, c := range answer.Changes {
		changes = append(changes, string(c.Verb)+" "+c.Object)
	}
	title := "today"
	if len(changes) > 0 {
		title = "`" + cell(strings.Join(changes, ", ")) + "`"
	}
	terminal.Printf(&b, "### Poolwright what-if: %s\n\n%s  \n%s\n", title, answer.Summary.Text("volume"), answer.PoolsSummary.Text("pool"))
	s := sectionsOf(answer, next)
	for i, r := range s.rows {
		if i == 0 {
			terminal.Printf(&b, "\n| %s |\n|%s\n", strings.ToLower(strings.Join(s.header, " | ")), strings.Repeat("---|", len(s.header)))
		}
		if b.Len() > maxWhatIfComment {
			terminal.Printf(&b, "\n%s left out; `-o json` lists all.\n", finding.Count(len(s.rows)-i, "row"))
			break
		}
		cells := make([]string, len(r.cells))
		for j, text := range r.cells {
			cells[j] = cell(text)
		}
		cells[0] = "`" + cells[0] + "`"
		terminal.Printf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	for _, l := range s.lists {
		terminal.Printf(&b, "\n**%s**: %s\n", l.title, cell(l.text))
		for _, line := range l.lines {
			terminal.Printf(&b, "- %s\n", cell(line))
		}
	}
	return b.String()
}

// maxWhatIfComment is how many bytes of a comment the table may have: GitHub takes 65,536 characters.
const maxWhatIfComment = 50_000
