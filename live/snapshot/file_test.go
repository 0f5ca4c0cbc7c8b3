package snapshot

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
)

// Both forms of a file say what the snapshot says, and Count counts them.
func TestWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := Kind{Resource: cluster.Resource{Version: "v1", Kind: "Node", Plural: "nodes"}}
		slim := Options{}.slimmer(k.Resource, parseMask("spec"))
		for i := range rapid.IntRange(0, 4).Draw(t, "objects") {
			n := document.Object(
				document.F("metadata", document.Object(document.F("name", document.Text(fmt.Sprint("n", i))))),
				document.F("spec", document.Object(
					document.F(rapid.String().Draw(t, "key"), document.Text(rapid.String().Draw(t, "text"))),
					document.F("list", document.List(document.Int(rapid.Int64().Draw(t, "number")), document.Bool(true), document.Object())),
				)),
			)
			k.items = append(k.items, slim.item(mustParse(document.AppendJSON(nil, &n))))
		}
		want := k.Objects()
		for _, f := range []Format{YAML, JSON} {
			var file bytes.Buffer
			if err := k.Write(&file, f); err != nil {
				t.Fatal(err)
			}
			if n := Count(bytes.NewReader(file.Bytes())); n != len(want) {
				t.Fatalf("%s: counted %d, want %d", f, n, len(want))
			}
			objects, err := krm.Parse(&document.Source{Data: file.Bytes()})
			if err != nil || len(objects) != 1 || objects[0].Kind != "Inventory" || objects[0].Name != "nodes" ||
				objects[0].Label(krm.LabelManagedBy) != krm.ManagedBy || objects[0].Annotation(krm.AnnotationLocalConfig) != "true" {
				t.Fatalf("%v\n%s", err, file.Bytes())
			}
			items := objects[0].Node.Seq("items")
			if len(items) != len(want) {
				t.Fatalf("%s: %d items, want %d", f, len(items), len(want))
			}
			for i := range items {
				if !document.Equal(&items[i], want[i].Node) {
					t.Fatalf("%s: item %d differs\n%s", f, i, file.Bytes())
				}
			}
		}
	})
}

// That there is no object of a kind is a fact, and that the kind is not there is none.
func TestNone(t *testing.T) {
	s := Snapshot{Kinds: []Kind{{Resource: cluster.Resource{
		Group: "cstor.openebs.io", Version: "v1", Kind: "CStorVolumeReplica", Plural: "cstorvolumereplicas", Namespaced: true,
	}}}}
	for _, objects := range [][]*krm.Object{s.Objects(), Facts(s.Kinds[0].Resource, nil)} {
		facts := inventory.New(objects)
		if !facts.Tells("cstor.openebs.io", "CStorVolumeReplica") || facts.Tells("cstor.openebs.io", "CStorPoolInstance") {
			t.Errorf("%v", objects)
		}
	}
}
