package krm

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

func read(t rapid.TB, text string) *ResourceList {
	t.Helper()
	rl, err := ReadResourceList(&document.Source{Name: "stdin", Data: []byte(text)})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return rl
}

// kptList is what kpt 1.0.0-beta.56 gives to a function.
const kptList = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: x
    annotations:
      config.kubernetes.io/index: '0'
      config.kubernetes.io/path: 'Kptfile'
      internal.config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/path: 'Kptfile'
- # about the spec
  apiVersion: dao.mayadata.io/v1alpha1
  kind: CStorClusterConfig
  metadata:
    name: prod # inline
    namespace: openebs
    annotations:
      config.kubernetes.io/index: '0'
      config.kubernetes.io/path: 'cstor.yaml'
      internal.config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/path: 'cstor.yaml'
      config.k8s.io/id: '2'
  spec:
    # raid comment
    poolConfig:
      raidType: "raidz9"
    script: |
      - one

      two
  # trailing
# of the next
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: c
    annotations:
      keep: me
      config.kubernetes.io/index: '1'
      config.kubernetes.io/path: 'cstor.yaml'
      internal.config.kubernetes.io/index: '1'
      internal.config.kubernetes.io/path: 'cstor.yaml'
  data:
    k: v
  # end of file
functionConfig:
  # how
  apiVersion: poolwright.io/v1alpha1
  kind: RenderConfig
  metadata: {name: render}
