package kustomize

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/expected"
)

// newInventory puts an inventory of one node into the place of the one in a package.
func newInventory(t *testing.T, dir, node string) {
	t.Helper()
	next := filepath.Join(dir, ".next")
	if err := os.Mkdir(next, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		text := "apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata:\n  name: " + name +
			"\n  annotations: {config.kubernetes.io/local-config: \"true\"}\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: " + node + "}}\n"
		if err := os.WriteFile(filepath.Join(next, name+".yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	inventory := filepath.Join(dir, "inventory")
	if err := os.RemoveAll(inventory); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, inventory); err != nil {
		t.Fatal(err)
	}
}

// TestBuildReadsAnInventoryAsOne: what is exchanged while kustomize reads it is read
// again, and a mixture is never given out.
func TestBuildReadsAnInventoryAsOne(t *testing.T) {
	dir := t.TempDir()
	list := []byte("resources: [inventory/a.yaml, inventory/b.yaml]\n")
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), list, 0o644); err != nil {
		t.Fatal(err)
	}
	newInventory(t, dir, "old")
	nodes := ""
	process := func(rl *krm.ResourceList) []finding.Finding {
		nodes = ""
		for _, o := range rl.Items {
			for _, n := range o.Node.Seq("items") {
				nodes += n.Str("metadata", "name") + " "
			}
		}
		return nil
	}
	exchanges := 0
	exchange := func(most int) func(string) {
		exchanges = 0
		return func(path string) {
			if strings.HasSuffix(path, "a.yaml") && exchanges < most {
				exchanges++
				newInventory(t, dir, "new")
			}
		}
	}
	if _, fs, err := Build(dir, Options{Process: process, onFile: exchange(1)}); err != nil || len(fs) > 0 || exchanges != 1 || nodes != "new new " {
		t.Errorf("nodes %q, %v, %v", nodes, fs, err)
	}
	const want expected.Text = "its inventory was exchanged each of the 3 times that it was read, so that nothing is known for sure; wait until nobody writes it, and try again"
	if out, fs, err := Build(dir, Options{Process: process, onFile: exchange(1000)}); err != nil || len(fs) != 1 || !want.In(t, fs[0].Message) || len(out) > 0 {
		t.Errorf("got %q, %v, %v", out, fs, err)
	}
}
