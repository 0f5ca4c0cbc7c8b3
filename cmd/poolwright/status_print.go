package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/terminal"
)

// printStatuses prints what status says, and turns an ERROR into exit code 1.
func printStatuses(s program, dir string, f statusFlags, at subject, v statusView) error {
	err := verdict(report(s.streams, v.rest))
	switch {
	case f.format != asText:
		if err := printAs(s.out, f.format, health.StatusRecords(v.statuses)); err != nil {
			return err
		}
	case len(v.statuses) == 0 && err == nil:
		terminal.Println(s.err, nothingToSay(dir, f))
	case len(v.statuses) > 0:
		t := newStatusTable(terminal.HasColor(s.out), v.statuses)
		t.header()
		t.rows(v.statuses)
		if err := t.flush(s.out); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if at.failed || anyError(v.statuses) {
		return errVerdict
	}
	return nil
}

func nothingToSay(dir string, f statusFlags) string {
	what := "there is no spec"
	switch {
	case f.namespace != "":
		what += " in namespace " + f.namespace
	case f.cluster:
		what += " in the cluster"
	}
	if !f.cluster {
		what = dir + ": " + what
	}
	return what + ", so there is nothing to say"
}

func anyError(statuses []health.Status) bool {
	return slices.ContainsFunc(statuses, func(st health.Status) bool { return st.Phase == health.Error })
}

// statusTable makes one line of a status. The columns stay where they are from one
// line to the next, as long as what comes later fits.
type statusTable struct {
	text   bytes.Buffer // what was not printed yet
	color  bool
	stamp  func() string // the time to put in front of each line; nil for none
	widths [4]int
}

func newStatusTable(color bool, statuses []health.Status) *statusTable {
	t := &statusTable{color: color}
	t.fit([4]string{"SPEC", "PROGRESSING", "REASON", "SINCE"})
	for i := range statuses {
		t.fit(cells(&statuses[i]))
	}
	return t
}

func (t *statusTable) fit(row [4]string) {
	for i, text := range row {
		t.widths[i] = max(t.widths[i], len(text))
	}
}

func cells(st *health.Status) [4]string {
	row := [4]string{st.Spec.String(), string(st.Phase), st.Reason, age(st.Since)}
	for i := range row {
		row[i] = terminal.Printable(row[i])
	}
	return row
}

func (t *statusTable) header() {
	if t.stamp != nil {
		terminal.Printf(&t.text, "%-*s  ", len(t.stamp()), "TIME")
	}
	t.line([4]string{"SPEC", "STATUS", "REASON", "SINCE"}, "", "MESSAGE")
}

func (t *statusTable) rows(statuses []health.Status) {
	for i := range statuses {
		st := &statuses[i]
		if t.stamp != nil {
			t.text.WriteString(t.stamp() + "  ")
		}
		t.line(cells(st), phaseColor(st.Phase), st.Message)
	}
}

func (t *statusTable) line(row [4]string, color, message string) {
	t.fit(row)
	for i, text := range row {
		padding := strings.Repeat(" ", t.widths[i]-len(text)+2)
		if i == 1 && t.color && color != "" {
			text = color + text + terminal.Plain
		}
		t.text.WriteString(text + padding)
	}
	terminal.Println(&t.text, message)
}

// flush prints the lines that were made since the last time.
func (t *statusTable) flush(w io.Writer) error {
	_, err := t.text.WriteTo(w)
	return err
}

func phaseColor(p health.Phase) string {
	switch p {
	case health.Error:
		return terminal.Red
	case health.Progressing:
		return terminal.Yellow
	case health.OK:
		return terminal.Cyan
	}
	return ""
}

// age is how long ago something was, as kubectl writes it.
func age(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return duration.HumanDuration(max(time.Since(t), 0))
}
