package argocd

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poolwright/poolwright/test/engines/scenario"
)

// TestLevels brings up a HyperCloudStorage, in which something is wrong at every level.
func TestLevels(t *testing.T) {
	cluster, err := scenario.Connect(plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": argoNamespace}}}
	for _, o := range append(scenario.Upstream(t, "argocd-application.yaml"), namespace) {
		if err := cluster.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if err := plane.AwaitServed(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := suite
	s.Name = "Argo CD"
	scenario.Levels(t, s, &Levels{kubeconfig: plane.Kubeconfig, root: suite.Root, cluster: cluster}, true)
}
