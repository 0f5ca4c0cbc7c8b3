package change

import (
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

func parse(t testing.TB, text string) []*krm.Object {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Name: "test.yaml", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// lines writes fields as a test wants to see them.
func lines(fields []Field) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(string(f.Action) + " " + f.Path)
		if f.Old != nil {
			b.WriteString(" " + string(document.AppendJSON(nil, f.Old)))
		}
		if f.New != nil {
			b.WriteString(" -> " + string(document.AppendJSON(nil, f.New)))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestFields(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"nothing", "a: {b: 1, c: [x]}", "a: {c: [x], b: 1}", ""},
		{"a value", "a: {b: 1}", "a: {b: 2}", "change a.b 1 -> 2\n"},
		{"a number and a text", `a: "1"`, "a: 1", "change a \"1\" -> 1\n"},
		{"null and nothing", "a: null\nb: 1", "{b: 1, c: null, l: ~}", ""},
		{"null in an item", "g: [{a: null, b: 1}, {c: null}]", "g: [{}, {b: 1}]", "reorder g [\"1\",\"0\"] -> [\"0\",\"1\"]\n"},
		{"null for a value", "{a: 1, b: null}", "{a: null, b: {c: 1}}", "remove a 1\nadd b -> {\"c\":1}\n"},
		{"null labels", "metadata: {name: x, labels: null}", "metadata: {name: x, labels: {a: b}}", "add metadata.labels.a -> \"b\"\n"},
		{"another kind", "a: {b: 1}", "a: [1]", "change a {\"b\":1} -> [1]\n"},
		{"a map comes whole", "a: 1", "{a: 1, b: {c: {d: 1}}}", "add b -> {\"c\":{\"d\":1}}\n"},
		{"a key that is no word", "{x: {a.b/c: 1, '': 2}}", "{x: {a.b/c: 2, '': 3}}", "change x[] 2 -> 3\nchange x[a.b/c] 1 -> 2\n"},
		{"labels are told apart", "metadata: {name: x}", "metadata: {name: x, labels: {a: b, c: d}}",
			"add metadata.labels.a -> \"b\"\nadd metadata.labels.c -> \"d\"\n"},
		{"a key with a break", `{"a\nb": 1}`, `{"a\nb": 2}`, "change [\"a\\nb\"] 1 -> 2\n"},

		{"values", "a: [x, y]", "a: [z, x, y]", "add a[=\"z\"] -> \"z\"\n"},
		{"values in another order", "a: [x, y]", "a: [y, x]", "reorder a [\"=\\\"x\\\"\",\"=\\\"y\\\"\"] -> [\"=\\\"y\\\"\",\"=\\\"x\\\"\"]\n"},
		{"a value twice", "a: [x, x]", "a: [x, y, x]", "add a[1] -> \"y\"\n"},
		{"names", "a: [{name: x, v: 1}, {name: y, v: 1}]", "a: [{name: z}, {name: x, v: 1}, {name: y, v: 2}]",
			"change a[name=y].v 1 -> 2\nadd a[name=z] -> {\"name\":\"z\"}\n"},
		{"names in another order", "a: [{name: x}, {name: y}, {name: z}]", "a: [{name: z}, {name: x}, {name: w}]",
			"remove a[name=y] {\"name\":\"y\"}\nadd a[name=w] -> {\"name\":\"w\"}\nreorder a [\"name=x\",\"name=z\"] -> [\"name=z\",\"name=x\"]\n"},
		{"a pool in front", "pools: [{nodeSelector: {h: n1}, c: 1}, {nodeSelector: {h: n2}, c: 1}]",
			"pools: [{nodeSelector: {h: n0}, c: 1}, {nodeSelector: {h: n1}, c: 1}, {nodeSelector: {h: n2}, c: 2}]",
			"change pools[h=n2].c 1 -> 2\nadd pools[h=n0] -> {\"nodeSelector\":{\"h\":\"n0\"},\"c\":1}\n"},
		{"a disk replaced", "g: [{d: [{blockDeviceName: a}, {blockDeviceName: b}]}, {d: [{blockDeviceName: c}, {blockDeviceName: e}]}]",
			"g: [{d: [{blockDeviceName: c}, {blockDeviceName: e}]}, {d: [{blockDeviceName: a}, {blockDeviceName: x}]}]",
			"remove g[1].d[blockDeviceName=b] {\"blockDeviceName\":\"b\"}\nadd g[1].d[blockDeviceName=x] -> {\"blockDeviceName\":\"x\"}\nreorder g [\"1\",\"0\"] -> [\"0\",\"1\"]\n"},
		{"a group goes", "g: [{d: [{blockDeviceName: a}]}, {d: [{blockDeviceName: b}]}]", "g: [{d: [{blockDeviceName: b}]}]",
			"remove g[0] {\"d\":[{\"blockDeviceName\":\"a\"}]}\n"},
		{"one key, several times", "t: [{key: a, v: 1}, {key: a, v: 2}]", "t: [{key: a, v: 1}, {key: a, v: 3}]", "change t[1].v 2 -> 3\n"},
		{"one of one", "g: [{d: 1}]", "g: [{e: 1}]", "remove g[0].d 1\nadd g[0].e -> 1\n"},
		{"all go", "a: [x]", "a: []", "remove a[=\"x\"] \"x\"\n"},
		{"mixed", "a: [x, {b: 1}, [c]]", "a: [[c], x, {b: 2}]",
			"remove a[1] {\"b\":1}\nadd a[2] -> {\"b\":2}\nreorder a [\"1\",\"0\"] -> [\"0\",\"1\"]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, new := document.Source{Data: []byte(c.old)}, document.Source{Data: []byte(c.new)}
			a, err := document.Parse(&old)
			if err != nil {
				t.Fatal(err)
			}
			b, err := document.Parse(&new)
			if err != nil {
				t.Fatal(err)
			}
			if got := lines(Fields(&a[0].Node, &b[0].Node)); got != c.want {
				t.Errorf("got:\n%swant:\n%s", got, c.want)
			}
		})
	}
}

