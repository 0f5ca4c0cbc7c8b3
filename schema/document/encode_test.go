package document

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
	sigsyaml "sigs.k8s.io/yaml"
)

func TestAppend(t *testing.T) {
	n := Object(
		F("apiVersion", Text("v1")),
		F("kind", Text("List")),
		F("metadata", Object(F("labels", Object()), F("annotations", Object(
			F("a", Text("true")), F("b", Text("10")), F("c", Text("10Gi")), F("on", Text("a: b")), F("5", Text("0E4006924050")),
		)))),
		F("script", Text("#!/bin/sh\n  echo\n\ndone\n")),
		F("strip", Text("a\nb")),
		F("keep", Text("a\n\n")),
		F("none", Node{}),
		F("items", List(Int(3), Bool(true), Text("x"), List(Text("z"), List()), Object(F("k", Text("v")), F("l", List(Text("a\nb\n")))))),
		F("empty", List()),
	)
	const want = `apiVersion: v1
kind: List
metadata:
  labels: {}
  annotations:
    a: "true"
    b: "10"
    c: 10Gi
    "on": "a: b"
    "5": "0E4006924050"
script: |
  #!/bin/sh
    echo

  done
strip: |-
  a
  b
keep: "a\n\n"
none: null
items:
- 3
- true
- x
- - z
  - []
- k: v
  l:
  - |
    a
    b
empty: []
`
	if got := string(Append(nil, &n, 0)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	indented := "  " + strings.ReplaceAll(strings.TrimSuffix(want, "\n"), "\n", "\n  ") + "\n"
	if got := string(Append(nil, &n, 2)); got != strings.ReplaceAll(indented, "\n  \n", "\n\n") {
		t.Errorf("indented by 2:\n%s", got)
	}
}

// TestRoom: there is room for a tree, and not much more than that.
func TestRoom(t *testing.T) {
	disk := Object(F("name", Text("bd-1")), F("size", Int(4000787030016)), F("on", Text("true")))
	n := Object(F("kind", Text("CStorPoolCluster")), F("none", Node{}), F("spec", Object(F("disks", List(disk, disk, disk)), F("names", List(Text("a"), Text("10"))))))
	if room, text := Room(&n, 0), Append(nil, &n, 0); room < len(text) || room > 2*len(text) {
		t.Errorf("room for %d bytes, want %d to %d", room, len(text), 2*len(text))
	}
}

func TestIsPlain(t *testing.T) {
	for _, s := range []string{"a", "a b", "abc-def", "10Gi", "100m", "/dev/sda", "a:b", "a#b", "http://x.y:80/z", "--flag", "-o", "./x", "v1.2", "_x", "x=y", "it's", "a, b", "pd-standard", "0x1g"} {
		if !isPlain(s) {
			t.Errorf("%q is quoted", s)
		}
	}
	for _, s := range []string{
		"", " ", " a", "a ", "a: b", "a:", "a #b", "#a", "- a", "-", "--", "---", "? a", ": a", "@a", "`a", "%a", "!a", "&a", "*a", "|", ">", "'a", "\"a", "{", "[", "]", ",", "<<", "=", "~", "a\tb", "a\nb", "é",
		"null", "Null", "NULL", "true", "True", "TRUE", "false", "y", "Y", "n", "yes", "No", "on", "OFF", "nan", "Inf",
		"0", "1", "-1", "+1", "0x1F", "0o17", "017", "0b101", "1_000", "12:30", "190:20:30.15", "0E400", "1e5", "1.5", ".5", ".inf", "-.inf", ".NaN", "2001-12-14", "2001-12-14t21:59:43.10-05:00", "2001-12-15 2:59:43.10", "1,000", "063236371040",
	} {
		if isPlain(s) {
			t.Errorf("%q is plain", s)
		}
	}
}

// TestAppendParse holds that what Append writes is read back as the same tree,
// by Parse on both of its roads, and as the same values by others.
func TestAppendParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := anyNode(anyText(), 4).Draw(t, "node")
		indent := rapid.SampledFrom([]int{0, 2, 4}).Draw(t, "indent")
		checkRoundTrip(t, &n, indent)
	})
}

