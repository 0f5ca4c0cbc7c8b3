package forecast

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestIntervals: of 200 histories that grow by a line, with noise, and kept in steps of five percent or in bytes, at least 180 have the true
// dates inside their intervals.
func TestIntervals(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps bool
		noise float64
	}{{"bytes", false, 0.5}, {"noisy bytes", false, 2}, {"steps of five percent", true, 0.5}, {"noisy steps", true, 2}} {
		inside, open := 0, 0
		for seed := range uint64(200) {
			random := rand.New(rand.NewPCG(seed, 7))
			begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
			slope, level := 0.05+0.4*random.Float64(), 5+30*random.Float64()
			var points []Point
			last := 0.0
			for d := range 14 + random.IntN(100) {
				if random.IntN(5) == 0 {
					continue
				}
				p := Point{Time: begin.AddDate(0, 0, d), Percent: level + slope*float64(d) + c.noise*random.NormFloat64()}
				if c.steps {
					p.Percent, p.Blur = math.Floor(p.Percent/5)*5+2.5, 2.5
				}
				points = append(points, p)
				last = float64(d)
			}
			trend := Of(points)
			if trend.Slope == nil {
				inside++
				continue
			}
			if level+slope*last >= 80 {
				inside++
				continue
			}
			truth := begin.Add(time.Duration((80 - level) / slope * 24 * float64(time.Hour)))
			at := trend.Reaches(80)
			if at.Latest == nil {
				open++
			}
			if at.Earliest != nil && !at.Earliest.After(truth) && (at.Latest == nil || !at.Latest.Before(truth)) {
				inside++
			}
		}
		t.Logf("%s: %d of 200 inside, %d of them without a latest date", c.name, inside, open)
		if inside < 180 {
			t.Errorf("%s: only %d of 200 true dates are inside", c.name, inside)
		}
		if open > 150 {
			t.Errorf("%s: %d of 200 intervals have no end", c.name, open)
		}
	}
}

// TestSegments: a jump and another size begin a new segment, and only the newest counts.
func TestSegments(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(d int, percent float64, total int64) Point {
		return Point{Time: begin.AddDate(0, 0, d), Percent: percent, Total: total}
	}
	var points []Point
	for d := range 20 {
		points = append(points, at(d, 50+float64(d), 100))
	}
	for d := range 10 {
		points = append(points, at(20+d, 35+float64(d)/2, 200))
	}
	trend := Of(points)
	if len(trend.Segments) != 2 || trend.Points != 10 || math.Abs(trend.Slope.Mid-0.5) > 1e-9 {
		t.Errorf("%+v", trend)
	}
	if full := trend.Reaches(Full); full.Earliest == nil || full.Latest == nil || full.Earliest.Before(begin.AddDate(0, 0, 29)) {
		t.Errorf("full %v", full)
	}
	short := Of(points[:4])
	if short.Reason != NotEnough || short.Slope != nil || short.Reaches(Full) != (Interval{}) {
		t.Errorf("short %+v", short)
	}
	if grown := short.Grow(1); grown.Reason != "" || grown.Reaches(Full).Earliest.Sub(begin) != 50*24*time.Hour {
		t.Errorf("grown %v", grown.Reaches(Full).Earliest)
	}
	var o Object
	o.Threshold = 80
	flat := []Point{at(0, 90, 0), at(2, 90, 0), at(4, 90, 0), at(6, 90, 0), at(8, 90, 0)}
	if o.Set(Of(flat)); o.Reason != "not growing" || !o.ThresholdAt.Latest.Equal(begin.AddDate(0, 0, 8)) {
		t.Errorf("flat %+v", o)
	}
}
