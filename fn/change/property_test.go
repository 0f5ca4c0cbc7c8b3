package change

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// drawNode draws a tree of the words and lists that manifests have.
func drawNode(t *rapid.T, depth int) document.Node {
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	switch {
	case depth == 0 || kind < 3:
		return document.Text(rapid.SampledFrom([]string{"a", "b", "c", "1", "true"}).Draw(t, "text"))
	case kind == 3 && rapid.Bool().Draw(t, "null"):
		return document.Node{}
	case kind == 3:
		return document.Int(int64(rapid.IntRange(0, 2).Draw(t, "number")))
	case kind < 7:
		n := document.Object()
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"name", "key", "type", "blockDeviceName", "nodeSelector", "x.y", "z"}), 0, 4, rapid.ID[string]).Draw(t, "keys") {
			n.Set(key, drawNode(t, depth-1))
		}
		return n
	}
	n := document.List()
	for range rapid.IntRange(0, 4).Draw(t, "items") {
		n.Add(drawNode(t, depth-1))
	}
	return n
}

func drawRoot(t *rapid.T) document.Node {
	return document.Object(document.F("spec", drawNode(t, 4)))
}

// bare leaves out of a tree the keys without a value, which are as good as absent.
func bare(n *document.Node) *document.Node {
	out := n.Copy()
	if out.Kind() == document.Map {
		out.SetFields(slices.DeleteFunc(out.Fields(), func(f document.Field) bool { return f.Value.Kind() == document.Null }))
	}
	for i := range out.Fields() {
		out.Fields()[i].Value = *bare(&out.Fields()[i].Value)
	}
	for i := range out.Items() {
		out.Items()[i] = *bare(&out.Items()[i])
	}
	return &out
}

// What is equal has no difference, and what is not has one; the order of keys
// does not matter, and back is forth the other way round.
func TestFieldsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawRoot(t), drawRoot(t)
		if got := lines(Fields(&a, &a)); got != "" {
			t.Fatalf("to itself:\n%s", got)
		}
		forth := Fields(&a, &b)
		if equal := document.Equal(bare(&a), bare(&b)); (len(forth) == 0) != equal {
			t.Fatalf("%d differences, equal %v", len(forth), equal)
		}
		if mixed := Fields(shuffled(&a), shuffled(&b)); lines(mixed) != lines(forth) {
			// Values are written as they stand, so compare what they are.
			if len(mixed) != len(forth) {
				t.Fatalf("in another order of keys:\n%sand not:\n%s", lines(mixed), lines(forth))
			}
			for i := range mixed {
				if mixed[i].Path != forth[i].Path || mixed[i].Action != forth[i].Action || !document.Equal(mixed[i].Old, forth[i].Old) || !document.Equal(mixed[i].New, forth[i].New) {
					t.Fatalf("in another order of keys:\n%sand not:\n%s", lines(mixed), lines(forth))
				}
			}
		}
	})
}

// shuffled is a tree with its keys in another order.
func shuffled(n *document.Node) *document.Node {
	out := n.Copy()
	for i := range out.Fields() {
		out.Fields()[i].Value = *shuffled(&out.Fields()[i].Value)
	}
	for i := range out.Items() {
		out.Items()[i] = *shuffled(&out.Items()[i])
	}
	slices.Reverse(out.Fields())
	return &out
}

// A new item in a list of named items is one field, wherever it stands; so is one
// that is gone.
func TestNamedItem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom([]string{"name", "blockDeviceName"}).Draw(t, "key")
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{3,5}`), 1, 8, rapid.ID[string]).Draw(t, "names")
		var items []document.Node
		for _, name := range names {
			items = append(items, document.Object(document.F(key, document.Text(name)), document.F("v", drawNode(t, 2))))
		}
		at := rapid.IntRange(0, len(names)-1).Draw(t, "place")
		fewer := slices.Delete(slices.Clone(items), at, at+1)
		with := document.Object(document.F("l", document.List(items...)))
		without := document.Object(document.F("l", document.List(fewer...)))
		path := "l[" + key + "=" + names[at] + "]"
		if fs := Fields(&without, &with); len(fs) != 1 || fs[0].Action != Add || fs[0].Path != path || !document.Equal(fs[0].New, &items[at]) {
			t.Fatalf("added:\n%s", lines(fs))
		}
		if fs := Fields(&with, &without); len(fs) != 1 || fs[0].Action != Remove || fs[0].Path != path {
			t.Fatalf("removed:\n%s", lines(fs))
		}
	})
}

// The order of the objects does not matter.
func TestBetweenOrder(t *testing.T) {
	want := summary(Between(parse(t, before), parse(t, after)))
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		old, new := parse(t, before), parse(t, after)
		for _, set := range [][]*krm.Object{old, new} {
			r.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
		}
		if got := summary(Between(old, new)); got != want {
			t.Fatalf("got:\n%swant:\n%s", got, want)
		}
	}
}

func summary(changes []*Change) string {
	var b strings.Builder
	for _, c := range changes {
		b.WriteString(string(c.Action) + " " + c.Ref.String() + "\n" + lines(c.Fields))
	}
	return b.String()
}

// FuzzFields compares any two documents.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{before, after, "a: [1, x, {b: 1}, [c]]\n", "a: [{name: x}, {name: x}]\n", "[]", "x", "{a: {}, b: [[], {}]}", "metadata: {labels: [], annotations: x}", "a: [~, {b: ~}]", "? \"\\n\"\n: 1\n"} {
		f.Add(seed, before)
		f.Add("a: [x]", seed)
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		a, err := document.Parse(&document.Source{Data: []byte(one)})
		b, err2 := document.Parse(&document.Source{Data: []byte(other)})
		if err != nil || err2 != nil || len(a) == 0 || len(b) == 0 {
			return
		}
		fields := Fields(&a[0].Node, &b[0].Node)
		if document.Equal(bare(&a[0].Node), bare(&b[0].Node)) != (len(fields) == 0) && !strings.Contains(one+other, "metadata") {
			t.Errorf("%d differences", len(fields))
		}
		for _, f := range fields {
			if strings.ContainsAny(f.Path, "\n\r\x1b") {
				t.Errorf("%q is no path", f.Path)
			}
		}
	})
}
