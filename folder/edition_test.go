package folder

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// exchangeInventory puts another snapshot into the place of an inventory, as
// poolwright inventory does.
func exchangeInventory(t *testing.T, pkg, cluster string) {
	t.Helper()
	next := filepath.Join(pkg, ".next")
	for _, kind := range []string{"blockdevices", "claims", "nodes"} {
		put(t, filepath.Join(next, kind+".yaml"), secret(cluster+"-"+kind))
	}
	if err := swap(filepath.Join(pkg, "inventory"), next); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(next); err != nil {
		t.Fatal(err)
	}
}

// TestInventoryIsReadAsOne: what is exchanged after any of its files was read is read
// again, so that what was read is of one cluster, and nothing else is read twice.
func TestInventoryIsReadAsOne(t *testing.T) {
	for after := range 3 {
		pkg := t.TempDir()
		put(t, filepath.Join(pkg, "a.yaml"), secret("spec"))
		exchangeInventory(t, pkg, "old")
		files := 0
		r := &reader{onFile: func(name string) {
			if strings.Contains(name, "inventory") {
				if files == after {
					exchangeInventory(t, pkg, "new")
				}
				files++
			}
		}}
		r.tree(pkg)
		got := names(r.objects)
		if got != "spec new-blockdevices new-claims new-nodes" || len(r.findings) > 0 || files <= 3 {
			t.Errorf("exchanged after file %d: %s, %d reads, %v", after, got, files, r.findings)
		}
	}
}

// TestInventoryThatChangesForEver: a mixture is never given out.
func TestInventoryThatChangesForEver(t *testing.T) {
	pkg := t.TempDir()
	exchangeInventory(t, pkg, "old")
	r := &reader{onFile: func(string) { exchangeInventory(t, pkg, "new") }}
	r.tree(pkg)
	if len(r.objects) > 0 || len(r.findings) != 1 || !strings.HasSuffix(r.findings[0].Pos.File, "/inventory") {
		t.Errorf("got %s, %v", names(r.objects), r.findings)
	}
}

func TestUnreadFilesAreNamed(t *testing.T) {
	pkg := t.TempDir()
	for _, name := range []string{
		"a.yaml", "b.YAML", "c.Yml", "d.yaml.gz", "e.gz", "logo.svg", ".hidden.YAML", "notes.txt",
		"inventory/f.gz", "inventory/g.JSON", "ignored/h.YAML", "rendered/i.YAML",
	} {
		put(t, filepath.Join(pkg, name), secret("x"))
	}
	put(t, filepath.Join(pkg, ignoreFile), "ignored\n")
	_, fs, err := Read(Input{Dir: pkg})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range fs {
		rel, _ := filepath.Rel(pkg, f.Pos.File)
		got = append(got, rel)
	}
	if want := []string{"b.YAML", "c.Yml", "d.yaml.gz", "inventory/f.gz", "inventory/g.JSON"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
