package keeper_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/test/controlplane"
)

// kube is a client of somebody who may do everything.
type kube struct{ dynamic.Interface }

func connect(kubeconfig string) (kube, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return kube{}, err
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	return kube{client}, err
}

func newKube(t *testing.T) kube {
	t.Helper()
	k, err := connect(plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// define applies our definitions.
func define(c *controlplane.ControlPlane) error {
	k, err := connect(c.Kubeconfig)
	if err != nil {
		return err
	}
	files, err := filepath.Glob("../../deploy/crds/*.*.*.yaml")
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := k.apply(context.Background(), string(text)); err != nil {
			return err
		}
	}
	return c.AwaitServed(context.Background())
}

func resourceOf(u *unstructured.Unstructured) schema.GroupVersionResource {
	plurals := map[string]string{
		"CustomResourceDefinition": "customresourcedefinitions", "Node": "nodes", "Namespace": "namespaces", "Secret": "secrets", "Pod": "pods", "Hydration": "hydrations",
		"ServiceAccount": "serviceaccounts", "ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings", "Role": "roles", "RoleBinding": "rolebindings",
		"Deployment": "deployments", "NetworkPolicy": "networkpolicies", "PodDisruptionBudget": "poddisruptionbudgets", "EndpointSlice": "endpointslices",
	}
	return u.GroupVersionKind().GroupVersion().WithResource(plurals[u.GetKind()])
}

// apply applies a document server-side.
func (k kube) apply(ctx context.Context, text string) error {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		return err
	}
	_, err := k.Resource(resourceOf(u)).Namespace(u.GetNamespace()).Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: "test", Force: true})
	return err
}

func (k kube) must(t *testing.T, format string, args ...any) {
	t.Helper()
	if err := k.apply(t.Context(), fmt.Sprintf(format, args...)); err != nil {
		t.Fatal(err)
	}
}

// node adds a node, until the test ends.
func (k kube) node(t *testing.T, name string) {
	t.Helper()
	k.must(t, `{apiVersion: v1, kind: Node, metadata: {name: %[1]s, labels: {kubernetes.io/hostname: %[1]s}}}`, name)
	t.Cleanup(func() { k.away(t, name) })
}

// away removes a node.
func (k kube) away(t *testing.T, name string) {
	t.Helper()
	err := k.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}).Delete(context.Background(), name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

func (k kube) hydrations(namespace string) dynamic.ResourceInterface {
	return k.Resource(hydrations.Kind().GroupVersion().WithResource("hydrations")).Namespace(namespace)
}

// get reads a Hydration.
func (k kube) get(t *testing.T, namespace, name string) *hydrations.Hydration {
	t.Helper()
	u, err := k.hydrations(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	h := &hydrations.Hydration{}
	if err := json.Unmarshal(text, h); err != nil {
		t.Fatal(err)
	}
	return h
}

func (k kube) patch(t *testing.T, namespace, name, patch string) {
	t.Helper()
	if _, err := k.hydrations(namespace).Patch(t.Context(), name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// reconcile asks to judge at once, and waits until that was done.
func (k kube) reconcile(t *testing.T, namespace, name string) *hydrations.Hydration {
	t.Helper()
	at := time.Now().Format(time.RFC3339Nano)
	k.patch(t, namespace, name, `{"metadata":{"annotations":{"`+hydrations.AnnotationReconcileAt+`":"`+at+`"}}}`)
	var h *hydrations.Hydration
	await(t, "judged as asked for", func() bool {
		h = k.get(t, namespace, name)
		return h.Status.LastHandledReconcileAt == at
	})
	return h
}

// becomes waits for one of the reasons. What was published is up to date as soon as something else happens.
func (k kube) becomes(t *testing.T, namespace, name string, reasons ...string) *hydrations.Hydration {
	t.Helper()
	var h *hydrations.Hydration
	var last hydrations.Condition
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		h = k.get(t, namespace, name)
		if last = h.Status.Condition("Ready"); slices.Contains(reasons, last.Reason) {
			return h
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s/%s does not become %q; it is %s: %s", namespace, name, reasons, last.Reason, last.Message)
	return nil
}

const patience = 3 * time.Minute // far above what it takes on a busy machine

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain: %s", what)
}

// everything is what the API server has of a namespace: Hydrations and events.
func (k kube) everything(t *testing.T, namespace string) string {
	t.Helper()
	var all strings.Builder
	for _, r := range []schema.GroupVersionResource{
		hydrations.Kind().GroupVersion().WithResource("hydrations"), {Version: "v1", Resource: "events"},
	} {
		list, err := k.Resource(r).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := list.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
