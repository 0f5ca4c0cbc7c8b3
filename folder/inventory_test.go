package folder

import (
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn"
)

const (
	snapshotYAML = "apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata:\n  name: nodes\n  labels:\n    app.kubernetes.io/managed-by: poolwright\nitems:"
	snapshotJSON = `{"apiVersion":"poolwright.io/v1alpha1","kind":"Inventory","metadata":{"name":"nodes","labels":{"app.kubernetes.io/managed-by":"poolwright"}},"items":[`
)

func TestIsSnapshot(t *testing.T) {
	large := strings.Repeat("- apiVersion: v1\n", 10000)
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"yaml":              {snapshotYAML + "\n" + large, true},
		"empty":             {snapshotYAML + " []\n", true},
		"windows":           {strings.ReplaceAll(snapshotYAML, "\n", "\r\n") + " []\r\n", true},
		"comment above":     {"# mine now\n" + snapshotYAML + " []\n", true},
		"conflict":          {snapshotYAML + "\n<<<<<<< HEAD\n" + large, true},
		"json":              {snapshotJSON + "\n" + `{"kind":"Node"}` + "\n]}\n", true},
		"empty json":        {snapshotJSON + "\n]}\n", true},
		"sorted json":       {`{"apiVersion":"poolwright.io/v1alpha1","items":[],"kind":"Inventory","metadata":{"labels":{"app.kubernetes.io/managed-by":"poolwright"}}}`, true},
		"json by hand":      {`{"apiVersion":"poolwright.io/v1alpha1","items":[],"kind":"Inventory","metadata":{"name":"nodes"}}`, false},
		"yaml by hand":      {"apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata:\n  name: nodes\nitems: []\n", false},
		"two documents":     {snapshotYAML + " []\n---\n" + snapshotYAML + " []\n", true},
		"other documents":   {"a: 1\n---\n" + snapshotYAML + " []\n", false},
		"rendered":          {"apiVersion: v1\nkind: Secret\nmetadata:\n  labels:\n    app.kubernetes.io/managed-by: poolwright\n", false},
		"nothing":           {"", false},
		"not yaml":          {"{{", false},
		"a list of kubectl": {"apiVersion: v1\nitems:\n" + large + "kind: List\n", false},
	} {
		path := filepath.Join(t.TempDir(), "f.yaml")
		put(t, path, c.text)
		if got, err := isSnapshot(onDisk(filepath.Dir(path)), filepath.Base(path)); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func content(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		for part := range slices.Chunk([]byte(text), 7) {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestInventoryPlan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "inventory")
	write := func(files map[string]string) *Plan {
		t.Helper()
		var list []InventoryFile
		for _, name := range slices.Sorted(maps.Keys(files)) {
			list = append(list, InventoryFile{Name: name, Write: content(files[name])})
		}
		plan, err := NewInventoryPlan(dir, list)
		if err != nil {
			t.Fatal(err)
		}
		if err := plan.Write(context.Background()); err != nil {
			t.Fatal(err)
		}
		return plan
	}
	a := map[string]string{"a.yaml": snapshotYAML + " []\n", "b.yaml": snapshotYAML + "\n- kind: Node\n"}
	if plan := write(a); plan.Count(Add) != 2 || !maps.Equal(files(t, dir), a) {
		t.Errorf("%v", plan.Changes)
	}
	if plan := write(a); len(plan.Changes) != 0 || plan.Unchanged != 2 {
		t.Errorf("%v", plan.Changes)
	}
	put(t, filepath.Join(dir, "mine.yaml"), "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n")
	// Longer, shorter and different.
	for _, text := range []string{snapshotYAML + " []\n\n", snapshotYAML + " []", snapshotYAML + " {}\n"} {
		if plan := write(map[string]string{"a.yaml": text, "b.yaml": a["b.yaml"]}); plan.Count(Change) != 1 || plan.Unchanged != 1 {
			t.Errorf("%q: %v", text, plan.Changes)
		}
	}
	if plan := write(map[string]string{"c.yaml": a["a.yaml"]}); plan.Count(Add) != 1 || plan.Count(Remove) != 2 {
		t.Errorf("%v", plan.Changes)
	}
	if got := files(t, dir); len(got) != 2 || got["mine.yaml"] == "" {
		t.Errorf("%v", got)
	}
	before := files(t, dir)
	_, err := NewInventoryPlan(dir, []InventoryFile{{Name: "mine.yaml", Write: content("x")}, {Name: "c.yaml", Write: content("x")}})
	if err == nil || !strings.Contains(err.Error(), "mine.yaml; delete it") || !maps.Equal(before, files(t, dir)) {
		t.Error(err)
	}
}

func TestBeside(t *testing.T) {
	for _, marked := range []bool{false, true} {
		dir := t.TempDir()
		if marked {
			put(t, filepath.Join(dir, "Kptfile"), "")
		}
		put(t, filepath.Join(dir, "a.yaml"), secret("a"))
		put(t, filepath.Join(dir, "broken.yaml"), "{{")
		put(t, filepath.Join(dir, "large.yaml"), "#"+strings.Repeat("x", fn.MaxSpec)+"\n"+secret("large"))
		put(t, filepath.Join(dir, "sub", "b.yaml"), secret("b"))
		put(t, filepath.Join(dir, "inventory", "c.yaml"), secret("c"))
		put(t, filepath.Join(dir, "rendered", "d.yaml"), secret("d"))
		if marked != isPackage(dir) && !exists(filepath.Join(dir, fn.RenderedFolder)) {
			t.Error("not told by its mark")
		}
		if !marked {
			if err := os.RemoveAll(filepath.Join(dir, "rendered")); err != nil {
				t.Fatal(err)
			}
		}
		want := map[bool]string{false: "a", true: "a b"}[marked]
		if got := names(Beside(filepath.Join(dir, "inventory"))); got != want {
			t.Errorf("marked %v: %s, want %s", marked, got, want)
		}
	}
}

func TestListed(t *testing.T) {
	for _, c := range []struct{ resources, lacks, stale string }{
		{"[inventory]", "", ""},
		{"[inventory/nodes.yaml, ./inventory/disks.yaml]", "", ""},
		{"[inventory/nodes.yaml]", "inventory/disks.yaml", ""},
		{"[cstor.yaml]", "inventory/disks.yaml inventory/nodes.yaml", ""},
		{"[inventory/nodes.yaml, inventory/disks.yaml, inventory/gone.yaml, other/gone.yaml]", "", "inventory/gone.yaml"},
	} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "kustomization.yml"), "resources: "+c.resources+"\n")
		put(t, filepath.Join(dir, "inventory", "nodes.yaml"), "")
		put(t, filepath.Join(dir, "inventory", "disks.yaml"), "")
		_, lacks, stale := Listed(filepath.Join(dir, "inventory"), []string{"nodes.yaml", "disks.yaml"})
		if strings.Join(lacks, " ") != c.lacks || strings.Join(stale, " ") != c.stale {
			t.Errorf("%s: lacks %q, stale %q", c.resources, lacks, stale)
		}
	}
	if path, lacks, stale := Listed(filepath.Join(t.TempDir(), "inventory"), []string{"nodes.yaml"}); path != "" || lacks != nil || stale != nil {
		t.Errorf("without a kustomization: %q %q %q", path, lacks, stale)
	}
}