`

func TestPassThrough(t *testing.T) {
	for name, text := range map[string]string{
		"kpt":       kptList,
		"indent 2":  "apiVersion: config.kubernetes.io/v1beta1\nkind: ResourceList\nitems:\n  # a\n  - kind: A\n    x: [1,\n      2]\n  # b\n\n  -\n    kind: B # it's\n  - {kind: C, metadata: {name: c}}\n",
		"blank top": "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n\n- kind: A\n\n\n# it's b\n- kind: B\n  s: |+\n    x\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			rl := read(t, text)
			got := string(written(t, rl, nil))
			head, rest, _ := strings.Cut(text, "items:\n")
			items, config, _ := strings.Cut(rest, "functionConfig:\n")
			want := head
			if config != "" {
				want += "functionConfig:\n" + config
			}
			want += "items:\n" + items
			if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestReadItems(t *testing.T) {
	rl := read(t, kptList)
	var got []string
	for _, o := range rl.Items {
		got = append(got, fmt.Sprintf("%s %s %d", o.Ref, o.Path, o.Index))
	}
	want := "[Kptfile x Kptfile 0 CStorClusterConfig openebs/prod cstor.yaml 0 ConfigMap c cstor.yaml 1]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if !strings.HasPrefix(string(rl.Items[2].Raw), "# of the next\n- apiVersion: v1\n") {
		t.Errorf("a comment above an item is not its: %q", rl.Items[2].Raw)
	}
	if rl.FunctionConfig == nil || rl.FunctionConfig.Kind != "RenderConfig" {
		t.Errorf("functionConfig is %v", rl.FunctionConfig)
	}
}

func TestPosition(t *testing.T) {
	rl := read(t, kptList)
	spec := rl.Items[1]
	for _, c := range []struct {
		object *Object
		node   *document.Node
		want   string
	}{
		// Line 7 in the file: the comment, apiVersion, kind, metadata, name,
		// namespace, spec, the other comment, poolConfig, raidType.
		{spec, spec.Node.Get("spec", "poolConfig", "raidType"), "{cstor.yaml 10 15}"},
		{spec, spec.Node.Get("kind"), "{cstor.yaml 3 7}"},
		{spec, spec.Node, "{cstor.yaml 2 1}"},
		// The first document has 15 lines, the --- is one, the comment another.
		{rl.Items[2], rl.Items[2].Node.Get("data", "k"), "{cstor.yaml 25 6}"},
		{spec, &document.Node{Off: document.NoOffset}, "{cstor.yaml 0 0}"},
		{rl.FunctionConfig, rl.FunctionConfig.Node, "{ 0 0}"},
	} {
		if got := fmt.Sprint(c.object.Position(c.node.Off)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.object.Ref, got, c.want)
		}
	}
	child := spec.Item(spec.Node.Get("spec", "poolConfig"))
	if got := fmt.Sprint(child.Position(child.Node.Off)); got != "{cstor.yaml 10 5}" {
		t.Errorf("object inside an object: %s", got)
	}
	alone := read(t, strings.Replace(kptList, "config.kubernetes.io/index: '0'\n      config.kubernetes.io/path: 'cstor.yaml'\n      internal.config.kubernetes.io/index: '0'\n      internal.config.kubernetes.io/path: 'cstor.yaml'", "a: b", 1))
	if got := fmt.Sprint(alone.Items[2].Position(alone.Items[2].Node.Off)); got != "{cstor.yaml 0 0}" {
		t.Errorf("second document without the first: %s", got)
	}
	src := &document.Source{Name: "a.yaml", Data: []byte("a:\n  b: c\n")}
	if got := fmt.Sprint((&Object{Source: src}).Position(8)); got != "{a.yaml 2 6}" {
		t.Errorf("file: %s", got)
	}
}

func TestAppendChanged(t *testing.T) {
	rl := read(t, "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n  - kind: A\n  # b\n  - kind: B\n  - kind: C\nresults:\n- message: old\n")
	node := document.Object(document.F("kind", document.Text("D")), document.F("s", document.Text("x\n\ny\n")))
	made := &Object{Raw: []byte("# d\nkind: D\ns: |\n  x\n\n  y\n"), Node: &node}
	encoded := &Object{Node: &node}
	rl.Items = []*Object{rl.Items[1], made, encoded, rl.Items[0]}
	got := string(written(t, rl, []finding.Finding{
		{Severity: finding.Error, Message: "bad: \"x\"", Object: finding.Ref{APIVersion: "v1", Kind: "B", Namespace: "n", Name: "b"}, Field: "spec.a[2].b",
			Pos: document.Position{File: "a.yaml", Line: 12, Column: 3}, Rule: "enum", Current: "x", Proposed: "10"},
		{Severity: finding.Info, Message: "all", Field: "spec.x"},
	}))
	const want = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
  # b
  - kind: B
  - # d
    kind: D
    s: |
      x

      y
  - kind: D
    s: |
      x

      y
  - kind: A
results:
- message: "bad: \"x\""
  severity: error
  resourceRef:
    apiVersion: v1
    kind: B
    namespace: "n"
    name: b
  field:
    path: spec.a[2].b
    currentValue: x
    proposedValue: "10"
  file:
    path: a.yaml
  tags:
    line: "12"
    column: "3"
    rule: enum
- message: all
  severity: info
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestAppendDeep holds that what is added stands where the others stand, however
// deep that is.
func TestAppendDeep(t *testing.T) {
	deep := strings.Repeat(" ", 40)
	head := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + deep + "- kind: A\n"
	node := document.Object(document.F("kind", document.Text("B")))
	for _, made := range []*Object{{Node: &node}, {Node: &node, Raw: []byte("kind: B\n")}} {
		rl := read(t, head)
		rl.Items = append(rl.Items, made)
		if got := string(written(t, rl, nil)); got != head+deep+"- kind: B\n" {
			t.Errorf("got:\n%s", got)
		}
	}
}

func TestEncodedAnew(t *testing.T) {
	const want = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  kind: C\nitems:\n- kind: A\n  x: 1\n- kind: B\n"
	for name, text := range map[string]string{
		"json":    `{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[{"kind":"A","x":1},{"kind":"B"}],"functionConfig":{"kind":"C"}}`,
		"aliases": "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  kind: C\nitems:\n- &a\n  kind: A\n  x: 1\n- <<: *a\n  kind: B\n",
		"flow":    "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: {kind: C}\nitems: [{kind: A, x: 1}, {kind: B}]\n",
		"no end":  "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  kind: C\nitems:\n- kind: A\n  x: 1\n- kind: B",
	} {
		got := string(written(t, read(t, text), nil))
		got = strings.Replace(got, "functionConfig: {kind: C}", "functionConfig:\n  kind: C", 1)
		got = strings.Replace(got, "- x: 1\n  kind: B\n", "- kind: B\n", 1)
		if got != want {
			t.Errorf("%s: got:\n%s", name, got)
		}
	}
}

func TestReadErrors(t *testing.T) {
	const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	for _, c := range []struct{ text, want string }{
		{"", "stdin:1:1: there is no ResourceList: the input is empty"},
		{"[]", "stdin:1:1: this is not a ResourceList but a list; want config.kubernetes.io/v1 (or v1beta1) and kind ResourceList"},
		{"kind: ConfigMap\n", `stdin:1:7: kind is "ConfigMap"; want config.kubernetes.io/v1 (or v1beta1) and kind ResourceList`},
		{"apiVersion: config.kubernetes.io/v1alpha1\nkind: ResourceList\n", `stdin:1:13: apiVersion is "config.kubernetes.io/v1alpha1"; want config.kubernetes.io/v1 (or v1beta1) and kind ResourceList`},
		{head + "---\na: b\n", "stdin:4:1: a ResourceList is one document, and here a second one begins; put the objects below items"},
		{head + "item: []\n", `stdin:3:1: unknown field "item"; a ResourceList has apiVersion, kind, items, functionConfig and results`},
		{head + "items: {}\n", "stdin:3:8: items is a map; it must be a list of objects"},
		{head + "items:\n- a\n", "stdin:4:3: an item is a single value; each must be an object"},
		{head + "functionConfig: []\n", "stdin:3:17: functionConfig is a list; it must be an object"},
		{head + "items:\n- metadata: {annotations: {config.kubernetes.io/path: a, internal.config.kubernetes.io/path: b}}\n",
			`stdin:4:58: annotation internal.config.kubernetes.io/path is "b", but config.kubernetes.io/path is "a"; both must say the same, or only one be there`},
		{head + "items:\n- metadata: {annotations: {config.kubernetes.io/index: x}}\n", `stdin:4:56: annotation config.kubernetes.io/index is "x"; it must be a whole number from 0 on`},
		{head + "items:\n\t- a\n", "stdin:4:1: a tab is used as indentation; YAML takes only spaces there: replace it by spaces"},
	} {
		_, err := ReadResourceList(&document.Source{Name: "stdin", Data: []byte(c.text)})
		if err == nil || err.Error() != c.want {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// FuzzResourceList holds that any list that is read is written as a list that
// yaml.v3 reads, with the same items, also when half of them are taken out.
func FuzzResourceList(f *testing.F) {
	f.Add(kptList)
	const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	for _, items := range []string{"items:\n- a: b\n# it's\n- c: |\n   x\n  d: \"e\n\n# f\"\n- {}\n", "items:\n  -\n    a: b\n  - &x {a: b}\n  - a: *x\nfunctionConfig: {a: b}\n", "items: [{a: b}]\n", "items:\n- a: |+\n    x\n\n- b:\n  - c\nresults: []\n", "items:\r\n- a: b\r\n# c\r\n- d: e\r\n", "items:\n- a: b\n  c: >\n   d\n"} {
		f.Add(head + items)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rl, err := ReadResourceList(&document.Source{Name: "stdin", Data: []byte(text)})
		if err != nil {
			return
		}
		sameItems(t, rl, text)
		for i := len(rl.Items) - 1; i >= 0; i -= 2 {
			rl.Items = append(rl.Items[:i], rl.Items[i+1:]...)
		}
		sameItems(t, rl, text)
		for _, o := range rl.Items {
			o.Position(o.Node.Off)
		}
	})
}

// written is the list as it is written.
func written(t *testing.T, rl *ResourceList, results []finding.Finding) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := rl.Write(&out, results); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func sameItems(t *testing.T, rl *ResourceList, text string) {
	t.Helper()
	out := written(t, rl, []finding.Finding{{Message: "x"}})
	again, err := ReadResourceList(&document.Source{Name: "stdin", Data: out})
	if err != nil {
		t.Fatalf("%v in\n%q\nof\n%q", err, out, text)
	}
	var n yaml.Node
	if err := yaml.Unmarshal(out, &n); err != nil {
		t.Fatalf("%v in\n%q\nof\n%q", err, out, text)
	}
	if len(again.Items) != len(rl.Items) {
		t.Fatalf("%d items, not %d:\n%q\nof\n%q", len(again.Items), len(rl.Items), out, text)
	}
	for i := range rl.Items {
		if !document.Equal(again.Items[i].Node, rl.Items[i].Node) {
			t.Fatalf("item %d is not the same:\n%q\nof\n%q", i, out, text)
		}
	}
	if (rl.FunctionConfig == nil) != (again.FunctionConfig == nil) || rl.FunctionConfig != nil && !document.Equal(rl.FunctionConfig.Node, again.FunctionConfig.Node) {
		t.Fatalf("functionConfig is not the same:\n%q\nof\n%q", out, text)
	}
}

func BenchmarkResourceList(b *testing.B) {
	var text bytes.Buffer
	text.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	item, err := os.ReadFile("testdata/blockdevice.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for i := range 24000 {
		text.Write(appendItem(nil, bytes.ReplaceAll(item, []byte("NUMBER"), fmt.Appendf(nil, "%05d", i)), 0))
	}
	src := &document.Source{Name: "stdin", Data: text.Bytes()}
	b.Run("parse only", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := document.Parse(src); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read and write", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		b.ReportAllocs()
		for b.Loop() {
			rl, err := ReadResourceList(src)
			if err != nil {
				b.Fatal(err)
			}
			if err := rl.Write(io.Discard, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
