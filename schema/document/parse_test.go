package document

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func parse(t *testing.T, text string) []Document {
	t.Helper()
	docs, err := Parse(&Source{Name: "x.yaml", Data: []byte(text)})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return docs
}

// TestParse compares trees in the form of AppendJSON.
func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: b\n", `{"a":"b"}`},
		{"a: 1\nb: -2.50\nc: true\nd: 0E4006924050\ne: 063236371040\nf: 12:30\ng: 0x1F\nh: 1_000\ni: yes\n", `{"a":1,"b":-2.50,"c":true,"d":"0E4006924050","e":"063236371040","f":"12:30","g":"0x1F","h":"1_000","i":"yes"}`},
		{"a:\nb: ~\nc: null\nd: 'null' # d\ne: \"\" # e\nf: ~ # f\ng: [~ # g\n]\n", `{"a":null,"b":null,"c":null,"d":"null","e":"","f":null,"g":[null]}`},
		{"- a\n- - b\n  - c\n-\n  d: e\n-\n", `["a",["b","c"],{"d":"e"},null]`},
		{"a:\n- b\n- c: d\n  e: f\ng:\n  - h\n", `{"a":["b",{"c":"d","e":"f"}],"g":["h"]}`},
		{"a: one\n  two\n\n  three # c\nb: x\n", `{"a":"one two\nthree","b":"x"}`},
		{"a: |\n  x\n   y\n\n  z\n\nb: >-\n  x\n  y\n\n  z\nc: |+\n  x\n\n", `{"a":"x\n y\n\nz\n","b":"x y\nz","c":"x\n\n"}`},
		{"a: 'it''s'\nb: \"\\u00e9\\n\\\n   x\"\n", `{"a":"it's","b":"é\nx"}`},
		{"\ufeffa: {b: [1, \"2\",\n  three], \"c\":{}}\r\nd: e\r\n", `{"a":{"b":[1,"2","three"],"c":{}},"d":"e"}`},
		{"a: &x\n  b: 1\n  c: 2\nd:\n  <<: *x\n  b: 3\ne: *x\n", `{"a":{"b":1,"c":2},"d":{"c":2,"b":3},"e":{"b":1,"c":2}}`},
		{"a: &x {b: 1}\nc: &y {b: 2, d: 3}\ne: {<<: [*x, *y], f: 4}\n", `{"a":{"b":1},"c":{"b":2,"d":3},"e":{"b":1,"d":3,"f":4}}`},
		{"a: !!str 12\nb: !!int \"3\"\nc: !x y\nd: !!null x\n", `{"a":"12","b":3,"c":"y","d":null}`},
		{"&k a: b\nc: *k\n", `{"a":"b","c":"a"}`},
		{"? a\n: b\n", `{"a":"b"}`},
		{"%YAML 1.2\n---\na: b\n", `{"a":"b"}`},
		{"1: a\ntrue: b\n", `{"1":"a","true":"b"}`},
		{"a:\tb\n", `{"a":"b"}`},
		{"{\n\t\"a\": 1\n}\n", `{"a":1}`},
		{"a: |\n  <<<<<<< b\n  =======\n  >>>>>>> c\n", `{"a":"<<<<<<< b\n=======\n>>>>>>> c\n"}`},
		{"# <<<<<<< b\na: =======\n", `{"a":"======="}`},
	} {
		docs := parse(t, c.text)
		if len(docs) != 1 {
			t.Errorf("%q: %d documents", c.text, len(docs))
		} else if got := string(AppendJSON(nil, &docs[0].Node)); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestDocuments(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // text of the documents
	}{
		{"", nil},
		{"# c\n", nil},
		{"---\n---\n# c\n...\n", nil},
		{"a: b", []string{"a: b"}},
		{"# c\n---\n# d\na: b\n# e\n---\nc: d\n", []string{"# d\na: b\n# e\n", "c: d\n"}},
		{"\ufeff---\r\na: b\r\n---\r\nc: d\r\n...\r\n", []string{"a: b\r\n", "c: d\r\n"}},
		{"--- {a: b}\n--- # c\nc: d\n--- [\n]\n", []string{"{a: b}\n", "c: d\n", "[\n]\n"}},
		{"%YAML 1.2\n---\na: b\n...\n%YAML 1.2\n---\nc: d\n", []string{"a: b\n", "c: d\n"}},
		{"a: |\n  ---\n----\n: x\n", nil},
		{"a: b\n---\n", []string{"a: b\n"}},
		{"null\n--- ~\n", []string{"null\n", "~\n"}},
	} {
		docs, _ := Parse(&Source{Data: []byte(c.text)})
		var got []string
		for _, d := range docs {
			got = append(got, c.text[d.Start:d.End])
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
			t.Errorf("%q:\n got %q\nwant %q", c.text, got, c.want)
		}
	}
	if docs := parse(t, "a: &x 1\n---\nb: &y 1\nc: *y\n---\nd: e\n"); docs[0].Linked || !docs[1].Linked || docs[2].Linked {
		t.Error("Linked is wrong")
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a:\n\tb: c\n", "x.yaml:2:1: " + msgTab},
		{"a:\n  b:\n  \t- c\n", "x.yaml:3:3: " + msgTab},
		{"a: \"b\nc: d\n", "x.yaml:1:4: " + msgQuote},
		{"a: 'b\n---\nc: d\n", "x.yaml:1:4: " + msgQuote},
		{"---\na: b\n---\nc: [d\n", "x.yaml:4:4: " + msgFlow},
		{"a:\n    b: c\n  d: e\n", "x.yaml:3:3: " + msgIndent},
		{"a: b\n  c: d\n", "x.yaml:2:3: " + msgIndent},
		{"a: b: c\n", "x.yaml:1:5: " + msgColon},
		{"a: - b\n", "x.yaml:1:4: " + msgInlineSeq},
		{"a: b\nc\nd: e\n", "x.yaml:2:1: " + msgNoColon},
		{"a: @b\n", "x.yaml:1:4: " + msgReserved},
		{"a: \"b\" c\n", "x.yaml:1:8: " + msgAfter},
		{"a: {b: c d: e}\n", "x.yaml:1:11: " + msgComma},
		{"a: 1\n\u00e9: 2\n\u00e9: 3\n", `x.yaml:3:1: key "é" is already set in line 2; remove one of the two`},
		{"a: &x 1\nb: {c: 2, c: 3}\n", `x.yaml:2:11: key "c" is already set in line 2; remove one of the two`},
		{"[a, b]: c\n", "x.yaml:1:1: a key must be one plain or quoted word, not a list or a map"},
		{"&k a: b\n*k : c\n", `x.yaml:2:1: key "a" is already set in line 1; remove one of the two`},
		{"a: *x\n", "x.yaml:1:4: this is not YAML: unknown anchor 'x' referenced"},
		{"---\na: &x 1\nb: [1\n", "x.yaml:3: this is not YAML: did not find expected ',' or ']'"},
		{"a: b\x00c\n", "x.yaml:1:5: this is not text: it holds a NUL byte; give a YAML or JSON file in UTF-8"},
		{"a: b\n\u00e9: \xff\n", "x.yaml:2:4: this is not UTF-8: byte 0xFF is not valid here; save the file as UTF-8"},
		{"a: \x1b[31m\n", "x.yaml:1:4: this is not text: it holds the control character 0x1B; remove it, or write it as an escape inside double quotes"},
		{"a: b\n... c\n", "x.yaml:2:5: nothing but a comment may follow ... on its line; start the next document with ---"},
		{strings.Repeat("[", 1001), "x.yaml:1:1001: " + msgDepth},
		{strings.Repeat("- ", 1001) + "a\n", "x.yaml:1:2001: " + msgDepth},
		{"<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> theirs\n", "x.yaml:1:1: " + msgConflict},
		{"\ufeffa:\r\n  b: 1\r\n=======\r\n  b: 2\r\n", "x.yaml:3:1: " + msgConflict},
		{"a: |\n  <<<<<<< x\n---\nb: 1\n||||||||| base", "x.yaml:5:1: " + msgConflict},
		{"a: \x01\n>>>>>>>", "x.yaml:1:4: this is not text: it holds the control character 0x01; remove it, or write it as an escape inside double quotes"},
		{"a: &x [*x]\n", "x.yaml:1:8: the alias *x stands inside what it names"},
	} {
		_, err := Parse(&Source{Name: "x.yaml", Data: []byte(c.text)})
		if err == nil || err.Error() != c.want {
			t.Errorf("%.60q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
	var syntax *SyntaxError
	if err := checkSize("x.yaml", math.MaxInt32); !errors.As(err, &syntax) {
		t.Errorf("2 GiB are accepted: %v", err)
	}
}

// TestHostile holds that input made to hurt is refused or read, in time.
func TestHostile(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 12 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	for name, text := range map[string]string{
		"aliases":  bomb,
		"brackets": strings.Repeat("[", 100_000),
		"braces":   strings.Repeat("{a: ", 100_000),
		"dashes":   strings.Repeat("- ", 100_000),
		"closed":   strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"tagged":   strings.Repeat("- !x ", 100_000),
		"keys":     strings.Repeat("? ", 50_000),
	} {
		late := time.AfterFunc(2*time.Minute, func() { panic(name + " is not read in time") }) // it takes some milliseconds
		if _, err := Parse(&Source{Name: "x.yaml", Data: []byte(text)}); err == nil {
			t.Errorf("%s is accepted", name)
		}
		late.Stop()
	}
	var wide strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&wide, "k%d: {a: b}\n", i)
	}
	if docs := parse(t, wide.String()+strings.Repeat("---\n# c\n", 100_000)); len(docs) != 1 {
		t.Errorf("%d documents", len(docs))
	}
	parse(t, "["+strings.Repeat("{\"a\":!!str b},", 100_000)+"]")
}

// TestNotGrown holds that a child slice has no room behind it: an append by a
// caller must never write into a neighbour.
func TestNotGrown(t *testing.T) {
	docs := parse(t, "a:\n  b: c\n  d: [e]\nf: {g: h}\n")
	var walk func(n *Node)
	walk = func(n *Node) {
		if len(n.Fields()) != cap(n.Fields()) || len(n.Items()) != cap(n.Items()) {
			t.Errorf("room behind %+v", n)
		}
		for i := range n.Fields() {
			walk(&n.Fields()[i].Value)
		}
		for i := range n.Items() {
			walk(&n.Items()[i])
		}
	}
	walk(&docs[0].Node)
}
