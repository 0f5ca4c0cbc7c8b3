package scenario

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poolwright/poolwright/test/tool"
)

// definitions are definitions of custom resources.
type definitions struct {
	ours     []*unstructured.Unstructured // deploy/crds: protected as they are
	upstream []*unstructured.Unstructured // protected as deploy/protection does it
}

// readDefinitions skips the test where those of other projects are absent.
func readDefinitions(t *testing.T, s Suite) definitions {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Root, "deploy/crds/*.*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("deploy/crds has no definitions", err)
	}
	d := definitions{upstream: Upstream(t, "openebs-cstor.yaml", "openebs-ndm.yaml")}
	for _, file := range files {
		d.ours = append(d.ours, parseFile(t, file)...)
	}
	return d
}

// awaitDeleted waits for definitions that another engine has deleted.
func (d definitions) awaitDeleted(t *testing.T, c *Cluster) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for _, o := range append(d.upstream, d.ours...) {
		for {
			live, err := c.Get(t.Context(), o.GroupVersionKind(), "", o.GetName())
			if err != nil {
				t.Fatal(err)
			}
			if live == nil || live.GetDeletionTimestamp() == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is still being deleted", ID(o))
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// Upstream reads definitions of other projects, and leaves the test out without them.
func Upstream(t *testing.T, files ...string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, file := range tool.Upstream(t, files...) {
		objects = append(objects, parseFile(t, file)...)
	}
	return objects
}

func parseFile(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return objects
}
