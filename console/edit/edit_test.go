package edit

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

func objectsOf(t *testing.T, files Files) []*krm.Object {
	t.Helper()
	var all []*krm.Object
	for _, name := range []string{"a/one.yaml", "a/two.yaml", "b/three.yaml"} {
		data, found := files[name]
		if !found {
			continue
		}
		objects, err := krm.Parse(&document.Source{Name: name, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, objects...)
	}
	return all
}

const barrel = "apiVersion: v1\nkind: Barrel\nmetadata:\n  name: NAME\n"

func named(name string) string { return strings.Replace(barrel, "NAME", name, 1) }

// TestCreateAndRemove: a file where most of its kind are, its line in the kustomization, and all of it back.
func TestCreateAndRemove(t *testing.T) {
	for _, list := range []string{
		"resources:\n- one.yaml\n- two.yaml # mine\n\ncommonLabels:\n  a: b\n",
		"resources:\n  - one.yaml\n  - two.yaml",
		"resources: [one.yaml, two.yaml]\nnamespace: x\n",
		"namespace: x\n",
	} {
		files := Files{"a/one.yaml": []byte(named("one")), "a/two.yaml": []byte(named("two")), "b/three.yaml": []byte(named("three")), "a/kustomization.yaml": []byte(list)}
		text := []byte("# new\n" + named("four"))
		o, err := krm.Parse(&document.Source{Data: text})
		if err != nil {
			t.Fatal(err)
		}
		change, err := Create(files, objectsOf(t, files), o[0], text)
		if err != nil {
			t.Fatal(err)
		}
		if got := change["a/barrel-four.yaml"]; !bytes.Equal(got, text) {
			t.Errorf("the file %q", got)
		}
		listed, err := document.Parse(&document.Source{Data: change["a/kustomization.yaml"]})
		if err != nil {
			t.Fatal(err)
		}
		items := listed[0].Node.Seq("resources")
		if n := len(items); n == 0 || items[n-1].Value() != "barrel-four.yaml" || n != 3 && list != "namespace: x\n" {
			t.Errorf("the list:\n%s", change["a/kustomization.yaml"])
		}
		after := files.With(change)
		objects, err := krm.Parse(&document.Source{Name: "a/barrel-four.yaml", Data: after["a/barrel-four.yaml"]})
		if err != nil {
			t.Fatal(err)
		}
		back, err := Remove(after, objects...)
		if err != nil {
			t.Fatal(err)
		}
		if data, gone := back["a/barrel-four.yaml"]; data != nil || !gone {
			t.Error("the file stays")
		}
		if got := string(back["a/kustomization.yaml"]); strings.HasPrefix(list, "resources:\n- ") && got != list {
			t.Errorf("not as before:\n%s", got)
		}
	}
}

// TestRemoveOfSeveral: of a file with several documents one goes, and the others keep their bytes.
func TestRemoveOfSeveral(t *testing.T) {
	parts := []string{"# first\n" + named("one"), "# second\n" + named("two"), named("three") + "# last\n"}
	for i, want := range []string{parts[1] + "---\n" + parts[2], parts[0] + "---\n" + parts[2], parts[0] + "---\n" + parts[1]} {
		files := Files{"a/one.yaml": []byte(strings.Join(parts, "---\n"))}
		change, err := Remove(files, objectsOf(t, files)[i])
		if err != nil {
			t.Fatal(err)
		}
		got, err := krm.Parse(&document.Source{Data: change["a/one.yaml"]})
		wanted, _ := krm.Parse(&document.Source{Data: []byte(want)})
		if err != nil || len(got) != 2 || string(got[0].Raw) != string(wanted[0].Raw) || string(got[1].Raw) != string(wanted[1].Raw) {
			t.Errorf("without %d: %v\n%s", i, err, change["a/one.yaml"])
		}
	}
}

// TestPatch: what does not change keeps its bytes.
func TestPatch(t *testing.T) {
	const text = "# top\nspec:\n  # the size\n  size: 50Gi # a week\n  mode: \"Block\"\n  list:\n  - a: 1 # one\n    b: x\n  - a: 2\n  flow: {a: 1, b: 2}\n\n# below\napiVersion: v1\nkind: Barrel\nmetadata:\n  name: one\n"
	for _, c := range []struct{ from, to, want string }{
		{"size: 50Gi", "size: 60Gi", "size: 60Gi # a week"},
		{"mode: \"Block\"", "mode: Filesystem", "mode: Filesystem\n"},
		{"    b: x\n", "    b: z\n", "a: 1 # one\n    b: z\n"},
		{"  mode: \"Block\"\n", "", "# a week\n  list:"},
		{"flow: {a: 1, b: 2}\n", "flow: {a: 1, b: 2}\n  more: yes it is\n", "flow: {a: 1, b: 2}\n  more: yes it is\n\n# below\n"},
		{"flow: {a: 1, b: 2}", "flow: {a: 1, b: 3}", "flow: {a: 1, b: 3}"},
		{"flow: {a: 1, b: 2}", "flow: {a: 1}", "flow:\n    a: 1\n\n# below"},
		{"  - a: 2\n", "  - a: 2\n  - a: 3\n", "  - a: 3\n  flow"},
	} {
		files := Files{"a/one.yaml": []byte(text)}
		o := objectsOf(t, files)[0]
		wanted, err := krm.Parse(&document.Source{Data: []byte(strings.Replace(text, c.from, c.to, 1))})
		if err != nil {
			t.Fatal(err)
		}
		change, err := Patch(files, o, wanted[0].Node)
		if err != nil {
			t.Fatal(err)
		}
		got := string(change["a/one.yaml"])
		if !strings.Contains(got, c.want) || !strings.HasPrefix(got, "# top\nspec:\n  # the size\n") || !strings.Contains(got, "# below\napiVersion") {
			t.Errorf("%q to %q:\n%s", c.from, c.to, got)
		}
	}
}

// TestPatchSays: whatever changes, the document says that afterwards, and the documents around it keep their bytes.
func TestPatchSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{"1", "a: b", "x", "", "two\nlines", "- a", "#", "'q'", "\"q\"", "50Gi", "true", "|"})
		key := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		var node func(depth int) document.Node
		node = func(depth int) document.Node {
			switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
			case depth > 2 || kind < 2:
				return document.Text(value.Draw(t, "value"))
			case kind < 4:
				n := document.Object()
				for range rapid.IntRange(0, 3).Draw(t, "fields") {
					n.Set(key.Draw(t, "key"), node(depth+1))
				}
				return n
			default:
				var items []document.Node
				for range rapid.IntRange(0, 3).Draw(t, "items") {
					items = append(items, node(depth+1))
				}
				return document.List(items...)
			}
		}
		object := func() *krm.Object { return krm.Make("v1", "Barrel", "", "one", document.F("spec", node(0))) }
		old, wanted := object(), object()
		first, last := "# first\n"+named("zero")+"---\n", "---\n# last\n"+named("two")
		files := Files{"a/one.yaml": joined(first, document.Append(nil, old.Node, 0), last)}
		all, err := krm.Parse(&document.Source{Name: "a/one.yaml", Data: files["a/one.yaml"]})
		if err != nil || len(all) != 3 {
			t.Fatal(err, len(all))
		}
		change, err := Patch(files, all[1], wanted.Node)
		if err != nil {
			t.Fatal(err)
		}
		text := change["a/one.yaml"]
		after, err := krm.Parse(&document.Source{Data: text})
		if err != nil || len(after) != 3 || !document.Equal(after[1].Node, wanted.Node) {
			t.Fatalf("%v\n%s", err, text)
		}
		if !bytes.HasPrefix(text, []byte(first)) || !bytes.HasSuffix(text, []byte(last)) {
			t.Fatalf("the others:\n%s", text)
		}
	})
}

func joined(first string, middle []byte, last string) []byte {
	return []byte(first + string(middle) + last)
}
