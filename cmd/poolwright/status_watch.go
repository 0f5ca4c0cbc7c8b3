package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/own"
	"github.com/poolwright/poolwright/live/watch"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// watchStatus follows the cluster until it is interrupted.
func watchStatus(ctx context.Context, s program, dir string, f statusFlags, at subject) error {
	p := newStatusPrinter(s.streams, f.format, nothingToSay(dir, f))
	writer := own.NewWriter(at.cluster, s.function.Kinds())
	kinds := s.function.Kinds()
	options := watch.Options{
		Kinds: kinds.Status(), Specs: kinds.Specs(at.pkg.Objects),
		Notice: func(text string) { terminal.Println(p.err, text) },
	}
	if f.cluster {
		options.Own = kinds
	}
	return watch.Run(ctx, at.cluster, options, func(ours []*own.Object, facts []*krm.Object) error {
		view := at.look(s.function, ours, facts, f)
		p.complain(finding.Sort(view.rest))
		if f.write {
			// That the API server is lost is reported once, and by the watch.
			if _, err := writer.Write(ctx, view.ours, view.statuses, time.Now()); ctx.Err() == nil && !errors.Is(err, own.ErrLost) {
				p.cannotWrite(err)
			}
		}
		return p.print(view.statuses)
	})
}

// statusPrinter prints statuses that change: on a terminal the whole table again,
// elsewhere what changed.
type statusPrinter struct {
	streams
	format   format
	screen   bool   // the table is printed again
	talk     *talk  // the standard error
	empty    string // what to say where there is no spec
	table    *statusTable
	told     map[finding.Ref]health.Status
	findings string
	failure  string
}

func newStatusPrinter(s streams, f format, empty string) *statusPrinter {
	p := &statusPrinter{streams: s, format: f, screen: f == asText && terminal.Is(s.out), empty: empty}
	p.talk = &talk{w: s.err, cleared: p.screen && terminal.Is(s.err)}
	p.err = p.talk
	return p
}

func (p *statusPrinter) print(statuses []health.Status) error {
	first := p.told == nil
	before := p.told
	p.told = make(map[finding.Ref]health.Status, len(statuses))
	var changed []health.Status
	for i := range statuses {
		st := &statuses[i]
		old, known := before[st.Spec]
		st.Since = st.SinceAfter(old.Phase, old.Reason, old.Since, time.Now())
		p.told[st.Spec] = *st
		if !known || !sameStatus(old, *st) {
			changed = append(changed, *st)
		}
	}
	for ref := range before {
		if _, there := p.told[ref]; !there {
			terminal.Printf(p.err, "%s is gone\n", ref)
		}
	}
	if len(statuses) == 0 && (first || len(before) > 0) {
		terminal.Println(p.err, p.empty)
	}
	switch {
	case p.format != asText:
		return p.printMachines(changed)
	case p.screen:
		return p.redraw(statuses)
	case len(changed) == 0:
		return nil
	}
	if p.table == nil {
		p.table = newStatusTable(false, changed)
		p.table.stamp = clock
		p.table.fit([4]string{"", "", "DeviceClaimedByOther", "10d12h"}) // the longest of what may come
		p.table.header()
	}
	p.table.rows(changed)
	return p.table.flush(p.out)
}

// clock is the time as a log has it.
func clock() string { return time.Now().UTC().Format(time.RFC3339) }

// sameStatus compares what a line says.
func sameStatus(a, b health.Status) bool {
	return a.Phase == b.Phase && a.Reason == b.Reason && a.Message == b.Message && a.Since.Equal(b.Since)
}

func (p *statusPrinter) printMachines(changed []health.Status) error {
	for i := range changed {
		m := changed[i].Record()
		if p.format == asYAML {
			if _, err := terminal.Println(p.out, "---"); err != nil {
				return err
			}
			if err := printAs(p.out, asYAML, m); err != nil {
				return err
			}
			continue
		}
		line, err := json.Marshal(m)
		if err == nil {
			_, err = p.out.Write(append(terminal.JSON(line), '\n'))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// redraw clears the screen and prints the table, with ages as of now, and what was
// said last.
func (p *statusPrinter) redraw(statuses []health.Status) error {
	t := newStatusTable(terminal.HasColor(p.out), statuses)
	t.text.WriteString("\x1b[H\x1b[2J")
	t.header()
	t.rows(statuses)
	if err := t.flush(p.out); err != nil {
		return err
	}
	p.talk.repeat()
	return nil
}

// talk puts the time in front of what is said, and remembers the last of it, for a
// screen that is cleared.
type talk struct {
	w       io.Writer
	cleared bool // w is the screen that is cleared

	mu   sync.Mutex // guards what follows: watches speak up at any time
	last []string
}

func (t *talk) Write(text []byte) (int, error) {
	const most = 5
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range strings.Lines(string(text)) {
		line = clock() + "  " + line
		t.last = append(t.last, line)
		if _, err := io.WriteString(t.w, line); err != nil {
			return 0, err
		}
	}
	t.last = t.last[max(0, len(t.last)-most):]
	return len(text), nil
}

func (t *talk) repeat() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cleared && len(t.last) > 0 {
		_, _ = io.WriteString(t.w, "\n"+strings.Join(t.last, ""))
	}
}

// complain reports findings that were not reported the last time.
func (p *statusPrinter) complain(fs []finding.Finding) {
	var text bytes.Buffer
	_ = report(streams{err: &text, verbose: p.verbose}, fs) // they may be corrected while we watch
	if said := text.String(); said != p.findings {
		p.findings = said
		_, _ = io.WriteString(p.err, said)
	}
}

// cannotWrite says so once, and tries again with the next look.
func (p *statusPrinter) cannotWrite(err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	if said != p.failure && said != "" {
		terminal.Println(p.err, "poolwright:", said)
	}
	p.failure = said
}
