// Package forecast says when pools pass a threshold, and when they are full: by the growth that a history of them shows, as an interval.
// It has no clock: dates count from the newest point.
package forecast

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Point is how full something was.
type Point struct {
	Time    time.Time
	Percent float64 // used, of what it holds
	Blur    float64 // how far the percentage may be off, on either side
	Total   int64   // bytes that it holds, 0 if that is not known
}

// Full is where a pool is full, in percent.
const Full = 100

// Interval is when something happens, with a probability of 95 percent: nil is never, or not known.
type Interval struct {
	Earliest *time.Time `json:"earliest"`
	Latest   *time.Time `json:"latest"`
}

// Slope is the growth, in percent points a day, with its interval of 95 percent.
type Slope struct {
	Low  float64 `json:"low"`
	Mid  float64 `json:"mid"`
	High float64 `json:"high"`
}

// Segment is a part of a history without a break.
type Segment struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Points int       `json:"points"`
}

// Trend is what a history shows.
type Trend struct {
	Points   int // of the newest segment
	Segments []Segment
	Used     float64 // at the newest point
	Slope    *Slope  // nil if the history is too short
	Reason   string  // why there is no date, or ""

	newest                     time.Time
	levelLow, level, levelHigh float64 // at the newest point
}

// The least history for a date.
const (
	leastPoints = 5
	leastDays   = 7
)

// NotEnough is the reason of a history that is too short.
const NotEnough = "not enough history"

// What begins a new segment: neighbours differ by so many points, and by so many median steps.
const (
	breakPoints = 10
	breakSteps  = 5
)

// Of finds the trend of a history: points in any order. It uses the newest segment alone.
//
// Source: Sen, Estimates of the Regression Coefficient Based on Kendall's Tau, Journal of the American Statistical Association 63, 1968.
func Of(points []Point) Trend {
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b Point) int { return a.Time.Compare(b.Time) })
	t := Trend{Segments: []Segment{}}
	if len(points) == 0 {
		t.Reason = NotEnough
		return t
	}
	parts := split(points)
	for _, part := range parts {
		t.Segments = append(t.Segments, Segment{part[0].Time, part[len(part)-1].Time, len(part)})
	}
	last := parts[len(parts)-1]
	t.Points, t.newest = len(last), last[len(last)-1].Time
	t.Used = last[len(last)-1].Percent
	t.levelLow, t.level, t.levelHigh = t.Used-last[len(last)-1].Blur, t.Used, t.Used+last[len(last)-1].Blur
	if len(last) < leastPoints || daysBetween(last[0].Time, t.newest) < leastDays {
		t.Reason = NotEnough
		return t
	}
	t.fit(last)
	return t
}

// Grow is the trend with another slope, in percent points a day.
func (t Trend) Grow(slope float64) Trend {
	if t.newest.IsZero() {
		return t
	}
	t.Slope, t.Reason = &Slope{slope, slope, slope}, ""
	return t
}

// split cuts a history where it breaks.
func split(points []Point) [][]Point {
	steps := make([]float64, 0, len(points))
	for i := 1; i < len(points); i++ {
		steps = append(steps, math.Abs(points[i].Percent-points[i-1].Percent))
	}
	usual := median(steps)
	var parts [][]Point
	begin := 0
	for i := 1; i < len(points); i++ {
		step := math.Abs(points[i].Percent - points[i-1].Percent)
		resized := points[i].Total > 0 && points[i-1].Total > 0 && points[i].Total != points[i-1].Total
		if resized || step > breakPoints && step > breakSteps*usual {
			parts = append(parts, points[begin:i])
			begin = i
		}
	}
	return append(parts, points[begin:])
}

// fit finds the slope and the level at the newest point, each with its interval.
func (t *Trend) fit(points []Point) {
	var slopes []float64
	blur, ties := 0.0, 0
	for i := range points {
		blur = max(blur, points[i].Blur)
		for j := i + 1; j < len(points); j++ {
			if days := daysBetween(points[i].Time, points[j].Time); days > 0 {
				slopes = append(slopes, (points[j].Percent-points[i].Percent)/days)
			} else {
				ties++
			}
		}
	}
	if len(slopes) == 0 {
		t.Reason = NotEnough
		return
	}
	slices.Sort(slopes)
	low, high := ranks(len(points), len(slopes))
	// Two points that may each be off by the blur tilt the line over the whole span at most so much.
	tilt := 2 * blur / daysBetween(points[0].Time, t.newest)
	s := &Slope{Low: slopes[low] - tilt, Mid: median(slopes), High: slopes[high] + tilt}
	t.Slope = s
	level := func(slope float64) []float64 {
		at := make([]float64, len(points))
		for i := range points {
			at[i] = points[i].Percent + slope*daysBetween(points[i].Time, t.newest)
		}
		slices.Sort(at)
		return at
	}
	mid := level(s.Mid)
	t.level = median(mid)
	below, above := signRanks(len(mid))
	t.levelLow = min(median(level(s.Low)), mid[below]) - blur
	t.levelHigh = max(median(level(s.High)), mid[above]) + blur
}

