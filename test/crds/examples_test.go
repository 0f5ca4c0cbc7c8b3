package crds_test

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
)

// TestExamples: the specs of examples/ and what is rendered from them can be
// applied, if intermediates are to be.
func TestExamples(t *testing.T) {
	kinds := deployed(t, schema.Load())
	taken := map[string]int{}
	err := filepath.WalkDir("../../examples", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".yaml") {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		objects, err := krm.Parse(&document.Source{Name: file, Data: data})
		if err != nil {
			return err
		}
		for _, o := range objects {
			k, ours := kinds[o.Kind]
			if !ours {
				continue
			}
			if a := create(t, k, o.Node); a.status != http.StatusCreated || len(a.warnings) > 0 {
				t.Errorf("%s: %s: %s %s", file, o.Ref, a.message(), a.warnings)
			}
			taken[o.Kind]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// CSPCAuto is the old design, a DiskLock is there only while a removed disk waits, and a Hydration names a repository.
	without := []string{"CSPCAuto", "DiskLock", "Hydration"}
	for kind, k := range kinds {
		if taken[kind] == 0 && k.Role != schema.Fact && !slices.Contains(without, kind) {
			t.Errorf("the examples have no %s", kind)
		}
	}
	t.Logf("taken: %v", taken)
}
