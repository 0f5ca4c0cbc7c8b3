package folder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// inMemory is the folder of a list with items of these paths, each a Secret named as its path.
func inMemory(t *testing.T, paths ...string) (Memory, error) {
	t.Helper()
	list := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
	for i, path := range paths {
		list += fmt.Sprintf("- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: s%d\n    annotations:\n      internal.config.kubernetes.io/path: '%s'\n      internal.config.kubernetes.io/index: '%d'\n", i, path, len(paths)-i)
	}
	rl, err := krm.ReadResourceList(&document.Source{Name: "stdin", Data: []byte(list)})
	if err != nil {
		t.Fatal(err)
	}
	return InMemory(rl)
}

// TestInMemory: what is read, in which order, and what is the lock.
func TestInMemory(t *testing.T) {
	m, err := inMemory(t, "b.yaml", "a/c.yaml", "a.yaml", "rendered/x/y.yaml", "b.yaml", ".git/d.yaml", "sub/kustomization.yaml", "notes.txt", "inventory/nodes.json")
	if err != nil {
		t.Fatal(err)
	}
	p, findings, err := Read(Input{Dir: ".", Memory: m})
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	shown := func(objects []*krm.Object) string {
		var all []string
		for _, o := range objects {
			all = append(all, fmt.Sprintf("%s=%s#%d", o.Name, o.Path, o.Index))
		}
		return strings.Join(all, " ")
	}
	if got, want := shown(p.Objects), "s1=a/c.yaml#0 s2=a.yaml#0 s4=b.yaml#0 s0=b.yaml#1 s8=inventory/nodes.json#0"; got != want {
		t.Errorf("objects: got %s, want %s", got, want)
	}
	if got, want := shown(p.Lock), "s3=x/y.yaml#0"; got != want || p.LockDir != "rendered" {
		t.Errorf("lock in %s: got %s, want %s", p.LockDir, got, want)
	}
	if got := p.Lock[0].At().File; got != "rendered/x/y.yaml" {
		t.Errorf("messages call the lock %s", got)
	}
}

// TestInMemoryOutside: no path leads out of the folder.
func TestInMemoryOutside(t *testing.T) {
	for _, path := range []string{"../a.yaml", "/a.yaml", "a/../b.yaml", "./a.yaml", "a//b.yaml", ".", `a\\b.yaml`} {
		if _, err := inMemory(t, path); err == nil || !strings.Contains(err.Error(), "write a path inside the package, with slashes and without . and ..") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestInMemoryWithoutLines: where the text of a file is not known, a position has no line.
func TestInMemoryWithoutLines(t *testing.T) {
	rl, err := krm.ReadResourceList(&document.Source{Name: "stdin", Data: []byte(`{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [
		{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "annotations": {"config.kubernetes.io/path": "a.yaml"}}}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	m, err := InMemory(rl)
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := Read(Input{Dir: ".", Memory: m})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Objects[0].At("metadata"); got != (document.Position{File: "a.yaml"}) {
		t.Errorf("got %v", got)
	}
}
