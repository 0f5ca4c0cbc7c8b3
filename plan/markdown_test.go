package plan

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// A comment has a limit, and what matters most stays below it.
func TestMarkdownLimit(t *testing.T) {
	for _, n := range []int{1, 100, 5000} {
		p := Plan{Against: "rendered"}
		for i := range n {
			o := krm.Make("v1", "ConfigMap", "a", fmt.Sprintf("object-%05d", i), document.F("data", document.Text(strings.Repeat("é`", i%500))))
			c := &change.Change{Ref: o.Ref, Action: change.Create, New: o}
			risk := change.Safe
			if i == n-1 {
				risk = change.Destructive
			}
			c.Judge(risk, "", "because")
			p.Changes = append(p.Changes, c)
			if i%2 == 0 {
				p.Findings = append(p.Findings, finding.Finding{Severity: finding.Error, Object: o.Ref, Message: "refused " + strings.Repeat("|", i%30)})
			}
		}
		change.Sort(p.Changes)
		text := p.Markdown()
		last := fmt.Sprintf("object-%05d", n-1)
		switch {
		case len(text) > maxComment || utf8.RuneCountInString(text) >= 65_536:
			t.Errorf("%d objects: %d bytes", n, len(text))
		case !strings.Contains(text, "| **destructive** | create | `ConfigMap a/"+last+"` | because |\n"):
			t.Errorf("%d objects: the destructive one is not in the table", n)
		case !strings.Contains(text, "<details><summary>destructive: create <code>ConfigMap a/"+last):
			t.Errorf("%d objects: the destructive one has no diff", n)
		case strings.Contains(text, "left out") != (n == 5000):
			t.Errorf("%d objects: what is left out", n)
		case strings.Count(text, "<details>") != strings.Count(text, "</details>"):
			t.Errorf("%d objects: cut in the middle", n)
		}
		p.Most = 20_000
		if text := p.Markdown(); len(text) > p.Most || !strings.Contains(text, "ConfigMap a/"+last+"` | because |\n") {
			t.Errorf("%d objects: %d bytes of %d", n, len(text), p.Most)
		}
	}
}

// A diff that is too long is cut between two lines.
func TestMarkdownLongDiff(t *testing.T) {
	o := krm.Make("v1", "ConfigMap", "a", "long", document.F("data", document.Text(strings.Repeat("line\n", 10_000))))
	c := &change.Change{Ref: o.Ref, Action: change.Create, New: o}
	c.Judge(change.Safe, "", "because")
	p := Plan{Against: "rendered", Changes: []*change.Change{c}}
	text := p.Markdown()
	if len(text) > maxComment || !strings.HasSuffix(text, "\n+   line\n```\n\n8233 lines more left out.\n\n</details>\n") {
		t.Errorf("%d bytes, ending in %q", len(text), text[len(text)-100:])
	}
}

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"a|b":        "a&#124;b",
		"`x` <b>":    "&#96;x&#96; &#60;b&#62;",
		"two\nlines": "two&#92;nlines",
		"@all":       "@\u200ball",
		"a-b/c 1.2":  "a-b/c 1.2",
	} {
		if got := escape(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"Node a/@all":  "`Node a/@all`",
		"a|b":          "`a\\|b`",
		"a`b``":        "``` a`b`` ```",
		"#1 !2 <b> &c": "`#1 !2 <b> &c`",
		"two\nlines":   "`two\\nlines`",
	} {
		if got := codeSpan(text); got != want {
			t.Errorf("%q: %s, not %s", text, got, want)
		}
	}
	for text, want := range map[string]string{"": "```", "``": "```", "a ``` b": "````", "`````\n``": "``````"} {
		if got := fenceFor(text); got != want {
			t.Errorf("%q: %s, not %s", text, got, want)
		}
	}
}

// TestMarkdownShowsNamesAsTheyAre: nothing in a name is markup, a new row, or unseen.
func TestMarkdownShowsNamesAsTheyAre(t *testing.T) {
	hostile := "a\n| b | `x` <b> @all \x1b[2J\u202e"
	p := Plan{Against: hostile, Changes: []*change.Change{{
		Ref: finding.Ref{Kind: "PersistentVolumeClaim", Name: hostile}, Action: change.Modify, Risk: change.Safe,
		Fields:  []change.Field{{Path: hostile, Action: change.Remove, Old: new(document.Text(hostile))}},
		Reasons: []change.Reason{{Risk: change.Safe, Text: hostile}},
	}}, Findings: []finding.Finding{{Severity: finding.Warning, Message: hostile}}}
	text := p.Markdown()
	if !terminal.Visible([]byte(strings.ReplaceAll(text, "\u200b", ""))) { // what keeps @all from being called
		t.Errorf("something is not visible in %q", text)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| b") {
			t.Errorf("a row of its own: %s", line)
		}
	}
}
