package flux

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/poolwright/poolwright/test/engines/scenario"
)

// TestKnownGroup: who has asked once for the kinds of a group does not learn of a version that is added to it later. The
// health checks of kustomize-controller ask so, without a version: they wait in vain for DiskPools (openebs.io/v1beta3)
// whose definition came after those of cStor's disks (v1alpha1), until the controller is restarted. Once this
// fails, docs/flux.md need not say so, and the controller may start before any definition.
func TestKnownGroup(t *testing.T) {
	cluster, err := scenario.Connect(plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	const group = "known.example.com"
	define := func(kind, plural, version string) {
		t.Helper()
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + group},
			"spec": map[string]any{
				"group": group, "scope": "Namespaced", "names": map[string]any{"kind": kind, "plural": plural},
				"versions": []any{map[string]any{
					"name": version, "served": true, "storage": true,
					"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
				}},
			},
		}}
		if err := cluster.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cluster.Delete(context.WithoutCancel(t.Context()), o); err != nil {
				t.Log(err)
			}
		})
		if err := plane.AwaitServed(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, client)
	if err != nil {
		t.Fatal(err)
	}
	define("First", "firsts", "v1alpha1")
	if _, err := mapper.RESTMapping(schema.GroupKind{Group: group, Kind: "First"}); err != nil {
		t.Fatal(err)
	}
	define("Second", "seconds", "v1beta3")
	second := schema.GroupKind{Group: group, Kind: "Second"}
	if _, err := mapper.RESTMapping(second); !meta.IsNoMatchError(err) {
		t.Errorf("the later version is found: %v", err)
	}
	if _, err := mapper.RESTMapping(second, "v1beta3"); err != nil {
		t.Errorf("it is not found by its version: %v", err)
	}
}
