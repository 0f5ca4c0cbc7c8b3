package snapshot

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
)

// Both forms of a file say what the snapshot says, and Count counts them.
func TestWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := Kind{Resource: cluster.Resource{Version: "v1", Kind: "Node", Plural: "nodes"}}
		slim := Options{}.slimmer(&system.Kind{Keep: "spec"})
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

// That there is no object of a kind is a fact, and that the kind is not there is none,
// nor what was not looked at.
func TestNone(t *testing.T) {
	function := fn.New(schema.Load(), systems.All()...)
	const group, kind = "cstor.openebs.io", "CStorVolumeReplica"
	k := Kind{Resource: cluster.Resource{Group: group, Version: "v1", Kind: kind, Plural: "cstorvolumereplicas", Namespaced: true}}
	told := func(objects []*krm.Object, namespace string) bool {
		return inventory.New(objects).Tells(group, kind, namespace)
	}
	for _, objects := range [][]*krm.Object{(&Snapshot{Kinds: []Kind{k}}).Objects(), Facts(k.Resource, &system.Kind{}, nil)} {
		if !told(objects, "openebs") || inventory.New(objects).Tells(group, "CStorPoolInstance", "openebs") {
			t.Errorf("%v", objects)
		}
	}
	k.Scope = "openebs"
	for _, items := range [][]item{nil, {{json: `{"apiVersion":"cstor.openebs.io/v1","kind":"CStorVolumeReplica","metadata":{"name":"v","namespace":"openebs"}}`}}} {
		k.items = items
		for _, f := range []Format{YAML, JSON} {
			var file bytes.Buffer
			if err := k.Write(&file, f); err != nil {
				t.Fatal(err)
			}
			objects, err := krm.Parse(&document.Source{Data: file.Bytes()})
			if err != nil {
				t.Fatal(err)
			}
			facts, findings := function.Facts(objects, true)
			if len(findings) > 0 || !told(facts, "openebs") || told(facts, "other") {
				t.Errorf("%d items: %v\n%s", len(items), findings, file.Bytes())
			}
			// kustomize may have renamed it. Then what is in it shows what it is of.
			renamed, err := krm.Parse(&document.Source{Data: bytes.Replace(file.Bytes(), []byte(k.Plural), []byte("p-"+k.Plural), 1)})
			if err != nil {
				t.Fatal(err)
			}
			facts, _ = function.Facts(renamed, true)
			if told(facts, "openebs") != (len(items) > 0) || told(facts, "other") {
				t.Errorf("%d items, renamed", len(items))
			}
			whole := strings.Replace(file.String(), krm.AnnotationScope, "n", 1)
			if objects, err = krm.Parse(&document.Source{Data: []byte(whole)}); err != nil {
				t.Fatal(err)
			}
			facts, _ = function.Facts(objects, true)
			if !told(facts, "other") {
				t.Errorf("%d items: the whole cluster does not tell of a namespace\n%s", len(items), whole)
			}
		}
	}
}
