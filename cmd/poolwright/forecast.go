package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/controller/worktree"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/forecast"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
	"github.com/poolwright/poolwright/terminal"
)

const forecastLong = `Show when pools pass their threshold and when they are full, by how they grew. There is no
clock: dates count from the newest point of the history.

The history is that of Git: the commits that changed DIR/inventory, by the date of their
author, the last of each day in UTC. With --history FILE it is a file of JSON lines
{"time": "2026-01-31T12:00:00Z", "pool": "NAME", "used": BYTES, "total": BYTES}.

A date is an interval of 95 percent. A pool whose use jumps by more than 10 percent points, or
whose size changes, starts again. A history of less than 5 points or 7 days gives no date, unless
--grow assumes a growth. The threshold is poolExpansion.threshold of the spec, else 80 percent.

Nothing is written, not even in .git. Exit codes: 1 if the history or the package cannot be
read; 2 bad usage.`

const forecastExample = `  # By the commits of the inventory
  poolwright forecast storage

  # What if every pool grows by 5 percent points a month?
  poolwright forecast storage --grow 5%/month

  # From a monitoring system
  poolwright forecast storage --history used.jsonl --for 1y`

type forecastFlags struct {
	format  format
	history []string
	horizon string
	grow    string
}

// historyGit is the value of --history that is no file.
const historyGit = "git"

func newForecast(s program) *cobra.Command {
	f := forecastFlags{format: asTable}
	cmd := &cobra.Command{
		Use:               "forecast [DIR]",
		Short:             "Show when pools are full, by their history",
		Long:              forecastLong,
		Example:           forecastExample,
		Args:              atMost(1, "forecast takes one DIR"),
		ValidArgsFunction: folders,
		RunE:              func(_ *cobra.Command, args []string) error { return runForecast(s, dirArg(args), &f) },
	}
	cmd.Flags().StringSliceVar(&f.history, "history", []string{historyGit}, "git, or files with JSON lines {time, pool, used, total}")
	completeOrPath(s, cmd, "history", cobra.ShellCompDirectiveDefault, historyGit)
	cmd.Flags().StringVar(&f.horizon, "for", "6mo", "dates after this are shown as later: a number with d, w, mo or y")
	complete(s, cmd, "for", "1mo", "3mo", "6mo", "1y")
	cmd.Flags().StringVar(&f.grow, "grow", "", "assume this growth in place of that of the history, such as 5%/month or 10Gi/day")
	complete(s, cmd, "grow")
	addOneOf(s, cmd, &f.format, "output", "o", "print as a table or json, or draw as svg", asTable, asJSON, asSVG)
	return cmd
}

// machineForecast is what -o json prints. The names of its fields stay.
type machineForecast struct {
	History string            `json:"history"`
	Newest  *time.Time        `json:"newest"` // null without any point
	Objects []forecast.Object `json:"objects"`
}

func runForecast(s program, dir string, f *forecastFlags) error {
	horizon, err := daysOf(f.horizon)
	if err != nil {
		return usage("--for %q: write a number with d, w, mo or y, such as 6mo", f.horizon)
	}
	grow, err := growthOf(f.grow)
	if err != nil {
		return err
	}
	if slices.Contains(f.history, historyGit) && len(f.history) > 1 {
		return usage("--history git has all points: leave out %s", strings.Join(slices.DeleteFunc(slices.Clone(f.history), func(name string) bool { return name == historyGit }), ", "))
	}
	l, err := load(s, dir, "")
	if err != nil {
		return err
	}
	if finding.Failed(l.findings) {
		return report(s.streams, l.findings)
	}
	facts, _ := s.function.Facts(l.Objects, false)
	history := fn.History{}
	for id := range s.function.Usages(facts, time.Time{}) {
		history[id] = nil
	}
	if slices.Equal(f.history, []string{historyGit}) {
		err = addCommits(s, dir, history)
	} else {
		err = addFiles(s, facts, f.history, history)
	}
	if err != nil {
		return err
	}
	m := machineForecast{History: strings.Join(f.history, ","), Newest: newestOf(history), Objects: s.function.Forecast(l.Input(), history, grow)}
	switch f.format {
	case asJSON:
		err = printAs(s.out, asJSON, m)
	case asSVG:
		_, err = s.out.Write(forecastPicture(&m, horizon))
	default:
		err = printForecast(s.out, &m, horizon)
	}
	if err != nil {
		return err
	}
	return report(s.streams, l.findings)
}

