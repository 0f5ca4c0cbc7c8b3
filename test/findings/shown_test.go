// Package findings_test holds that what the product says is shown by a test, so that
// somebody has read it as a user would.
package findings_test

import (
	"regexp"
	"strings"
	"testing"
)

// unshown are the findings that no test shows, and why none can.
var unshown = map[string]string{
	"would not be rendered by %s, which was made of it; keep it as a manifest of your own":    "only where a converter takes over what its spec does not render: then nothing is written",
	"cannot be completed: %v; this is a mistake in Poolwright, please report it":              "only where a definition and the walk over it disagree: then nothing is rendered",
	"the pool on node %s is no longer wanted, and would be lost; annotate the config with %s": "only where what chooses the nodes has dropped one with a pool and without consent: then nothing is rendered",
}

// TestShown: every wording of a finding is in what a run printed (evidence_test.go).
func TestShown(t *testing.T) {
	lines := evidence(t)
	all := wordings(t)
	if len(all) < 500 {
		t.Fatalf("found only %d wordings", len(all))
	}
	exceptions := map[string]bool{}
	for _, w := range all {
		_, exception := unshown[w.format]
		exceptions[w.format] = exception
		switch shown := isShown(w.format, lines); {
		case !shown && !exception:
			t.Errorf("no run shows %s", w)
		case shown && exception:
			t.Errorf("a run shows %s: take it out of the list", w)
		}
	}
	for format := range unshown {
		if !exceptions[format] {
			t.Errorf("nothing says %q: take it out of the list", format)
		}
	}
}

var verb = regexp.MustCompile(`%[-+# 0]*(\[\d+\])?[\d.]*[a-zA-Z]`)

// isShown reports whether a line has all that a format has between its verbs, in its order.
func isShown(format string, lines []string) bool {
	const percent = "\x00"
	parts := verb.Split(strings.NewReplacer(`\`, "", "%%", percent).Replace(format), -1)
	longest := ""
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], percent, "%")
		if len(parts[i]) > len(longest) {
			longest = parts[i]
		}
	}
	for _, line := range lines {
		if strings.Contains(line, longest) && hasAll(line, parts) {
			return true
		}
	}
	return false
}

func hasAll(line string, parts []string) bool {
	for _, part := range parts {
		_, after, found := strings.Cut(line, part)
		if !found {
			return false
		}
		line = after
	}
	return true
}

// TestIsShown: a part of what is said, or its parts in another order, do not show it.
func TestIsShown(t *testing.T) {
	lines := []string{
		`warning: the pool on node n1 is 85% full, and cannot grow; add disks`,
		`stderr 'error: .* the pool on node n2 is lost'`,
	}
	for format, want := range map[string]bool{
		"the pool on node %s is %.0f%% full, and %v; add disks": true,
		"the pool on node %s is %d%% empty":                     false,
		"the pool on node %s is lost":                           true,
		"the pool on node %s is lost; restore it":               false,
		"full, the pool on node %s":                             false,
	} {
		if got := isShown(format, lines); got != want {
			t.Errorf("isShown(%q) is %t", format, got)
		}
	}
}
