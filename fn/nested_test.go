package fn

import (
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// TestNestedPackages goes through the layouts of repositories. A path that ends in cstor.yaml
// has a spec.
func TestNestedPackages(t *testing.T) {
	tests := []struct {
		name   string
		files  string
		nested string
		own    bool
	}{
		{"a package", "cstor.yaml inventory/nodes.yaml poolwright.yaml", "", true},
		{"specs in folders", "a/cstor.yaml b/c/cstor.yaml inventory/nodes.yaml", "", true},
		{"inventory in folders", "cstor.yaml inventory/a/nodes.yaml inventory/inventory/nodes.yaml inventory/rendered/x.yaml", "", true},
		{"a folder of manifests beside", "cstor.yaml inventory/nodes.yaml operators/deployment.yaml", "", true},
		{"the only inventory elsewhere", "cstor.yaml facts/inventory/nodes.yaml", "", true},
		{"output elsewhere", "cstor.yaml inventory/nodes.yaml deploy/rendered/plan.yaml", "", true},
		{"a parent of two", "a/cstor.yaml a/inventory/nodes.yaml b/cstor.yaml b/rendered/plan.yaml", "a b", false},
		{"a grandparent", "x/y/a/specs/cstor.yaml x/y/a/inventory/nodes.yaml", "x/y/a", false},
		{"poolwright.yaml alone", "a/poolwright.yaml", "a", false},
		{"one below another", "cstor.yaml inventory/nodes.yaml a/cstor.yaml a/inventory/nodes.yaml", "a", true},
		{"one in one below", "a/cstor.yaml a/inventory/nodes.yaml a/b/cstor.yaml a/b/inventory/nodes.yaml", "a a/b", false},
		{"overlays with an inventory each", "base/cstor.yaml a/inventory/nodes.yaml b/inventory/nodes.yaml", "a b", false},
		{"an overlay with its lock", "base/cstor.yaml a/inventory/nodes.yaml a/rendered/plan.yaml", "a", false},
	}
	for _, test := range tests {
		var objects []*krm.Object
		for file := range strings.FieldsSeq(test.files) {
			text := "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}"
			switch {
			case strings.HasSuffix(file, "cstor.yaml"):
				text = "{apiVersion: v1, kind: List, items: [{apiVersion: dao.mayadata.io/v1alpha1, kind: CStorClusterConfig, metadata: {name: x}}]}"
			case strings.HasSuffix(file, ConfigFile):
				text = "{apiVersion: poolwright.io/v1alpha1, kind: RenderConfig, metadata: {name: x}}"
			}
			read, err := krm.Parse(&document.Source{Name: file, Data: []byte(text)})
			if err != nil {
				t.Fatal(err)
			}
			read[0].Path = file
			objects = append(objects, read[0])
		}
		nested, own := poolwright().NestedPackages(objects)
		slices.Sort(nested)
		if got := strings.Join(nested, " "); got != test.nested || own != test.own {
			t.Errorf("%s: %q, own %t; want %q, own %t", test.name, got, own, test.nested, test.own)
		}
	}
}