func checkRoundTrip(t rapid.TB, n *Node, indent int) {
	t.Helper()
	text := Append(nil, n, indent)
	src := &Source{Name: "x.yaml", Data: text}
	docs, err := Parse(src)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(docs) != 1 || !Equal(&docs[0].Node, n) {
		t.Fatalf("read back otherwise:\n%s", text)
	}
	long := hasLongKey(n)
	if (n.Kind() == Map || n.Kind() == Seq) && !long {
		r := reader{text: string(text)}
		if _, _, ok := r.document(part{end: len(text)}); !ok {
			t.Fatalf("the fast road stops at %d: %s\n%s", r.trouble.off, r.trouble.msg, text)
		}
	}
	asJSON := AppendJSON(nil, n)
	var want, got any
	if err := json.Unmarshal(asJSON, &want); err != nil {
		t.Fatalf("%v in %s", err, asJSON)
	}
	if err := sigsyaml.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("sigs.k8s.io/yaml: %v: %v, not %v, of\n%s", err, got, want, text)
	}
	got = nil
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatalf("yaml.v3: %v in\n%s", err, text)
	}
	again, err := json.Marshal(got)
	if err != nil {
		t.Fatalf("yaml.v3: %v in\n%s", err, text)
	}
	if err := json.Unmarshal(again, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("yaml.v3: %v, not %v, of\n%s", got, want, text)
	}
	if docs, err = Parse(&Source{Data: asJSON}); !long && (err != nil || len(docs) != 1) {
		t.Fatalf("%v in %s", err, asJSON)
	}
}

// hasLongKey reports whether a key is longer than YAML takes on one line.
func hasLongKey(n *Node) bool {
	return slices.ContainsFunc(n.Fields(), func(f Field) bool { return len(appendText(nil, f.Key)) > maxKey || hasLongKey(&f.Value) }) ||
		slices.ContainsFunc(n.Items(), func(item Node) bool { return hasLongKey(&item) })
}

func anyNode(text *rapid.Generator[string], depth int) *rapid.Generator[Node] {
	return rapid.Custom(func(t *rapid.T) Node {
		top := 6
		if depth == 0 {
			top = 4
		}
		switch rapid.IntRange(0, top).Draw(t, "kind") {
		case 0:
			return Node{Off: NoOffset}
		case 1:
			return Int(rapid.Int64Range(-1<<50, 1<<50).Draw(t, "int"))
		case 2:
			return Bool(rapid.Bool().Draw(t, "bool"))
		case 3:
			return Plain(rapid.SampledFrom([]string{"0.80", "-1.5", "1.5e3", "True", "FALSE", "12", ".5", "1."}).Draw(t, "plain"))
		case 4:
			return Text(text.Draw(t, "text"))
		case 5:
			return List(rapid.SliceOfN(anyNode(text, depth-1), 0, 4).Draw(t, "items")...)
		}
		n := Object()
		for _, key := range rapid.SliceOfNDistinct(text, 0, 4, rapid.ID[string]).Draw(t, "keys") {
			n.Set(key, anyNode(text, depth-1).Draw(t, "value"))
		}
		return n
	})
}

func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9 :#_./+~=<>|&*!%@,{}\[\]'"?\\-]{0,8}`),
		rapid.StringMatching("[ab \t\n#:-]{0,12}"),
		rapid.StringMatching(`[0-9eExob_.:+ TZ-]{0,8}`),
		rapid.String(),
		rapid.SampledFrom([]string{"yes", "No", "null", "~", "<<", "=", "---", "...", "--- a", "\ufeff", "\u2028", "\u0085x", "\x00", "\x7f", "😀", "\ufffe", "é", "a\r\nb", strings.Repeat("k", 2000), strings.Repeat("long words ", 50), "- a\n- b\n", "a: |\n  b\n", "#c\n", "\n", "a\n  \n", " a\nb", "\ta\nb"}),
	)
}

// FuzzAppend does for any text what TestAppendParse does for trees.
func FuzzAppend(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		n := Object(F("key", Text(s)), F(s+"'", List(Text(s), Object(F(s, List(Text(s)))))), F("end", Text("x")))
		checkRoundTrip(t, &n, 0)
		checkRoundTrip(t, &n.Fields()[0].Value, 2)
	})
}