// quantile is that of the normal distribution for an interval of 95 percent.
const quantile = 1.959964

// ranks are the places of the bounds of the slope among sorted slopes of pairs.
//
// Source: Gilbert, Statistical Methods for Environmental Pollution Monitoring, section 16.5, 1987.
func ranks(points, pairs int) (low, high int) {
	n := float64(points)
	c := quantile * math.Sqrt(n*(n-1)*(2*n+5)/18)
	low = int(math.Floor((float64(pairs) - c) / 2))
	high = int(math.Ceil((float64(pairs)+c)/2)) + 1
	return min(max(low-1, 0), pairs-1), min(max(high-1, 0), pairs-1)
}

// signRanks are the places of the bounds of the median among sorted values, by the sign test.
//
// Source: Conover, Practical Nonparametric Statistics, section 3.2 (confidence interval for a quantile), 1999.
func signRanks(n int) (low, high int) {
	half := quantile * math.Sqrt(float64(n)) / 2
	low = int(math.Floor(float64(n)/2 - half))
	high = int(math.Ceil(float64(n)/2+half)) - 1
	return min(max(low, 0), n-1), min(max(high, 0), n-1)
}

// Reaches is when the trend reaches a percentage.
func (t *Trend) Reaches(percent float64) Interval {
	if t.Slope == nil {
		return Interval{}
	}
	return Interval{Earliest: t.date(percent, t.levelHigh, t.Slope.High), Latest: t.date(percent, t.levelLow, t.Slope.Low)}
}

// date is when a line reaches a percentage, nil for never.
func (t *Trend) date(percent, level, slope float64) *time.Time {
	switch {
	case level >= percent:
		at := t.newest
		return &at
	case slope <= 0:
		return nil
	}
	days := (percent - level) / slope
	if days > mostDays {
		return nil
	}
	at := t.newest.Add(time.Duration(days * float64(24*time.Hour))).Truncate(time.Second).UTC()
	return &at
}

// mostDays is how far a date may be: a hundred years.
const mostDays = 36525

func daysBetween(a, b time.Time) float64 { return b.Sub(a).Hours() / 24 }

// median is that of values, 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// Newest is the newest point of a day in UTC for each day, in order.
func Newest(points []Point) []Point {
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b Point) int { return a.Time.Compare(b.Time) })
	var kept []Point
	for i, p := range points {
		if i+1 == len(points) || day(points[i+1].Time) != day(p.Time) {
			kept = append(kept, p)
		}
	}
	return kept
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Object is a pool or a spec with its forecast. The names of its fields stay.
type Object struct {
	Kind        string     `json:"kind"`
	Namespace   string     `json:"namespace"`
	Name        string     `json:"name"`
	Points      int        `json:"points"` // of the newest segment
	Segments    []Segment  `json:"segments"`
	Used        *float64   `json:"used"` // percent; null without any point
	Threshold   float64    `json:"threshold"`
	Slope       *Slope     `json:"slope"` // null without a date
	ThresholdAt Interval   `json:"threshold_at"`
	FullAt      Interval   `json:"full_at"`
	Expansion   *Expansion `json:"expansion"` // null for what does not grow by itself
	Reason      string     `json:"reason"`    // why there is no date, or ""
}

// Expansion is how a pool grows by itself.
type Expansion struct {
	Adds   int64    `json:"adds"`  // bytes each time
	Times  int      `json:"times"` // that free disks allow
	EndsAt Interval `json:"ends_at"`
}

// Set fills in what a trend shows.
func (o *Object) Set(t Trend) {
	o.Points, o.Segments, o.Slope, o.Reason = t.Points, t.Segments, t.Slope, t.Reason
	if !t.newest.IsZero() {
		used := t.Used
		o.Used = &used
	}
	o.ThresholdAt, o.FullAt = t.Reaches(o.Threshold), t.Reaches(Full)
	if o.Reason == "" && o.FullAt.Earliest == nil {
		o.Reason = "not growing"
	}
}

// Compare orders objects by kind, namespace and name.
func (o *Object) Compare(other *Object) int {
	return cmp.Or(cmp.Compare(o.Kind, other.Kind), cmp.Compare(o.Namespace, other.Namespace), cmp.Compare(o.Name, other.Name))
}

// String names the object.
func (o *Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return fmt.Sprintf("%s %s/%s", o.Kind, o.Namespace, o.Name)
}
