package checks

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// check is a kind whose health we tell the engines.
type check struct {
	group, kind string
	table       string // its file in testdata, and that of its Lua, without the ending
}

func checks() []check {
	var all []check
	add := func(group string, kinds ...string) {
		for _, kind := range kinds {
			all = append(all, check{group: group, kind: kind, table: group + "_" + kind})
		}
	}
	add("cstor.openebs.io", "CStorPoolCluster", "CStorPoolInstance", "CStorVolume", "CStorVolumeConfig", "CStorVolumeReplica")
	add("openebs.io", "BlockDevice", "BlockDeviceClaim", "DiskPool")
	add("storage.k8s.io", "VolumeAttachment")
	for _, kind := range []string{"CStorClusterConfig", "CStorClusterPlan", "CStorClusterStorageSet", "Storage"} {
		all = append(all, check{group: "dao.mayadata.io", kind: kind, table: "dao.mayadata.io"})
	}
	return all
}

// row is one object, and what the engines are to think of it.
type row struct {
	Name    string
	Want    string
	Message string // of Argo CD; empty: any, but not none
	Object  map[string]any
}

func (c check) rows(t *testing.T) []row {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", c.table+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	if err := yaml.UnmarshalStrict(data, &rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		r.Object["apiVersion"], r.Object["kind"] = c.group+"/v1", c.kind
		if r.Object["metadata"] == nil {
			r.Object["metadata"] = map[string]any{"name": "x"}
		}
	}
	return rows
}

// TestTables holds that no file lies about without being used, and that every
// table has what matters most.
func TestTables(t *testing.T) {
	var want []string
	for _, c := range checks() {
		want = append(want, c.table)
		verdicts := map[string]bool{}
		absent := false
		for _, r := range c.rows(t) {
			verdicts[r.Want] = true
			absent = absent || r.Object["status"] == nil
		}
		if !verdicts["current"] || !verdicts["progressing"] || !verdicts["degraded"] && !verdicts["failed"] || !absent {
			t.Errorf("%s: the table wants a current, a progressing and a degraded or failed object, and one without status", c.table)
		}
	}
	want = slices.Compact(want)
	slices.Sort(want)
	for pattern, ending := range map[string]string{"testdata/*.yaml": ".yaml", "../argocd/health/*.lua": ".lua"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, file := range files {
			got = append(got, strings.TrimSuffix(filepath.Base(file), ending))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q instead of %q", pattern, got, want)
		}
	}
}

// spoilt calls f with the object, each time with another of its values replaced by
// something that has no business there.
func spoilt(object map[string]any, f func(map[string]any)) {
	nonsense := []any{nil, true, "nonsense", int64(-7), 1.5, []any{}, []any{"x", nil, []any{}}, map[string]any{}, map[string]any{"x": nil}}
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(keys(v)) {
				kept := v[key]
				for _, n := range nonsense {
					v[key] = n
					f(object)
				}
				v[key] = kept
				walk(kept)
			}
		case []any:
			for i, kept := range v {
				for _, n := range nonsense {
					v[i] = n
					f(object)
				}
				v[i] = kept
				walk(kept)
			}
		}
	}
	walk(object)
}

func keys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}
