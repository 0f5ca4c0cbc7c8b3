package tutorial

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tutorial.md")
	text := strings.ReplaceAll(`# A tutorial

'''sh
mkdir pools && cd pools
export SIZE=3
echo one; echo two; echo three >&2
'''

'''output
one
...
three
'''

<!-- meanwhile: reconcile -->

'''text
exit 1
'''

'''sh exit=2
test "$(basename "$PWD") $SIZE" = "pools 3"
test -f reconciled
(exit 2)
'''
`, "'''", "```")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	Run(t, file, Options{Meanwhile: map[string]func(Shell) error{
		"reconcile": func(s Shell) error { return os.WriteFile(filepath.Join(s.Dir, "reconciled"), nil, 0o666) },
	}})
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"```sh\ntrue\n":                   "line 1: the fence has no end",
		"text\n```sh exit=x\n```\n":       `line 2: "exit=x" is not exit=CODE`,
		"```output\n```\n":                "line 1: output of which commands?",
		"<!-- meanwhile reconcile -->\n":  "line 1: want <!-- meanwhile: NAME -->",
		"<!-- meanwhile: Reconcile -->\n": "line 1: want <!-- meanwhile: NAME -->",
	} {
		if _, err := parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v instead of %s", text, err, want)
		}
	}
}

func TestCompleteErrors(t *testing.T) {
	steps := []step{{line: 3, meanwhile: "reconcile"}}
	if err := complete(steps, nil); err == nil {
		t.Error("an unknown name passes")
	}
	if err := complete(nil, map[string]func(Shell) error{"reconcile": nil}); err == nil {
		t.Error("an unused function passes")
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		match     bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\n", "a\nb\n", false},
		{"b\n", "a\nb\n", false},
		{"a\n...\n", "a\nb\nc\n", true},
		{"a\n...\n", "a\n", true},
		{"...\nc\n", "a\nb\nc\n", true},
		{"a\n...\nc\n", "a\nb\nd\n", false},
		{"a.c\n", "abc\n", false},
		{"a...c\n", "a 3s c\n", true},
		{"a...c\n", "a\nc\n", false},
	} {
		if got := matches(c.want, c.got); got != c.match {
			t.Errorf("matches(%q, %q) = %t", c.want, c.got, got)
		}
	}
}

func TestExitOfABlock(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	s := Shell{Dir: t.TempDir(), Env: os.Environ()}
	out, code, err := s.run(t.Context(), "echo before\nfalse\necho after\n", state)
	if err != nil || code != 1 || out != "before\n" {
		t.Errorf("%q, %d, %v", out, code, err)
	}
}

// TestLeftBehind holds that a block ends although a child of it holds what it prints to.
func TestLeftBehind(t *testing.T) {
	s := Shell{Dir: t.TempDir(), Env: os.Environ()}
	out, code, err := s.run(t.Context(), "echo before\nsleep 20 &\n", filepath.Join(t.TempDir(), "state"))
	if err != nil || code != 0 || out != "before\n" {
		t.Errorf("%q, %d, %v", out, code, err)
	}
}
