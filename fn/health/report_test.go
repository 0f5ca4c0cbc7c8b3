package health

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/schema/finding"
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
	want := "4 of 5 nodes missing: n0, n1, n2, and 1 more; and 1 problem more"
	if got.Message != want || got.Reason != "NodeMissing" || !got.Since.Equal(noon.Add(-3*time.Minute)) {
		t.Errorf("%q since %s, want %q", got.Message, got.Since, want)
	}
	if d := got.Details; len(d) != 2 || d[0].Message != "node n1 missing" || d[0].Phase != Error || d[1].Message != "well" || d[1].Phase != OK {
		t.Errorf("%+v", d)
	}
}

// TestSummaryOfLike holds that a summary counts what is like the worst problem, and
// nothing else.
func TestSummaryOfLike(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	var r Report
	pools := r.Step("pool")
	pools.Count()
	pools.Add(Problem{Phase: Progressing, Reason: "PoolPending", What: "not ready", Subject: "p0", Since: noon.Add(-4 * time.Hour)})
	pools.Add(Problem{Phase: Error, Reason: "PoolOffline", What: "offline", Subject: "p1", Since: noon})
	pools.Add(Problem{Phase: Error, Reason: "PoolDegraded", What: "degraded", Subject: "p2", Since: noon.Add(-3 * time.Hour)})
	pools.Add(Problem{Phase: Progressing, Reason: "PoolOffline", What: "offline for a while", Subject: "p3", Since: noon.Add(-2 * time.Hour)})
	pools.Add(Problem{Phase: Error, Reason: "PoolOffline", Message: "of its own", Since: noon.Add(-time.Hour)})
	if got := r.Status(spec, ""); got.Message != "1 of 1 pool offline: p1; and 1 problem more" || !got.Since.Equal(noon) {
		t.Errorf("%q since %s", got.Message, got.Since)
	}
	// There may be more than are looked for.
	pools.Add(Problem{Phase: Error, Reason: "PoolOffline", What: "offline", Subject: "p4", Node: "n4", Note: "lost"})
	if got := r.Status(spec, ""); got.Message != "2 of 2 pools offline: p1, p4 on node n4 (lost); and 1 problem more" {
		t.Errorf("%q", got.Message)
	}
}

// TestOutageFirst holds that what is down is reported before what is only at risk, and
// that a thing without a name is named by its node.
func TestOutageFirst(t *testing.T) {
	var r Report
	disks := r.Step("disk")
	disks.Add(Problem{Phase: Error, Reason: "DiskMissing", What: "missing", Subject: "d1", Node: "n1"})
	disks.Add(Problem{Phase: Error, Reason: "DiskMissing", What: "missing", Subject: "d2", Node: "n1"})
	disks.Add(Problem{Phase: Error, Reason: "DiskMoved", What: "moved", Subject: "d3", Node: "n1"})
	disks.Add(Problem{Phase: Progressing, Outage: true, Reason: "DiskUnknown", What: "unknown", Subject: "d4", Node: "n1"})
	pools := r.Step("pool")
	pools.Add(Problem{Phase: Error, Outage: true, Reason: "PoolMissing", What: "missing", Node: "n2"})
	r.PartOf(finding.Ref{Name: "n2"}, "n2", "", "well")
	got := r.Status(spec, "")
	if want := "1 of 1 pool missing: on node n2; and 2 problems more"; got.Message != want || got.Reason != "PoolMissing" {
		t.Errorf("%s %q, want %q", got.Reason, got.Message, want)
	}
	if got.Details[0].Message != "pool on node n2 missing" {
		t.Errorf("%+v", got.Details[0])
	}
}

// TestDetails holds which problems a part gets: what is amiss with its node
// or with itself, not with another disk there.
func TestDetails(t *testing.T) {
	var r Report
	r.Step("node").Add(Problem{Phase: Progressing, Reason: "NodeNotReady", What: "not ready", Subject: "n2", Node: "n2"})
	claims := r.Step("claim")
	claims.Add(Problem{Phase: Error, Reason: "ClaimLost", What: "lost", Subject: "n1-1", Node: "n1", Storage: "n1-1"})
	claims.Add(Problem{Phase: Progressing, Reason: "ClaimPending", Message: "nowhere"})
	r.PartOf(finding.Ref{Name: "n1"}, "n1", "", "well")
	r.PartOf(finding.Ref{Name: "n1-0"}, "n1", "n1-0", "well")
	r.PartOf(finding.Ref{Name: "n1-1"}, "n1", "n1-1", "well")
	r.PartOf(finding.Ref{Name: "n2-0"}, "n2", "n2-0", "well")
	got := ""
	for _, d := range r.Status(spec, "").Details {
		got += fmt.Sprintln(d.Object.Name, d.Node, d.Phase, d.Reason, d.Message)
	}
	want := `n1 n1 ERROR ClaimLost claim n1-1 lost
n1-0 n1 OK Healthy well
n1-1 n1 ERROR ClaimLost claim n1-1 lost
n2-0 n2 PROGRESSING NodeNotReady node n2 not ready
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestFirstError(t *testing.T) {
	warning := finding.Finding{Severity: finding.Warning, Field: "spec.a", Message: "odd"}
	first := finding.Finding{Severity: finding.Error, Field: "spec.b", Message: "wrong"}
	last := finding.Finding{Severity: finding.Error, Field: "spec.c", Message: "worse"}
	for want, fs := range map[string][]finding.Finding{
		"":                                 {warning},
		"spec.b: wrong":                    {warning, first, warning},
		"spec.b: wrong (and 1 more error)": {last, warning, first},
	} {
		if got := FirstError(fs); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestWorstWins holds the rule: the status is the worst of all problems, an outage
// before a risk, and of several as bad the one of the earliest step, whatever else
// there is.
func TestWorstWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Report
		var all []Problem
		for s := range rapid.IntRange(1, 4).Draw(t, "steps") {
			step := r.Step("thing")
			for i := range rapid.IntRange(0, 4).Draw(t, "problems") {
				p := Problem{
					Phase: rapid.SampledFrom([]Phase{Progressing, Error}).Draw(t, "phase"), Reason: fmt.Sprintf("R%d", s), Subject: fmt.Sprint(i), What: "bad",
					Outage: rapid.Bool().Draw(t, "outage"),
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
		rank := func(p Problem) int {
			if p.Outage {
				return 2*p.Phase.rank() + 1
			}
			return 2 * p.Phase.rank()
		}
		worst := slices.MaxFunc(all, func(a, b Problem) int { return rank(a) - rank(b) }) // the first of them
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
