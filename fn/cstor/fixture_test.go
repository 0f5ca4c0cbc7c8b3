package cstor_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Packages in testdata, each with the inventory of the cluster that it was applied to.
const (
	local = "two-mirrors"  // and a spare disk on each of two nodes, which are not called as their hosts are
	cloud = "cloud-stripe" // of two cloud disks on one node
)

// edit puts new in place of old in the files whose names begin with a text. Without
// old it drops the files or, where there is new, adds a file of that name.
type edit struct{ on, old, new string }

const (
	nodeA    = "node-a"
	instance = "cspi-"
	poolA    = "cspi-prod-a"
	poolB    = "cspi-prod-b"
	cspc     = "cspc-"
	claims   = "bdc-"
)

// withReplica adds a volume's replica on a pool on the host of node b.
func withReplica(namespace, pool string) edit {
	return edit{"cvr", "", fmt.Sprintf(`
apiVersion: cstor.openebs.io/v1
kind: CStorVolumeReplica
metadata:
  name: v-%[2]s
  namespace: %[1]s
  labels:
    cstorpoolinstance.openebs.io/name: %[2]s
  annotations:
    cstorpoolinstance.openebs.io/hostname: host-b
`, namespace, pool)}
}

const (
	inOpenEBS = "  namespace: openebs\n"
	ours      = "  labels: {app.kubernetes.io/managed-by: poolwright}\n  annotations: {poolwright.io/owner: dao.mayadata.io/CStorClusterConfig/openebs/prod}\n"
)

// phase is that of a pool, and one condition beside it.
func phase(phase, condition string) string {
	return "phase: " + phase + "\n  conditions: [" + condition + "]"
}

// specOf reads the spec of a package in testdata.
func specOf(t *testing.T, name string) map[string]string {
	t.Helper()
	return filesIn(t, "packages/"+name)
}

// factsOf reads the inventory of a package in testdata.
func factsOf(t *testing.T, name string) map[string]string {
	t.Helper()
	return filesIn(t, "packages/"+name+"/inventory")
}

// renderedOf is what is rendered for a package, an object each, by kind and name.
func renderedOf(t *testing.T, name string) map[string]string {
	t.Helper()
	facts := parse(t, factsOf(t, name))
	for _, o := range facts {
		o.Path = inventory.Folder + "/facts.yaml"
	}
	r := poolwright().Render(fn.Package{Objects: append(parse(t, specOf(t, name)), facts...)})
	files := map[string]string{}
	for _, o := range r.Objects {
		files[strings.ToLower(o.Object.Kind)+"-"+o.Object.Name] = string(o.Object.Raw)
	}
	if len(files) == 0 {
		t.Fatal(r.Findings)
	}
	return files
}

// filesIn reads the files of a folder in testdata, by their names without .yaml.
func filesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("../../testdata", folder, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there is nothing in %s: %v", folder, err)
	}
	files := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(filepath.Base(path), ".yaml")] = string(text)
	}
	return files
}

func parse(t *testing.T, files map[string]string) []*krm.Object {
	t.Helper()
	objects := []*krm.Object{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		more, err := krm.Parse(&document.Source{Name: name, Data: []byte(files[name])})
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, more...)
	}
	return objects
}

func apply(t *testing.T, files map[string]string, edits []edit) map[string]string {
	t.Helper()
	edited := map[string]string{}
	maps.Copy(edited, files)
	for _, e := range edits {
		changed := e.old == "" && e.new != ""
		if changed {
			edited[e.on] = e.new
		}
		for name, text := range edited {
			switch {
			case changed && name == e.on, !strings.HasPrefix(name, e.on):
			case e.old == "" && e.new == "":
				changed = true
				delete(edited, name)
			case e.old != "" && strings.Contains(text, e.old):
				changed = true
				edited[name] = strings.ReplaceAll(text, e.old, e.new)
			}
		}
		if !changed {
			t.Fatalf("nothing to change: %v", e)
		}
	}
	return edited
}
