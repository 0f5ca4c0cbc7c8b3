package health

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/poolwright/poolwright/schema/finding"
	"pgregory.net/rapid"
)

var spec = finding.Ref{APIVersion: "example.io/v1", Kind: "Spec", Namespace: "a", Name: "b"}

func TestSummary(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	var r Report
	nodes := r.Step("node")
	for range 5 {
		nodes.Count()
	}
	r.Unchanged(noon)
	r.Unchanged(noon.Add(-time.Hour))
	if got := r.Status(spec, "all well"); got.Phase != OK || got.Reason != Healthy || got.Message != "all well" || !got.Since.Equal(noon) {
		t.Errorf("%+v", got)
	}
	for i := range 4 {
		nodes.Add(Problem{
			Phase: Error, Reason: "NodeMissing", What: "missing", Subject: fmt.Sprintf("n%d", i), Node: fmt.Sprintf("n%d", i),
			Since: noon.Add(-time.Duration(i) * time.Minute),
		})
	}
	pools := r.Step("pool")
	pools.Count()
	pools.Add(Problem{Phase: Error, Reason: "PoolOffline", What: "offline", Subject: "p1", Note: "lost", Node: "n1"})
	r.PartOf(finding.Ref{Name: "part-n1"}, "n1", "", "well")
	r.PartOf(finding.Ref{Name: "part-n9"}, "n9", "", "well")
	got := r.Status(spec, "all well")
	want := "4 of 5 nodes missing: n0, n1, n2, and 1 more"
	if got.Message != want || got.Reason != "NodeMissing" || !got.Since.Equal(noon.Add(-3*time.Minute)) {
		t.Errorf("%q since %s, want %q", got.Message, got.Since, want)
	}
	if d := got.Details; len(d) != 2 || d[0].Message != "node n1 missing" || d[0].Phase != Error || d[1].Message != "well" || d[1].Phase != OK {
		t.Errorf("%+v", d)
	}
}

// TestWorstWins holds the rule: the status is the worst of all problems, and of
// several as bad the one of the earliest step, whatever else there is.
func TestWorstWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Report
		var all []Problem
		for s := range rapid.IntRange(1, 4).Draw(t, "steps") {
			step := r.Step("thing")
			for i := range rapid.IntRange(0, 4).Draw(t, "problems") {
				p := Problem{
					Phase: rapid.SampledFrom([]Phase{Progressing, Error}).Draw(t, "phase"), Reason: fmt.Sprintf("R%d", s), Subject: fmt.Sprint(i), What: "bad",
				}
				step.Add(p)
				all = append(all, p)
			}
		}
		got := r.Status(spec, "well")
		if len(all) == 0 {
			if got.Phase != OK {
				t.Fatalf("%+v", got)
			}
			return
		}
		worst := slices.MaxFunc(all, func(a, b Problem) int { return a.Phase.rank() - b.Phase.rank() }) // the first of them
		if got.Phase != worst.Phase || got.Reason != worst.Reason {
			t.Fatalf("%s %s, want %s %s", got.Phase, got.Reason, worst.Phase, worst.Reason)
		}
	})
}

func TestSinceAfter(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	early, late := noon.Add(-time.Hour), noon.Add(time.Hour)
	for _, c := range []struct {
		name   string
		status Status
		before Phase
		reason string
		since  time.Time
		want   time.Time
	}{
		{"first, the facts know", Status{Phase: Error, Reason: "X", Since: early}, "", "", time.Time{}, early},
		{"first, nobody knows", Status{Phase: Error, Reason: "X"}, "", "", time.Time{}, time.Time{}},
		{"changed, the facts know", Status{Phase: Error, Reason: "X", Since: early}, OK, Healthy, noon, early},
		{"changed, nobody knows", Status{Phase: Error, Reason: "X"}, OK, Healthy, noon, late},
		{"the same, nobody knows", Status{Phase: Error, Reason: "X"}, Error, "X", noon, noon},
		{"healed: no older than that", Status{Phase: OK, Reason: Healthy, Since: early}, Error, "X", noon, late},
		{"still well since it healed", Status{Phase: OK, Reason: Healthy, Since: early}, OK, Healthy, noon, noon},
		{"well, and something was made anew", Status{Phase: OK, Reason: Healthy, Since: noon}, OK, Healthy, early, noon},
	} {
		if got := c.status.SinceAfter(c.before, c.reason, c.since, late); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
