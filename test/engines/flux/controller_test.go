package flux

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/test/controlplane"
	"github.com/poolwright/poolwright/test/engines/scenario"
	"github.com/poolwright/poolwright/test/tool"
)

// TestController puts the real kustomize-controller through everything that takes it no more than minutes: the
// rest is for the library that it applies with.
func TestController(t *testing.T) {
	cluster, source := startController(t)
	t.Run("folder", func(t *testing.T) { folder(t, cluster, source) })
	s := suite
	s.Name = "controller"
	checks := readChecks(t)
	s.New = func(_ *testing.T, name string) scenario.Engine {
		return NewKustomization(cluster, source, name, checks)
	}
	scenario.Run(t, s)
	s.Name, s.HeedsHealth = "controller-pools", true
	t.Run("pools", func(t *testing.T) { scenario.RunDiskPools(t, s) })
	s.Name, s.HeedsHealth, s.Brief = "controller-drain", false, true
	t.Run("drain", func(t *testing.T) { scenario.RunDrain(t, s) })
}

// readChecks reads the health checks that we ship.
func readChecks(t *testing.T) []any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(suite.Root, "deploy/flux/health/exprs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var patch []struct{ Value []any }
	if err := yaml.Unmarshal(text, &patch); err != nil || len(patch) != 1 {
		t.Fatalf("exprs.yaml: %d operations instead of one: %v", len(patch), err)
	}
	return patch[0].Value
}

// startController starts the controller and what it needs.
func startController(t *testing.T) (*scenario.Cluster, *Source) {
	t.Helper()
	cluster, err := scenario.Connect(plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	// The last is of a group that definitions of the others are of, see TestKnownGroup.
	definitions := scenario.Upstream(t, "flux-kustomization.yaml", "flux-source.yaml", "openebs-diskpool.yaml")
	system := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
	}}
	for _, o := range append(definitions, system) {
		if err := cluster.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if err := plane.AwaitServed(t.Context()); err != nil {
		t.Fatal(err)
	}
	controller.once.Do(func() { controller.err = runController(t) })
	switch {
	case errors.Is(controller.err, controlplane.ErrNotBuilt):
		tool.Missing(t, controller.err.Error())
	case controller.err != nil:
		t.Fatal(controller.err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			log := plane.Log("kustomize-controller")
			t.Log(log[max(0, len(log)-4000):])
		}
	})
	source := NewSource()
	t.Cleanup(source.Close)
	return cluster, source
}

// controller is one for the whole test binary: a second would reconcile what the first does.
var controller struct {
	once sync.Once
	err  error
}

// runController starts the controller, which runs on after the test.
func runController(t *testing.T) error {
	t.Helper()
	tmp := filepath.Join(plane.Dir, "tmp")
	if err := os.MkdirAll(tmp, 0o777); err != nil {
		return err
	}
	t.Setenv("KUBECONFIG", plane.Kubeconfig)
	t.Setenv("TMPDIR", tmp)
	return plane.Run(filepath.Join(suite.Root, "bin"), "kustomize-controller", "--metrics-addr=0", "--health-addr=127.0.0.1:0", "--kube-api-qps=500", "--kube-api-burst=1000", "--requeue-dependency=2s")
}

// folder has the folder go from Git that a Kustomization looks at:
// that is no order to delete what was in it, protected or not.
func folder(t *testing.T, cluster *scenario.Cluster, source *Source) {
	k := NewKustomization(cluster, source, "folder", readChecks(t))
	k.Path = "rendered"
	dir := t.TempDir()
	rendered := filepath.Join(dir, "rendered")
	if err := os.Mkdir(rendered, 0o777); err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "folder", "namespace": "default"},
	}}
	text, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(rendered, "object.yaml"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Sync(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(rendered); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.publish(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	err = k.await(t.Context(), func(live *unstructured.Unstructured) (bool, string) {
		said := ready(live)
		return strings.Contains(said, "kustomization path not found"), said
	})
	if err != nil {
		t.Fatalf("the folder is gone, and Flux does not mind: %v", err)
	}
	live, err := cluster.Get(t.Context(), object.GroupVersionKind(), "default", "folder")
	if err != nil || live == nil {
		t.Fatalf("what was in the folder is gone too (%v)", err)
	}
	if _, err := k.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
}