// A shape is a path without what names an item, so that a rule finds it.
func TestShape(t *testing.T) {
	f := Field{Shape: "spec.pools[].poolConfig.resources.limits.cpu"}
	for shape, want := range map[string]bool{
		"spec": true, "spec.pools": true, "spec.pools[]": true, "spec.pools[].poolConfig.resources": true,
		"spec.pool": false, "spec.pools[].poolConfig.res": false, "spec.pools[].poolConfig.resources.limits.cpu": true, "status": false,
	} {
		if f.Under(shape) != want {
			t.Errorf("%s: %v", shape, !want)
		}
	}
	old, new := parse(t, "a: [{name: x, b.c: {d: 1}}]"), parse(t, "a: [{name: x, b.c: {d: 2}}]")
	if fs := Fields(old[0].Node, new[0].Node); len(fs) != 1 || fs[0].Shape != "a[][b.c].d" || fs[0].Path != "a[name=x][b.c].d" {
		t.Errorf("%+v", fs)
	}
}

const before = `
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, namespace: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gone, namespace: a}
---
apiVersion: apps/v1beta1
kind: Deployment
metadata: {name: d, namespace: a, annotations: {config.kubernetes.io/local-config: "true"}}
`

const after = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: a, annotations: {config.kubernetes.io/local-config: "true"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: a, name: kept}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gone, namespace: b}
`

func TestBetween(t *testing.T) {
	changes := Between(parse(t, before), parse(t, after))
	var got []string
	for _, c := range changes {
		got = append(got, string(c.Action)+" "+c.Ref.String()+"\n"+lines(c.Fields))
	}
	want := []string{
		"remove ConfigMap a/gone\n", "create ConfigMap b/gone\n",
		"change Deployment a/d\nchange apiVersion \"apps/v1beta1\" -> \"apps/v1\"\n",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if changes[0].GitOnly() || !changes[2].GitOnly() {
		t.Error("only the Deployment is not for the cluster")
	}
}

// The riskiest comes first, and what is not for the cluster last.
func TestSort(t *testing.T) {
	changes := Between(parse(t, before), parse(t, after))
	changes[0].Judge(Safe, "", "a")
	changes[1].Judge(Safe, "", "b")
	changes[1].Judge(Destructive, "x", "c")
	changes[1].Judge(Disruptive, "x", "d")
	changes[2].Judge(Safe, "", "e")
	Sort(changes)
	if c := changes[0]; c.Risk != Destructive || c.Reasons[0].Text != "c" || c.Reasons[1].Text != "d" || c.Reasons[2].Text != "b" {
		t.Errorf("%+v", c)
	}
	if !changes[2].GitOnly() {
		t.Error("what is in Git only comes last")
	}
}
