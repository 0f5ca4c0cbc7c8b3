package monitoring

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// database are series in memory, with a value every minute for four days.
type database []series

type series struct {
	labels labels.Labels
	first  float64
	step   float64 // from minute to minute
}

func constant(t *testing.T, text string, value float64) series {
	t.Helper()
	s := counter(t, text, 0)
	s.first = value
	return s
}

// counter grows by so much a minute.
func counter(t *testing.T, text string, step float64) series {
	t.Helper()
	all, err := parser.NewParser(parser.Options{}).ParseMetric(text)
	if err != nil {
		t.Fatal(err)
	}
	return series{labels: all, step: step}
}

func (d database) Querier(_, _ int64) (storage.Querier, error) { return d, nil }

func (d database) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []storage.Series
	for _, s := range d {
		matches := true
		for _, m := range matchers {
			matches = matches && m.Matches(s.labels.Get(m.Name))
		}
		if !matches {
			continue
		}
		var samples []chunks.Sample
		for minute := range 4 * 24 * 60 {
			samples = append(samples, sample{time.Duration(minute) * time.Minute, s.first + s.step*float64(minute)})
		}
		found = append(found, storage.NewListSeries(s.labels, samples))
	}
	return &set{all: found, at: -1}
}

func (d database) Close() error { return nil }

func (d database) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (d database) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// set goes through series.
type set struct {
	all []storage.Series
	at  int
}

func (s *set) Next() bool                        { s.at++; return s.at < len(s.all) }
func (s *set) At() storage.Series                { return s.all[s.at] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

// sample is a value at a time since the beginning.
type sample struct {
	at    time.Duration
	value float64
}

func (s sample) T() int64                      { return s.at.Milliseconds() }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }
