package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/poolwright/poolwright/cmd/internal/terminal"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/watch"
	"github.com/poolwright/poolwright/schema/finding"
)

// watchStatus follows the cluster until it is interrupted.
func watchStatus(ctx context.Context, s streams, dir string, f statusFlags, at subject) error {
	p := &statusPrinter{streams: s, format: f.format, screen: f.format == asText && terminal.Is(s.out), empty: nothingToSay(dir, f)}
	writer := watch.NewWriter(at.cluster)
	options := watch.Options{
		Kinds: fn.StatusKinds(), Own: f.cluster, Specs: specsOf(nil, at.pkg.Objects),
		Notice: func(text string) { fmt.Fprintln(s.err, text) },
	}
	return watch.Run(ctx, at.cluster, options, func(own []*watch.Own, facts []*krm.Object) error {
		view := at.look(own, facts, f)
		p.complain(finding.Sort(view.rest))
		if f.write {
			// That the API server is lost is told once, and by the watch.
			if _, err := writer.Write(ctx, view.own, view.statuses, time.Now()); ctx.Err() == nil && !errors.Is(err, watch.ErrLost) {
				p.cannotWrite(err)
			}
		}
		return p.print(view.statuses)
	})
}

// statusPrinter prints statuses that change: on a terminal the whole table anew,
// elsewhere what changed.
type statusPrinter struct {
	streams
	format   format
	screen   bool
	empty    string // what to say where there is no spec
	table    *statusTable
	told     map[finding.Ref]health.Status
	findings string
	failure  string
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
			fmt.Fprintf(p.err, "%s is gone\n", ref)
		}
	}
	if len(statuses) == 0 && (first || len(before) > 0) {
		fmt.Fprintln(p.err, p.empty)
	}
	switch {
	case p.format != asText:
		return p.printMachines(changed)
	case p.screen:
		return p.redraw(statuses)
	case len(changed) == 0:
		return nil
	}
	var text bytes.Buffer
	if p.table == nil {
		p.table = newStatusTable(&text, changed)
		p.table.fit([4]string{"", "", "DeviceClaimedByOther", "10d12h"}) // the longest of what may come
		p.table.header()
	}
	p.table.w = &text
	for i := range changed {
		p.table.row(&changed[i])
	}
	_, err := p.out.Write(text.Bytes())
	return err
}

// sameStatus compares what a line says.
func sameStatus(a, b health.Status) bool {
	return a.Phase == b.Phase && a.Reason == b.Reason && a.Message == b.Message && a.Since.Equal(b.Since)
}

func (p *statusPrinter) printMachines(changed []health.Status) error {
	for i := range changed {
		m := statusForMachines(&changed[i])
		if p.format == asYAML {
			if _, err := fmt.Fprintln(p.out, "---"); err != nil {
				return err
			}
			if err := printAs(p.out, asYAML, m); err != nil {
				return err
			}
			continue
		}
		line, err := json.Marshal(m)
		if err == nil {
			_, err = p.out.Write(append(line, '\n'))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// redraw clears the screen and prints the table, with ages as of now.
func (p *statusPrinter) redraw(statuses []health.Status) error {
	var text bytes.Buffer
	t := newStatusTable(&text, statuses)
	t.color = terminal.HasColor(p.out)
	t.header()
	for i := range statuses {
		t.row(&statuses[i])
	}
	_, err := fmt.Fprintf(p.out, "\x1b[H\x1b[2J%s", text.Bytes())
	return err
}

// complain reports findings that were not reported the last time.
func (p *statusPrinter) complain(fs []finding.Finding) {
	var text bytes.Buffer
	_ = report(&text, fs) // they may be mended while we watch
	if said := text.String(); said != p.findings {
		p.findings = said
		fmt.Fprint(p.err, said)
	}
}

// cannotWrite says so once, and tries again with the next look.
func (p *statusPrinter) cannotWrite(err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	if said != p.failure && said != "" {
		fmt.Fprintln(p.err, "poolwright:", said)
	}
	p.failure = said
}
