package krm

import (
	"testing"

	"github.com/poolwright/poolwright/schema/document"
)

// TestFileText: an item gives the text of its file again.
func TestFileText(t *testing.T) {
	rl := read(t, kptList)
	for i, want := range []string{
		"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: x\n",
		"# about the spec\napiVersion: dao.mayadata.io/v1alpha1\nkind: CStorClusterConfig\nmetadata:\n  name: prod # inline\n  namespace: openebs\nspec:\n  # raid comment\n  poolConfig:\n    raidType: \"raidz9\"\n  script: |\n    - one\n\n    two\n# trailing\n",
		"# of the next\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  annotations:\n    keep: me\ndata:\n  k: v\n# end of file\n",
	} {
		text, exact := rl.Items[i].FileText()
		if string(text) != want || !exact {
			t.Errorf("item %d, exact %v:\n%s\nwant:\n%s", i, exact, text, want)
		}
	}
}

// TestFileTextEncoded: what cannot be cut out is encoded, with the same content.
func TestFileTextEncoded(t *testing.T) {
	const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
	for name, c := range map[string]struct{ text, want string }{
		"json":            {`{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[{"kind":"A","metadata":{"annotations":{"internal.config.kubernetes.io/path":"a"}}}]}`, "kind: A\n"},
		"flow":            {head + "- kind: A\n  metadata: {name: a, annotations: {config.kubernetes.io/index: '0'}}\n", "kind: A\nmetadata:\n  name: a\n"},
		"several lines":   {head + "- kind: A\n  metadata:\n    name: a\n    annotations:\n      b: c\n      internal.config.kubernetes.io/path: a\n        b\n", "kind: A\nmetadata:\n  name: a\n  annotations:\n    b: c\n"},
		"with the dash":   {head + "- metadata:\n    annotations:\n      config.kubernetes.io/path: 'a'\n  kind: A\n", "kind: A\n"},
		"comment behind":  {head + "- kind: A\n  metadata:\n    name: a\n    annotations:\n      config.kubernetes.io/path: a # b\n", "kind: A\nmetadata:\n  name: a\n"},
		"quoted and long": {head + "- kind: A\n  metadata:\n    name: a\n    annotations:\n      config.kubernetes.io/path: \"a\\\n        b\"\n", "kind: A\nmetadata:\n  name: a\n"},
	} {
		text, exact := read(t, c.text).Items[0].FileText()
		if string(text) != c.want || exact {
			t.Errorf("%s: exact %v:\n%s\nwant:\n%s", name, exact, text, c.want)
		}
	}
}

// FuzzFileText holds that the text of an item has its content, but for what a tool added.
func FuzzFileText(f *testing.F) {
	f.Add(kptList)
	const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
	f.Add(head + "  -\n    a: b\n    metadata:\n      annotations:\n        config.kubernetes.io/path: x\n  - - a\n")
	f.Add(head + "- metadata:\n   annotations:\n    config.kubernetes.io/path: 'x''y'\n    b: |+\n      c\n\n- a: \"b\n\n  c\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		rl, err := ReadResourceList(&document.Source{Name: "stdin", Data: []byte(text)})
		if err != nil {
			return
		}
		for i, o := range rl.Items {
			file, _ := o.FileText()
			docs, err := document.Parse(&document.Source{Data: file})
			want := withoutAdded(o.Node)
			if err != nil || len(docs) > 1 {
				t.Fatalf("item %d of\n%q\ngives %d documents, %v:\n%q", i, text, len(docs), err, file)
			}
			if len(docs) == 0 && len(want.Fields()) == 0 {
				continue
			}
			if len(docs) == 0 || !document.Equal(&docs[0].Node, want) {
				t.Fatalf("item %d of\n%q\nhas another content:\n%q", i, text, file)
			}
		}
	})
}
