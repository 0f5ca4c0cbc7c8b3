package terminal_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/terminal"
)

type named string

type ref struct{ name string }

func (r ref) String() string { return "Node " + r.name }

func TestPrintfEscapesEveryArgument(t *testing.T) {
	const hostile = "a\n\x1b[2J\tb"
	const shown = `a\n\x1b[2J\tb`
	for _, c := range []struct {
		format string
		arg    any
		want   string
	}{
		{"%s\t|\n", hostile, shown + "\t|\n"},
		{"%s", named(hostile), shown},
		{"%s", ref{hostile}, "Node " + shown},
		{"%v", &ref{hostile}, "Node " + shown},
		{"%v", errors.New(hostile), shown},
		{"%v", []string{hostile}, "[" + shown + "]"},
		{"%q", hostile, `"` + shown + `"`},
		{"%-6s|", "ab", "ab    |"},
		{"%d", 7, "7"},
		{"%s", `back\slash`, `back\slash`},
	} {
		var b strings.Builder
		if _, err := terminal.Printf(&b, c.format, c.arg); err != nil || b.String() != c.want {
			t.Errorf("%q of %v: %q, %v, want %q", c.format, c.arg, b.String(), err, c.want)
		}
	}
	var b strings.Builder
	if terminal.Println(&b, "x:", errors.New(hostile)); b.String() != "x: "+shown+"\n" {
		t.Errorf("a line of its own: %q", b.String())
	}
}

// TestJSONMeansTheSame: machines get the names as they are, and a person who looks at
// the text sees all of them.
func TestJSONMeansTheSame(t *testing.T) {
	for _, name := range []string{"plain", "\u202egnp.exe", "del \x7f c1 \u009b zero width \u200b", "tag \U000e0041", "ü€😀", "esc \x1b[2J", "\ufffd"} {
		text, err := json.MarshalIndent(map[string]string{"name": name}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		escaped := terminal.JSON(text)
		if !terminal.Visible(escaped) {
			t.Errorf("%q: something is not visible in %q", name, escaped)
		}
		var back map[string]string
		if err := json.Unmarshal(escaped, &back); err != nil || back["name"] != name {
			t.Errorf("%q became %q, %v", name, back["name"], err)
		}
	}
}
