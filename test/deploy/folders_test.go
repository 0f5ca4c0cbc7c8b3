package deploy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// TestNothingIsDeployedTwice holds that each folder of deploy/ can be applied and
// removed without the others.
func TestNothingIsDeployedTwice(t *testing.T) {
	files, err := filepath.Glob("../../deploy/*/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	in := map[krm.ID]string{}
	for _, file := range files {
		dir := filepath.Dir(file)
		for _, kustomization := range objects(t, file) {
			for _, name := range kustomization.Node.Seq("resources") {
				for _, o := range objects(t, filepath.Join(dir, name.Value())) {
					if other, twice := in[o.ID()]; twice {
						t.Errorf("%s %s is in %s and in %s", o.Kind, o.Name, other, dir)
					}
					in[o.ID()] = dir
				}
			}
		}
	}
	if len(in) < 8 {
		t.Errorf("found only %d objects", len(in))
	}
}

func objects(t *testing.T, file string) []*krm.Object {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := krm.Parse(&document.Source{Name: file, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
