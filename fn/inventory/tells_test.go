package inventory_test

import (
	"testing"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// What facts list a kind, and of which namespaces.
func TestTells(t *testing.T) {
	const (
		replica = "apiVersion: cstor.openebs.io/v1\nkind: CStorVolumeReplica\nmetadata: {name: r, namespace: a}\n"
		none    = "apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata: {name: cstorvolumereplicas}\nitems: []\n"
		list    = "apiVersion: cstor.openebs.io/v1\nkind: CStorVolumeReplicaList\nmetadata: {resourceVersion: \"7\"}\nitems: []\n"
		noneOfA = "apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata: {name: cstorvolumereplicas, annotations: {poolwright.io/namespace: a}}\nitems: []\n"
	)
	for name, c := range map[string]struct {
		facts string
		told  map[string]bool
	}{
		"nothing":                    {"", map[string]bool{"a": false, "b": false, "": false}},
		"an object":                  {replica, map[string]bool{"a": true, "b": false, "": true}},
		"an empty list":              {none, map[string]bool{"a": true, "b": true, "": true}},
		"an empty list of the kind":  {list, map[string]bool{"a": true, "b": true, "": true}},
		"an empty list of namespace": {noneOfA, map[string]bool{"a": true, "b": false, "": false}},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := krm.Parse(&document.Source{Name: "facts.yaml", Data: []byte(c.facts)})
			if err != nil {
				t.Fatal(err)
			}
			facts := inventory.New(objects)
			for namespace, want := range c.told {
				if got := facts.Tells("cstor.openebs.io", "CStorVolumeReplica", namespace); got != want {
					t.Errorf("of namespace %q: told %v, want %v", namespace, got, want)
				}
			}
		})
	}
}
