package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/schema/finding"
)

// TestWatchOnScreen holds that what was said is under the table when the screen was
// cleared, the last of it.
func TestWatchOnScreen(t *testing.T) {
	var screen bytes.Buffer
	p := newStatusPrinter(streams{out: &screen, err: &screen}, asText, "")
	p.screen, p.talk.cleared = true, true
	fmt.Fprintln(p.err, "long ago")
	for i := range 4 {
		fmt.Fprintln(p.err, "note", i)
	}
	fmt.Fprintln(p.err, "the watch was cut")
	statuses := []health.Status{{Spec: finding.Ref{Kind: "Spec", Name: "a"}, Phase: health.OK, Reason: health.Healthy}}
	if err := p.print(statuses); err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(screen.String(), "\x1b[H\x1b[2J")
	if table, said, _ := strings.Cut(shown, "\n\n"); !strings.HasPrefix(table, "SPEC ") || !strings.HasSuffix(said, "the watch was cut\n") || strings.Count(said, "\n") != 5 {
		t.Errorf("shown\n%s", shown)
	}
}

// TestWatchAsLog holds that each line can be dated.
func TestWatchAsLog(t *testing.T) {
	var out, talk bytes.Buffer
	p := newStatusPrinter(streams{out: &out, err: &talk}, asText, "nothing")
	spec := finding.Ref{Kind: "Spec", Name: "a"}
	for _, statuses := range [][]health.Status{{{Spec: spec, Phase: health.OK}}, {{Spec: spec, Phase: health.OK}}, {{Spec: spec, Phase: health.Error}}, nil} {
		if err := p.print(statuses); err != nil {
			t.Fatal(err)
		}
	}
	const stamp = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  `
	for text, want := range map[string]string{
		out.String():  `^TIME {18}SPEC .*\n` + stamp + `Spec a .* OK .*\n` + stamp + `Spec a .* ERROR .*\n$`,
		talk.String(): `^` + stamp + `Spec a is gone\n` + stamp + `nothing\n$`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("%q, want %s", text, want)
		}
	}
}
