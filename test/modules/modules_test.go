// Package modules has the test that the modules of tests agree on the versions of what they share. Where they
// do, the go command compiles it once for all of them: with versions of their own, two fifths of what CI
// compiles was compiled more than once.
package modules

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/poolwright/poolwright/test/tool"
)

// sharing are the folders of the modules that share much. etcd, Gitea and the linters share little, and have
// the versions that their authors tested.
func sharing() []string {
	return []string{
		".", "test/checks", "test/controlplane/kubernetes", "test/engines/argocd", "test/engines/flux",
		"test/engines/flux/controller", "test/engines/kpt", "test/monitoring",
	}
}

func TestVersions(t *testing.T) {
	root := tool.Root(t)
	first := map[string]string{} // of each path, the folder that requires it first
	versions := map[string]string{}
	for _, dir := range sharing() {
		required := requirements(t, filepath.Join(root, dir))
		for _, path := range slices.Sorted(maps.Keys(required)) {
			switch version := required[path]; {
			case versions[path] == "":
				first[path], versions[path] = dir, version
			case versions[path] != version:
				t.Errorf("%s/go.mod has %s %s, and %s/go.mod %s; run: go get %s@%s", dir, path, version, first[path], versions[path], path, versions[path])
			}
		}
	}
}

// requirements are the versions of modules in a go.mod, with replacements.
func requirements(t *testing.T, dir string) map[string]string {
	t.Helper()
	type version struct{ Path, Version string }
	var file struct {
		Require []version
		Replace []struct{ Old, New version }
	}
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: go mod edit: %v", dir, err)
	}
	if err := json.Unmarshal(out, &file); err != nil {
		t.Fatal(err)
	}
	required := map[string]string{}
	for _, r := range file.Require {
		required[r.Path] = r.Version
	}
	for _, r := range file.Replace {
		if _, used := required[r.Old.Path]; used {
			required[r.Old.Path] = r.New.Version
		}
		if r.New.Version == "" { // a folder
			delete(required, r.Old.Path)
		}
	}
	return required
}
