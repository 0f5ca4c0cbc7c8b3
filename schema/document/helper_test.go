package document

import "fmt"

// differ compares two trees in everything, and names the first difference.
func differ(a, b *Node, path string) string {
	switch {
	case a.Kind() != b.Kind():
		return fmt.Sprintf("%s: kind %d, not %d", path, a.Kind(), b.Kind())
	case a.Kind() == Scalar && a.Quoted != b.Quoted:
		return fmt.Sprintf("%s: quoted %v, not %v", path, a.Quoted, b.Quoted)
	case a.Value() != b.Value():
		return fmt.Sprintf("%s: %q, not %q", path, a.Value(), b.Value())
	case a.Off != b.Off:
		return fmt.Sprintf("%s: offset %d, not %d", path, a.Off, b.Off)
	case len(a.Fields()) != len(b.Fields()), len(a.Items()) != len(b.Items()):
		return fmt.Sprintf("%s: %d fields and %d items, not %d and %d", path, len(a.Fields()), len(a.Items()), len(b.Fields()), len(b.Items()))
	}
	for i := range a.Fields() {
		f, g := &a.Fields()[i], &b.Fields()[i]
		if f.Key != g.Key || f.Off != g.Off {
			return fmt.Sprintf("%s: key %q at %d, not %q at %d", path, f.Key, f.Off, g.Key, g.Off)
		}
		if diff := differ(&f.Value, &g.Value, path+"."+f.Key); diff != "" {
			return diff
		}
	}
	for i := range a.Items() {
		if diff := differ(&a.Items()[i], &b.Items()[i], fmt.Sprintf("%s[%d]", path, i)); diff != "" {
			return diff
		}
	}
	return ""
}

// seeds are what tools and people write, and where YAML is known to be odd.
var seeds = []string{
	"", "\n", "# only\n", "---\n", "---\n---\na: b\n", "a: b", "a: b\n", "a:\n", "a: ~\nb: null\nc: Null\nd:\n",
	"apiVersion: v1\nkind: List\nitems:\n- a: 1\n  b: 2\n- c\n-\n- - x\n  - y\n-   - z\n",
	"items:\n  - a: 1\n\n  # hi\n  - b: 2 # there\n  -\n    c: 3\nnext: x\n",
	"a: 'it''s'\nb: \"x\\ty\\u00e9\\x41\"\nc: \"two\n  lines\n\n  three\"\nd: 'one\n\n\n  two  \n three'\ne: \"esc\\\n   aped\"\n",
	"a: |\n  one\n    two\n\n  three\n\nb: >-\n  folded\n  text\n\n  para\n    deep\n  end\nc: |+\n  keep\n\n\nd: |2\n   x\ne: |-\n  strip\n",
	"a: >\n\n  x\n  y\n", "a: |\n", "a: |\n    x\n  y: z\n", "- |\n x\n- >\n y\n", "a:\n  |\n  x\n",
	"a: {b: c, \"d\": [1, 2, 'x'], e: null}\nf: []\ng: {}\nh: [a,\n b,\n\n # c\n c\n]\n",
	`{"a":1,"b":[true,false,null,{"c":"d\"e"}],"f" : -1.5e3}`, "{\n\t\"a\": \"b\",\n\t\"c\": [\n\t\t1,\n\t\t2\n\t]\n}\n",
	"a: word word\n  word: no\n", "a: word word\n  more words\n\n  last\nb: c\n", "a:\n  next\n  line\n", "a: x # c\n  y\n", "a: x\n  # c\n  y\n",
	"a: b\r\nc:\r\n- d\r\n- |\r\n  x\r\n  y\r\n\r\n- 'q\r\n  r'\r\n", "\ufeffa: b\n", "\ufeff---\na: b\n",
	"--- {a: 1}\n--- [x]\n--- foo\n--- |\n  x\n--- # c\na: b\n...\n# d\n---\nc: d\n... # e\n", "%YAML 1.2\n---\na: b\n", "a: b\n... x\n",
	"a: &x {b: c}\nd: *x\ne:\n  <<: *x\n  f: g\n", "a: !!str 12\nb: !!int \"3\"\nc: !foo x\nd: ! y\n", "? a\n: b\n", "\"<<\": a\n",
	"a:\tb\n", "a:\n\tb: c\n", "-\ta\n", "a: b\t# c\n", "a: b\tc\t\n", "a: 1\na: 2\n", "{a: 1, a: 2}", "a: [\n", "a: 'x\n", "a: \"x\n",
	"a: b: c\n", "a: - b\n", "a:\n  b: 1\n c: 2\n", "  a: b\nc: d\n", "a: @x\n", "a: %x\n", "a: b\n- c\n", "- a\nb: c\n", "a\nb: c\n", "a: *x\n",
	"key with spaces : v\n'q k' : v\n\"q\":x\n", "a: http://x.y/z#f\nb: x:y\nc: a #b\nd: a#b\n-e: f\n", "1: a\ntrue: b\nnull: c\n~: d\n",
	"[a, b]: c\n", "{a: b}: c\n", "{a}", "{a, b: }", "[a: b]", "{\"a\":b}", "{a:b}", "[a?b]", "[-a, -1]", "{a: -}", "[a\n b]", "a: {b: c}d\n", "a: [x]#y\n", "a: \"x\"#y\n",
	"a:\n- b\n  c\n- d:\n  - e\n  f:\n  - g\nh: i\n", "- - - a\n    - b\n  - c\n- d\n", "- a: |\n    x\n  b: c\n", "x: 0E4006924050\ny: 063236371040\nz: 12:30\n",
	"a: \u00e9\u4e16\nb\u00e9: [\u00e9, x]\n", "a: x\u2028y\n", "a: \"\\/\"\n", "a: \"\\ud83d\\ude00\"\n", "---\r\na: b\r\n---\r\n", "a: >1-\n   x\n", "a: |  # c\n  x\n", "a: |#c\n  x\n",
	"a: x\n \n  \n  y\n", "a: |\n  \n     \n  x\n", "a: |\n     \n  x\n", "a: >\n  x\n   y\n  z\n\n\n  w\n", "a: |\n  x\n  ", "a: |\n  x\n   ", "a: |\n  x",
}
