package hydration

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema"
)

// TestSameBytes: a judgement gives the files that poolwright render writes on a disk, for every example and
// every package of the tests, with and without the output of before.
func TestSameBytes(t *testing.T) {
	function := fn.New(schema.Load(), systems.All()...)
	root, err := filepath.Abs("../..")
	examples, err2 := filepath.Glob(filepath.Join(root, "examples/*"))
	packages, err3 := filepath.Glob(filepath.Join(root, "testdata/packages/*"))
	if err != nil || err2 != nil || err3 != nil || len(examples) < 5 || len(packages) < 5 {
		t.Fatal(examples, packages, err, err2, err3)
	}
	rendered := 0
	for _, dir := range append(examples, packages...) {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || filepath.Base(dir) == "templates" {
			continue
		}
		for _, kept := range []bool{true, false} {
			p, facts := packageOf(t, dir, kept)
			want := onDisk(t, function, p, facts)
			j, err := judge(function, p, facts)
			if err != nil {
				t.Errorf("%s: %v", dir, err)
				continue
			}
			got := p.With(j.inventory).With(j.rendered)
			if j.Failed() {
				got = p.With(facts.changes())
			}
			for _, name := range slices.Sorted(maps.Keys(want)) {
				if string(want[name]) != string(got.Files[name]) {
					t.Errorf("%s: %s is\n%s\nand poolwright render writes\n%s", dir, name, got.Files[name], want[name])
				}
			}
			if len(want) != len(got.Files) {
				t.Errorf("%s: %d files, and %d on the disk; %v", dir, len(got.Files), len(want), j.Findings)
			}
			if j.Failed() {
				if j.Publish(time.Time{}, time.Now(), 1) != nil {
					t.Errorf("%s: published with errors", dir)
				}
				continue
			}
			rendered++
			again, err := judge(function, got, facts)
			if err != nil || len(again.rendered) > 0 || len(again.inventory) > 0 || again.Output != j.Output {
				t.Errorf("%s: rendered again: %+v, %v", dir, again, err)
			}
		}
	}
	if rendered < 10 {
		t.Errorf("only %d packages were rendered", rendered)
	}
}

// changes are the files of the inventory that the facts change.
func (f Facts) changes() map[string][]byte {
	files := map[string][]byte{}
	for name, data := range f.Files {
		files["inventory/"+name] = data
	}
	return files
}

// packageOf reads a folder with files that were rendered, or without. Its inventory is the facts, with one
// file more for a cluster.
func packageOf(t *testing.T, dir string, kept bool) (Package, Facts) {
	t.Helper()
	p, f := Package{Dir: ".", Files: map[string][]byte{}}, Facts{Files: map[string][]byte{}}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		rel = filepath.ToSlash(rel)
		data, err := os.ReadFile(path)
		switch {
		case err != nil || !Reads(rel) || !kept && strings.HasPrefix(rel, fn.RenderedFolder+"/"):
			return err
		default:
			p.Files[rel] = data
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := p.memory().PlanInventory(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range snapshot.Changes {
		f.Files[c.Path()] = p.Files["inventory/"+c.Path()]
		delete(p.Files, "inventory/"+c.Path())
	}
	f.Files["cluster.yaml"] = clusterFile("one")
	f.Digest, f.Cluster = Digest(f.Files), "one"
	return p, f
}

func clusterFile(uid string) []byte {
	return []byte("apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata:\n  name: cluster\n  labels:\n    app.kubernetes.io/managed-by: poolwright\n" +
		"  annotations:\n    config.kubernetes.io/local-config: \"true\"\nitems:\n- apiVersion: v1\n  kind: Namespace\n  metadata:\n    name: kube-system\n    uid: " + uid + "\n")
}

// onDisk renders a package on a disk, and returns its files.
func onDisk(t *testing.T, function *fn.Function, p Package, f Facts) map[string][]byte {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, data := range p.With(f.changes()).Files {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	in := folder.Input{Dir: ".", Refuse: function.RefuseNested}
	pkg, findings, err := folder.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	if result := pkg.Render(function, findings); result.Objects != nil {
		plan, err := folder.NewPlan(fn.RenderedFolder, result.Objects, pkg)
		if err != nil {
			t.Fatal(err)
		}
		if err := plan.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string][]byte{}
	err = filepath.WalkDir(".", func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files[filepath.ToSlash(path)], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func judge(function *fn.Function, p Package, f Facts) (*Judgement, error) {
	return Judge(context.Background(), function, InProcess{function}, p, f)
}
