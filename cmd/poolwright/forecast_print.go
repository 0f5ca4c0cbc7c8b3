package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/poolwright/poolwright/fn/forecast"
	"github.com/poolwright/poolwright/fn/picture"
	"github.com/poolwright/poolwright/terminal"
)

// printForecast prints a line for each pool and spec.
func printForecast(w io.Writer, m *machineForecast, horizon float64) error {
	var rows []row
	for i := range m.Objects {
		o := &m.Objects[i]
		used, growth := "-", "-"
		if o.Used != nil {
			used = strconv.FormatFloat(*o.Used, 'f', 1, 64) + "%"
		}
		if o.Slope != nil {
			growth = fmt.Sprintf("%+.1f%% a month", o.Slope.Mid*daysOfMonth)
		}
		reason := o.Reason
		if o.Expansion != nil && o.Expansion.Times > 0 {
			reason = fmt.Sprintf("grows %d times by itself", o.Expansion.Times)
		}
		rows = append(rows, row{forecastColor(m, o, horizon), []string{
			o.String(), used, growth, strconv.FormatFloat(o.Threshold, 'f', -1, 64) + "%", intervalText(m, o.ThresholdAt, horizon), intervalText(m, o.FullAt, horizon), dash(reason),
		}})
	}
	if len(rows) > 0 {
		if err := printTable(w, []string{"OBJECT", "USED", "GROWTH", "THRESHOLD", "PASSES IT", "FULL", "NOTE"}, rows); err != nil {
			return err
		}
		terminal.Println(w)
	}
	newest := "no points"
	if m.Newest != nil {
		newest = "newest point " + m.Newest.Format(time.RFC3339)
	}
	terminal.Printf(w, "History: %s, %s. A date is an interval of 95 percent.\n", m.History, newest)
	return nil
}

// intervalText is 2026-05-01 to 2026-07-12. What is after the horizon is later.
func intervalText(m *machineForecast, at forecast.Interval, horizon float64) string {
	if at.Earliest == nil {
		return "-"
	}
	text := func(t *time.Time) string {
		switch {
		case t == nil:
			return "never"
		case isLater(m, t, horizon):
			return "later"
		}
		return t.Format(time.DateOnly)
	}
	earliest, latest := text(at.Earliest), text(at.Latest)
	if earliest == latest {
		return earliest
	}
	return earliest + " to " + latest
}

func isLater(m *machineForecast, t *time.Time, horizon float64) bool {
	return m.Newest != nil && t.Sub(*m.Newest).Hours()/24 > horizon
}

func forecastColor(m *machineForecast, o *forecast.Object, horizon float64) string {
	switch {
	case o.FullAt.Earliest != nil && !isLater(m, o.FullAt.Earliest, horizon):
		return terminal.Red
	case o.ThresholdAt.Earliest != nil && !isLater(m, o.ThresholdAt.Earliest, horizon):
		return terminal.Yellow
	}
	return terminal.Cyan
}

// forecastPicture draws the intervals of each pool and spec.
func forecastPicture(m *machineForecast, horizon float64) []byte {
	p := picture.Timeline{Title: "When pools are full", Days: horizon}
	if m.Newest != nil {
		p.From = *m.Newest
	}
	for i := range m.Objects {
		o := &m.Objects[i]
		used := 0.0
		if o.Used != nil {
			used = *o.Used
		}
		p.Rows = append(p.Rows, picture.TimelineRow{
			Name: o.String(), Used: used, Note: o.Reason,
			Threshold: picture.Span{From: o.ThresholdAt.Earliest, To: o.ThresholdAt.Latest}, Full: picture.Span{From: o.FullAt.Earliest, To: o.FullAt.Latest},
		})
	}
	return p.SVG()
}