func newestOf(history fn.History) *time.Time {
	var newest *time.Time
	for _, points := range history {
		for i := range points {
			if newest == nil || points[i].Time.After(*newest) {
				newest = &points[i].Time
			}
		}
	}
	return newest
}

// mostHistory is how many bytes of one version of an inventory are read.
const mostHistory = 1 << 30

// addCommits adds what the commits of an inventory show.
func addCommits(s program, dir string, history fn.History) error {
	defer terminal.Progress(s.err, "reading the history of "+dir)()
	isYAML := func(name string) bool { return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") }
	days, err := worktree.Days(dir, inventory.Folder, mostHistory, isYAML)
	if err != nil {
		return err
	}
	for _, day := range days {
		var objects []*krm.Object
		for name, text := range day.Files {
			if !bytes.Contains(text, []byte("used")) {
				continue // nothing in it says how full it is
			}
			read, err := krm.Parse(&document.Source{Name: name, Data: text})
			if err != nil {
				return fmt.Errorf("%s of %s: %w", inventory.Folder, day.Time.Format(time.DateOnly), err)
			}
			objects = append(objects, read...)
		}
		facts, _ := s.function.Facts(objects, true)
		for id, p := range s.function.Usages(facts, day.Time) {
			history[id] = append(history[id], p)
		}
	}
	return nil
}

// addFiles adds the points of files of JSON lines.
func addFiles(s program, facts []*krm.Object, names []string, history fn.History) error {
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, 1<<20)
		for number := 1; lines.Scan(); number++ {
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			pool, p, err := pointOf(lines.Bytes())
			if err != nil {
				return fmt.Errorf("%s:%d: %w", name, number, err)
			}
			id := s.function.PoolOf(facts, pool)
			history[id] = append(history[id], p)
		}
		if err := lines.Err(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// pointOf reads a line.
func pointOf(line []byte) (pool string, p forecast.Point, err error) {
	var point struct {
		Time  *time.Time `json:"time"`
		Pool  string     `json:"pool"`
		Used  *float64   `json:"used"`
		Total float64    `json:"total"`
	}
	if err := json.Unmarshal(line, &point); err != nil {
		return "", p, fmt.Errorf("no point: %w; write {\"time\": ..., \"pool\": ..., \"used\": BYTES, \"total\": BYTES}", err)
	}
	if point.Time == nil || point.Pool == "" || point.Used == nil || *point.Used < 0 || point.Total <= 0 || math.IsInf(point.Total, 0) {
		return "", p, errors.New(`a point has "time", "pool", "used" of 0 or more, and "total" above 0`)
	}
	return point.Pool, forecast.Point{Time: point.Time.UTC(), Percent: *point.Used * 100 / point.Total, Total: int64(point.Total)}, nil
}

// daysOfMonth is the length of a month, in days.
const daysOfMonth = 365.25 / 12

// daysOf reads 90d, 26w, 6mo or 1y.
func daysOf(text string) (float64, error) {
	number := strings.TrimRight(text, "dwmoy")
	unit := map[string]float64{"d": 1, "w": 7, "mo": daysOfMonth, "y": 365.25}[strings.TrimPrefix(text, number)]
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || unit == 0 || n <= 0 || n > 36525 {
		return 0, errors.New("no time")
	}
	return n * unit, nil
}

// growthOf reads 5%/month or 10Gi/day; nil for "".
func growthOf(text string) (*fn.Growth, error) {
	if text == "" {
		return nil, nil
	}
	amount, per, _ := strings.Cut(text, "/")
	days := map[string]float64{"day": 1, "week": 7, "month": daysOfMonth, "year": 365.25}[per]
	if percent, is := strings.CutSuffix(amount, "%"); is && days > 0 {
		if n, err := strconv.ParseFloat(percent, 64); err == nil && math.Abs(n) <= 1e6 {
			return &fn.Growth{Points: n / days}, nil
		}
	} else if n := quantity.Bytes(amount); n > 0 && days > 0 {
		return &fn.Growth{Bytes: float64(n) / days}, nil
	}
	return nil, usage("--grow %q: write an amount a day, week, month or year, such as 5%%/month or 10Gi/day", text)
}
