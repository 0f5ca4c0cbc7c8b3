package checks

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTree holds that poolwright itself judges an object as the health checks of the engines do,
// for each kind that it shows in a tree.
func TestTree(t *testing.T) {
	phases := map[string]string{"current": "OK", "progressing": "PROGRESSING", "degraded": "ERROR", "failed": "ERROR"}
	dir := t.TempDir()
	program, file := filepath.Join(dir, "poolwright"), filepath.Join(dir, "facts.json")
	build := exec.Command("go", "build", "-o", program, "./cmd/poolwright")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, c := range checks() {
		// A tree says of a pool cluster what its pools are, and not what its operator counts.
		if c.tree == "" || c.kind == "CStorPoolCluster" {
			continue
		}
		t.Run(c.kind, func(t *testing.T) {
			for _, r := range c.rows(t) {
				metadata := r.Object["metadata"].(map[string]any)
				metadata["name"], metadata["namespace"] = "x", "openebs"
				facts, err := json.Marshal(r.Object)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, facts, 0o666); err != nil {
					t.Fatal(err)
				}
				out, err := exec.Command(program, "tree", c.tree+"/openebs/x", "--from", file, "-o", "json").Output()
				if err != nil {
					t.Fatalf("%s: %v", r.Name, err)
				}
				var trees []struct{ Health string }
				if err := json.Unmarshal(out, &trees); err != nil || len(trees) != 1 {
					t.Fatalf("%s: %v\n%s", r.Name, err, out)
				}
				if want := phases[cmp.Or(r.Tree, r.Want)]; trees[0].Health != want {
					t.Errorf("%s: %s instead of %s", r.Name, trees[0].Health, want)
				}
			}
		})
	}
}
