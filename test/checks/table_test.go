package checks

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// check is a kind that the engines have a health check for.
type check struct {
	group, kind string
	own         bool   // has a status of ours: nothing waits for its objects
	tree        string // what poolwright tree calls it; "" where no tree starts at it
}

// checks are the kinds of which the storage systems declare that the engines need a health check.
func checks() []check {
	data, err := os.ReadFile("kinds.yaml")
	if err != nil {
		panic(err) // made by make generate
	}
	var kinds []struct {
		Group, Kind, Tree string
		Own               bool
	}
	if err := yaml.UnmarshalStrict(data, &kinds); err != nil {
		panic(err)
	}
	all := make([]check, len(kinds))
	for i, k := range kinds {
		all[i] = check{group: k.Group, kind: k.Kind, own: k.Own, tree: k.Tree}
	}
	return all
}

// Tables and Lua scripts: a file is that of a kind, or of all kinds of its group that have none.
const (
	tables  = "testdata/*.yaml"
	scripts = "../../deploy/argocd/health/*.lua"
)

// file is the one of the kind among the files of a pattern. Kinds with a status of ours share one.
func (c check) file(pattern string) string {
	named := func(name string) string { return strings.Replace(pattern, "*", name, 1) }
	if c.own {
		return named("own")
	}
	if file := named(c.group + "_" + c.kind); exists(file) {
		return file
	}
	return named(c.group)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// record reports whether nothing waits for objects of the kind.
func (c check) record() bool { return c.own }

// heals reports whether nothing that an object of the kind can say is an end.
func (c check) heals() bool { return c.kind == "VolumeAttachment" }

// row is one object, and what the engines are to think of it.
type row struct {
	Name    string
	Want    string
	Flux    string // what Flux thinks instead, where it leaves no choice
	Tree    string // what poolwright says instead, where an error is waited for
	Message string // of Argo CD; empty: any, but not none
	Object  map[string]any
}

func (c check) rows(t *testing.T) []row {
	t.Helper()
	data, err := os.ReadFile(c.file(tables))
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
	used := map[string]bool{}
	for _, c := range checks() {
		used[c.file(tables)], used[c.file(scripts)] = true, true
		verdicts := map[string]bool{}
		absent := false
		for _, r := range c.rows(t) {
			verdicts[r.Want] = true
			absent = absent || r.Object["status"] == nil
		}
		if !verdicts["current"] || verdicts["progressing"] == c.record() || (verdicts["degraded"] || verdicts["failed"]) == c.heals() || !absent {
			t.Errorf("%s: the table wants a current object, a progressing one unless nothing waits for the kind, a degraded or failed one unless all heals, and one without status", c.file(tables))
		}
	}
	for _, pattern := range []string{tables, scripts} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !used[file] {
				t.Errorf("%s: no kind uses it", file)
			}
		}
	}
}

// TestRendered holds that there is a check for every kind that the examples render,
// but for those of Kubernetes' core, which the engines know.
func TestRendered(t *testing.T) {
	objects := rendered(t, "../../examples")
	if len(objects) == 0 {
		t.Fatal("the examples render nothing")
	}
	for _, r := range objects {
		found := func(c check) bool { return c.group == r.group && c.kind == r.kind }
		if r.group != "" && !static(r.kind) && !slices.ContainsFunc(checks(), found) {
			t.Errorf("nothing tells the engines of %s %s", r.group, r.kind)
		}
	}
}

// static reports whether a kind needs no check: it has no status, its operator
// does not write one, or every engine knows it.
func static(kind string) bool {
	return slices.Contains([]string{
		"StorageClass", "VolumeSnapshotClass", "CStorVolumePolicy", "CustomResourceDefinition", "OperatorConfig", "Driver", "Deployment",
		"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "PriorityClass",
	}, kind)
}

// manifest is one of a package.
type manifest struct {
	group, kind string
	local       bool // not for the cluster
	ours        bool // rendered
}

// rendered lists the manifests below a folder that Poolwright has rendered.
func rendered(t *testing.T, dir string) []manifest {
	t.Helper()
	return slices.DeleteFunc(manifests(t, dir), func(m manifest) bool { return !m.ours })
}

// manifests lists those below a folder.
func manifests(t *testing.T, dir string) []manifest {
	t.Helper()
	var found []manifest
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var o struct {
				APIVersion, Kind string
				Metadata         struct{ Annotations map[string]string }
			}
			if err := yaml.Unmarshal([]byte(document), &o); err != nil {
				return err
			}
			group, _, grouped := strings.Cut(o.APIVersion, "/")
			if !grouped {
				group = ""
			}
			found = append(found, manifest{group, o.Kind, o.Metadata.Annotations["config.kubernetes.io/local-config"] == "true", o.Metadata.Annotations["poolwright.io/owner"] != ""})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
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
