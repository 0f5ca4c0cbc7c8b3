package keeper

import (
	"testing"
	"time"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/schema/finding"
)

// TestDebounce: a judgement is due a fixed time after the first change, however many follow.
func TestDebounce(t *testing.T) {
	start := time.Now()
	var a agenda
	if a.due(start, 0) {
		t.Error("due although nothing changed")
	}
	for second := range 30 {
		a.note(start.Add(time.Duration(second) * time.Second))
		if a.due(start.Add(time.Duration(second)*time.Second), 30*time.Second) {
			t.Errorf("due after %ds", second)
		}
	}
	if !a.due(start.Add(30*time.Second), 30*time.Second) {
		t.Error("not due 30s after the first change")
	}
	a.begun()
	if a.due(start.Add(time.Hour), 0) {
		t.Error("due again although nothing changed since")
	}
	a.atOnce = true
	if !a.due(start, time.Hour) {
		t.Error("a person waits, and it is not due")
	}
}

// TestPauses grow, up to five minutes, and what changes does not shorten them.
func TestPauses(t *testing.T) {
	now := time.Now()
	var a agenda
	var pauses []time.Duration
	for range 9 {
		a.failed(now)
		a.note(now)
		pauses = append(pauses, a.next(0).Sub(now))
	}
	want := []time.Duration{5, 10, 20, 40, 80, 160, 300, 300, 300}
	for i, pause := range pauses {
		if pause != want[i]*time.Second {
			t.Errorf("pause %d is %v, want %v", i, pause, want[i]*time.Second)
		}
	}
	a.begun()
	a.settled()
	a.failed(now)
	if got := a.next(0).Sub(now); got != firstPause {
		t.Errorf("after a success the pause is %v", got)
	}
}

// TestLater: what is due later is due then, and not before the next look at the branch.
func TestLater(t *testing.T) {
	now := time.Now()
	a := agenda{poll: now.Add(time.Minute), later: now.Add(time.Hour)}
	if got := a.next(0); got != a.poll {
		t.Errorf("next at %v", got)
	}
	if a.due(now.Add(time.Minute), 0) || !a.due(now.Add(time.Hour), 0) {
		t.Error("not due in an hour")
	}
}

// TestFlaps: the third change of one field within the window is one too many.
func TestFlaps(t *testing.T) {
	now := time.Now()
	entry := func(ago time.Duration, fields ...string) hydrations.Entry {
		return hydrations.Entry{Time: now.Add(-ago), Changed: fields}
	}
	for name, c := range map[string]struct {
		history []hydrations.Entry
		want    string
	}{
		"none":            {nil, ""},
		"second":          {[]hydrations.Entry{entry(time.Minute, "a")}, ""},
		"third":           {[]hydrations.Entry{entry(time.Minute, "a"), entry(time.Hour-time.Second, "a")}, "a"},
		"too long ago":    {[]hydrations.Entry{entry(time.Minute, "a"), entry(time.Hour, "a")}, ""},
		"other fields":    {[]hydrations.Entry{entry(time.Minute, "b"), entry(time.Minute, "b", "a")}, ""},
		"of a person too": {[]hydrations.Entry{entry(time.Minute), entry(time.Minute), entry(time.Minute, "a")}, ""},
	} {
		if got := flaps(c.history, []field{{name: "a"}, {name: "c"}}, now, time.Hour); got["a"] != (c.want == "a") || got["c"] {
			t.Errorf("%s: got %v, want %q", name, got, c.want)
		}
	}
	var history []hydrations.Entry
	for range 20 {
		history = remember(history, entry(0, "a"))
	}
	if len(history) != mostHistory {
		t.Errorf("remembers %d publications", len(history))
	}
}

// TestAddedFieldsDoNotFlap: renders in steps add.
func TestAddedFieldsDoNotFlap(t *testing.T) {
	pool := finding.Ref{Kind: "CStorPoolCluster", Namespace: "openebs", Name: "prod"}
	gone := finding.Ref{Kind: "Volume", Name: "logs"}
	got := names(changedFields([]*change.Change{
		{Ref: pool, Action: change.Modify, Fields: []change.Field{{Path: "spec.pools[0]", Action: change.Add}, {Path: "spec.a", Action: change.Modify}, {Path: "spec.b", Action: change.Remove}}},
		{Ref: finding.Ref{Kind: "Volume", Name: "new"}, Action: change.Create},
		{Ref: gone, Action: change.Remove},
	}))
	want := []string{pool.String() + ": spec.a", pool.String() + ": spec.b", gone.String()}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestConflicts: of two Hydrations with one target the younger gives way, however the URL is written.
func TestConflicts(t *testing.T) {
	made := time.Now()
	all := map[hydrations.Key]*hydrations.Hydration{}
	add := func(name, url, branch, dir string, age time.Duration) {
		h := &hydrations.Hydration{}
		h.Metadata.Namespace, h.Metadata.Name, h.Metadata.CreationTimestamp = "storage", name, made.Add(-age)
		h.Spec.Source.URL, h.Spec.Source.Branch, h.Spec.Source.Path = url, branch, dir
		all[h.Key()] = h
	}
	add("a", "https://git.example.com/team/storage.git", "main", "clusters/prod", time.Hour)
	add("b", "https://GIT.example.com:443/team/storage/", "main", "./clusters/prod/", time.Minute)
	add("c", "https://git.example.com/team/storage.git", "main", "clusters/test", 0)
	add("d", "https://git.example.com/team/storage.git", "next", "clusters/prod", 0)
	add("e", "https://git.example.com/team/storage.git", "main", "clusters/prod", time.Hour) // as old as a
	got := rivals(all)
	key := func(name string) hydrations.Key { return hydrations.Key{Namespace: "storage", Name: name} }
	if len(got) != 2 || got[key("b")].Key != key("a") || got[key("e")].Key != key("a") {
		t.Errorf("got %v", got)
	}
}

// TestConditions hold what tools wait for, and change their time only with their status.
func TestConditions(t *testing.T) {
	early, late := time.Unix(100, 0).UTC(), time.Unix(200, 0).UTC()
	status := hydrations.Status{Conditions: conditionsOf(&hydrations.Status{}, say(upToDate, "fine"), 1, early)}
	for _, c := range []struct {
		reason                      reason
		ready, reconciling, stalled string
		since                       time.Time
	}{
		{published, "True", "False", "", early},
		{contended, "False", "True", "", late},
		{suspended, "False", "False", "", late},
		{invalid, "False", "False", "True", late},
		{"Protected", "False", "False", "True", late},
		{"SourceUnavailable", "False", "True", "", late},
		{"FactsStale", "False", "True", "", late},
	} {
		next := hydrations.Status{Conditions: conditionsOf(&status, say(c.reason, "text"), 2, late)}
		if next.Condition("Ready").Status != c.ready || next.Condition("Reconciling").Status != c.reconciling || next.Condition("Stalled").Status != c.stalled {
			t.Errorf("%s: %+v", c.reason, next.Conditions)
		}
		if got := next.Condition("Ready").LastTransitionTime; !got.Equal(c.since) {
			t.Errorf("%s: since %v, want %v", c.reason, got, c.since)
		}
	}
}
