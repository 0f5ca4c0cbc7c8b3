package document

import (
	"encoding/json"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
	sigsyaml "sigs.k8s.io/yaml"
)

// onFastRoad fails unless the reader reads a document without help, as yaml.v3
// does.
func onFastRoad(t rapid.TB, text string) {
	t.Helper()
	src := &Source{Data: []byte(text)}
	marks, _, err := checkText(src)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	parts := splitter{text: text, pos: bomLen(text), marks: marks}
	p, _, err := parts.next(src)
	if err != nil || p.directives {
		t.Fatalf("%v in\n%s", err, text)
	}
	r := reader{text: text[:p.end]}
	fast, _, ok := r.document(p)
	if !ok {
		t.Fatalf("the fast road stops at %v: %s\n%s", src.Position(int32(r.trouble.off)), r.trouble.msg, text)
	}
	slow, _, _, err := fallback(src, text, p, trouble{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if diff := differ(&fast, &slow, ""); diff != "" {
		t.Fatalf("%s in\n%s", diff, text)
	}
}

// TestFastRoad holds that what tools and people write needs no fallback.
func TestFastRoad(t *testing.T) {
	for _, text := range []string{
		string(inventory(2, 3)),
		"# spec\napiVersion: v1 # x\n\nkind: A\nspec:\n  # c\n  list:\n    - a\n    # d\n    - b: c\n\n      e: 'f'\n  empty:\n  flow: {a: [b, \"c\"], d: null}\n",
		"a: word word word\n  word word\nb: 'x\n  y'\nc: \"x\\\n  \\ y\"\n",
		"a: |\n  x\n\n    y\nb: >-\n  x\n  y\nc: |2-\n    x\n- d\n"[:len("a: |\n  x\n\n    y\nb: >-\n  x\n  y\nc: |2-\n    x\n")],
		"- - a\n  - b\n-\n  - c\n- \n  d: e\n",
		"a:\r\n- b\r\n\r\n# c\r\n- d: |\r\n    x\r\n",
		"{\n  \"a\": {\"b\": [1, true, null, \"x\\n\"]},\n\t\"c\": []\n}\n",
		"--- {\"a\": 1}\n",
		"args: [--flag, -x, a:b, http://c/d]\ncmd: -c\nname: a#b\ntime: 12:30:00\nk: >\n\n  x\n",
	} {
		onFastRoad(t, text)
	}
}

// TestOtherEncoders holds the same for any tree that other encoders
// write: sigs.k8s.io/yaml (kubectl, kustomize) and yaml.v3 (kpt).
func TestOtherEncoders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := Object(F("a", anyNode(plainText(), 4).Draw(t, "a")), F("b", anyNode(plainText(), 2).Draw(t, "b")))
		var value any
		if err := json.Unmarshal(AppendJSON(nil, &n), &value); err != nil {
			t.Fatal(err)
		}
		var compact strings.Builder
		e := yaml.NewEncoder(&compact)
		e.SetIndent(2)
		e.CompactSeqIndent()
		if err := e.Encode(value); err != nil {
			t.Fatal(err)
		}
		wide, err := yaml.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		kubectl, err := sigsyaml.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{compact.String(), string(wide), string(kubectl)} {
			if !strings.Contains(text, "? ") {
				onFastRoad(t, text)
			}
		}
	})
}

// plainText leaves out what those encoders themselves cannot write.
func plainText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching("[a-zA-Z0-9 :#_./+~=<>|&*!%@,{}\\[\\]'\"?\\\\é-]{0,8}"),
		rapid.StringMatching("([a-z#:-][a-z #:-]{0,5}\n{0,2}){0,4}"),
		rapid.StringMatching("([a-zé'\":]{1,12} {0,2}){0,30}"),
	)
}

// TestBothRoads builds documents of the pieces that YAML is made of, and holds
// that the reader, where it accepts them, agrees with yaml.v3.
func TestBothRoads(t *testing.T) {
	pick := func(t *rapid.T, what string, pieces ...string) string {
		return rapid.SampledFrom(pieces).Draw(t, what)
	}
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		end := pick(t, "break", "\n", "\n", "\n", "\r\n")
		for i := range rapid.IntRange(1, 9).Draw(t, "lines") {
			text.WriteString(pick(t, "indent", "", "", "  ", "  ", "    ", " ", "      "))
			text.WriteString(pick(t, "dashes", "", "", "- ", "- ", "- - ", "-  ", "-"))
			text.WriteString(pick(t, "key", "", "k", "k", "a b", "'q'", "\"q\"", "null", "1", ":k"))
			if text.Len() > 0 && rapid.IntRange(0, 4).Draw(t, "colon") > 0 {
				// Mostly another key on each line: duplicates are not of interest.
				text.WriteString(strings.Repeat("x", i) + pick(t, "colon", ":", ": ", ": ", ":  "))
			}
			text.WriteString(pick(t, "value", "", "", "v", "v w", "~", "null", "'it''s'", "\"a\\tb\"", "\"open", "close\"", "'open", "close'", "|", ">", "|-", ">+", "|2", "{}", "[]", "{a: b}", "[a, ~]", "{a: [", "]}", "[", "]", "{", "}", ",", "a,", "-", "-x", "x:y", "a#b", "&a v", "*a", "!!str 1", "?", "---", "...", "%", "é"))
			text.WriteString(pick(t, "rest", "", "", "", "", " ", " # c", "\t# c", "#", " #"))
			if rapid.IntRange(0, 20).Draw(t, "last") > 0 {
				text.WriteString(end)
			}
			text.WriteString(pick(t, "between", "", "", "", end, "  "+end, "# c"+end, "    # c"+end, end+end, "\t"+end, "---"+end))
		}
		bothRoads(t, []byte(text.String()))
		sideBySide(t, []byte(text.String()))
	})
}
