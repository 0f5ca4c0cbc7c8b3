package hydrate

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poolwright/poolwright/test/engines/scenario"
	"github.com/poolwright/poolwright/test/gitserver"
)

func resource(group, version, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
}

var (
	poolClusters = resource("cstor.openebs.io", "v1", "cstorpoolclusters")
	plans        = resource("dao.mayadata.io", "v1alpha1", "cstorclusterplans")
	sets         = resource("dao.mayadata.io", "v1alpha1", "cstorclusterstoragesets")
)

// poolOperator says of a CStorPoolCluster that its pools are healthy.
func (w *world) poolOperator(name string) {
	w.Helper()
	client := w.Resource(poolClusters).Namespace("openebs")
	live, err := client.Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	pools, _, _ := unstructured.NestedSlice(live.Object, "spec", "pools")
	n := int64(len(pools))
	patch := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cstor.openebs.io/v1", "kind": "CStorPoolCluster", "metadata": map[string]any{"name": name, "namespace": "openebs"},
		"status": map[string]any{"desiredInstances": n, "provisionedInstances": n, "healthyInstances": n},
	}}
	if err := w.Apply(w.Context(), patch); err != nil {
		w.Fatal(err)
	}
}

// foreign has the name of an object that is to be applied.
const foreign = `
apiVersion: dao.mayadata.io/v1alpha1
kind: CStorClusterPlan
metadata: {name: prod, namespace: openebs}
spec: {nodes: []}
`

// deny has the API server refuse every CStorPoolCluster, until allow is called.
func (w *world) deny() (allow func()) {
	w.Helper()
	w.must(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-pools}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [cstor.openebs.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [cstorpoolclusters]}
  validations:
  - {expression: "false", message: no pools today}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-pools}
spec: {policyName: no-pools, validationActions: [Deny]}
`)
	denied := func() bool {
		probe := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "cstor.openebs.io/v1", "kind": "CStorPoolCluster", "metadata": map[string]any{"name": "probe", "namespace": "openebs"}, "spec": map[string]any{},
		}}
		_, err := w.Resource(poolClusters).Namespace("openebs").Create(w.Context(), probe, metav1.CreateOptions{DryRun: []string{"All"}})
		return err != nil && strings.Contains(err.Error(), "no pools today")
	}
	w.await("pools are denied", denied)
	return func() {
		w.Helper()
		bindings := w.Resource(resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings"))
		if err := bindings.Delete(w.Context(), "no-pools", metav1.DeleteOptions{}); err != nil {
			w.Fatal(err)
		}
		w.await("pools are allowed", func() bool { return !denied() })
	}
}

// cstor is a cluster with disks, and a server with a package that uses them.
func cstor(t *testing.T) (*world, *gitserver.Server) {
	t.Helper()
	w := newWorld(t)
	for _, o := range scenario.Upstream(t, "openebs-cstor.yaml", "openebs-ndm.yaml") {
		if err := w.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.settled()
	w.must("apiVersion: v1\nkind: Namespace\nmetadata: {name: openebs}\n")
	w.inventory("examples/cstor-local/inventory/nodes.yaml")
	w.inventory("examples/cstor-local/inventory/blockdevices.yaml")
	files := map[string]string{}
	for _, name := range []string{"cstor.yaml", "poolwright.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, "examples/cstor-local", name))
		if err != nil {
			t.Fatal(err)
		}
		files["storage/"+name] = string(text)
	}
	return w, gitserver.New(t, files)
}

func (w *world) hydrate(server *gitserver.Server, namespace, name string) {
	w.Helper()
	w.must("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + namespace + "}\n")
	w.must("{apiVersion: v1, kind: Secret, metadata: {name: git, namespace: " + namespace + "}, stringData: {username: \"" + server.User + "\", password: \"" + server.Password + "\"}}")
	w.must(`
apiVersion: poolwright.io/v1alpha1
kind: Hydration
metadata: {name: ` + name + `, namespace: ` + namespace + `}
spec:
  source: {url: "` + server.Repository() + `", path: storage, interval: 10s, secretRef: {name: git}}
  publish: {mode: Apply}
  facts: {debounce: 0s}
`)
}

// versions are the resource versions of all members of sets.
func (w *world) versions() map[string]string {
	w.Helper()
	found := map[string]string{}
	for _, r := range []schema.GroupVersionResource{poolClusters, plans, sets} {
		for _, o := range w.list(r, "applyset.kubernetes.io/part-of") {
			found[scenario.ID(&o)] = o.GetResourceVersion()
		}
	}
	return found
}

// TestCStor is a cStor package with local disks, from Git to the cluster.
func TestCStor(t *testing.T) {
	w, server := cstor(t)
	const ns, name = "cstor", "prod"
	w.must(foreign)
	allow := w.deny()
	w.hydrate(server, ns, name)
	stop := w.keep(plane.Kubeconfig, ns)

	w.Run("foreign", func(t *testing.T) {
		w.becomes(ns, name, "Conflict", `CStorClusterPlan openebs/prod exists and is not of this Hydration: managed by "scenario"`)
		live := w.list(plans, "")
		if len(live) != 1 || live[0].GetLabels()["app.kubernetes.io/managed-by"] != "" || len(w.list(sets, ""))+len(w.list(poolClusters, "")) != 0 {
			t.Errorf("written: %v", live)
		}
		if err := w.Resource(plans).Namespace("openebs").Delete(t.Context(), "prod", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	w.Run("refused", func(t *testing.T) {
		w.judge(ns, name)
		w.becomes(ns, name, "PublishFailed", "no pools today")
		if n := len(w.list(plans, "")) + len(w.list(sets, "")) + len(w.list(poolClusters, "")); n != 0 {
			t.Errorf("%d objects were applied although one is refused", n)
		}
		allow()
		w.judge(ns, name)
	})
	w.becomes(ns, name, "Applying", "awaiting CStorPoolCluster openebs/prod: the operator has not seen it yet")
	if h := w.hydration(ns, name); h.Status.Condition("Reconciling").Status != "True" || h.Status.Published.Digest != "" || len(h.Status.WaitingFor) == 0 {
		t.Errorf("status %+v", h.Status)
	}
	w.poolOperator("prod")
	h := w.settles(ns, name)
	if p := h.Status.Published; !strings.HasPrefix(p.Revision, "cluster@sha256:") || !strings.HasPrefix(h.Status.Source.Revision, "main@sha1:") || len(h.Status.History) != 1 {
		t.Errorf("status %+v", h.Status)
	}
	if got := h.Metadata.Annotations["applyset.kubernetes.io/contains-group-kinds"]; got != "CStorClusterPlan.dao.mayadata.io,CStorClusterStorageSet.dao.mayadata.io,CStorPoolCluster.cstor.openebs.io" {
		t.Errorf("the parent says %q", got)
	}
	if got := h.Metadata.Annotations["applyset.kubernetes.io/additional-namespaces"]; got != "openebs" {
		t.Errorf("the parent says %q", got)
	}
	before := w.versions()
	if len(before) < 5 {
		t.Errorf("members are %v", before)
	}
	if head := server.Git(t, "log", "--format=%s", "main"); strings.Count(head, "\n") != 0 {
		t.Errorf("committed: %s", head)
	}

	w.Run("again", func(t *testing.T) {
		w.judge(ns, name)
		stop()
		stop = w.keep(plane.Kubeconfig, ns) // a new process knows nothing
		w.judge(ns, name)
		w.becomes(ns, name, "UpToDate", "")
		if now := w.versions(); !equal(before, now) {
			t.Errorf("written:\n%v\n%v", before, now)
		}
	})
	w.Run("drift", func(t *testing.T) {
		if err := w.Resource(plans).Namespace("openebs").Delete(t.Context(), "prod", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.await("the plan is back", func() bool {
			_, err := w.Resource(plans).Namespace("openebs").Get(context.Background(), "prod", metav1.GetOptions{})
			return err == nil
		})
		w.settles(ns, name)
	})
	w.Run("conflict", func(t *testing.T) {
		client := w.Resource(poolClusters).Namespace("openebs")
		live, err := client.Get(t.Context(), "prod", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pools, _, _ := unstructured.NestedSlice(live.Object, "spec", "pools")
		compression := pools[0].(map[string]any)["poolConfig"].(map[string]any)["compression"]
		pools[0].(map[string]any)["poolConfig"].(map[string]any)["compression"] = "off"
		theirs := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "cstor.openebs.io/v1", "kind": "CStorPoolCluster", "metadata": map[string]any{"name": "prod", "namespace": "openebs"}, "spec": map[string]any{"pools": pools},
		}}
		if _, err := client.Apply(t.Context(), "prod", theirs, metav1.ApplyOptions{FieldManager: "kubectl-edit", Force: true}); err != nil {
			t.Fatal(err)
		}
		h := w.becomes(ns, name, "Conflict", `spec.pools is managed by "kubectl-edit"`)
		if h.Status.Condition("Stalled").Status != "True" {
			t.Errorf("conditions %+v", h.Status.Conditions)
		}
		live, _ = client.Get(t.Context(), "prod", metav1.GetOptions{})
		now, _, _ := unstructured.NestedSlice(live.Object, "spec", "pools")
		if got := now[0].(map[string]any)["poolConfig"].(map[string]any)["compression"]; got != "off" {
			t.Errorf("forced: %v", got)
		}
		// They agree.
		pools[0].(map[string]any)["poolConfig"].(map[string]any)["compression"] = compression
		if _, err := client.Apply(t.Context(), "prod", theirs, metav1.ApplyOptions{FieldManager: "kubectl-edit", Force: true}); err != nil {
			t.Fatal(err)
		}
		w.judge(ns, name)
		w.settles(ns, name)
	})
	w.Run("second", func(t *testing.T) {
		time.Sleep(1100 * time.Millisecond) // ages are in seconds
		other := gitserver.New(t, map[string]string{
			"storage/cstor.yaml":      server.Show(t, "main", "storage/cstor.yaml"),
			"storage/poolwright.yaml": server.Show(t, "main", "storage/poolwright.yaml"),
		})
		before := w.versions()
		w.must(`{apiVersion: v1, kind: Namespace, metadata: {name: cstor2}}`)
		w.hydrate(other, "cstor2", "prod")
		w.keep(plane.Kubeconfig, "cstor2")
		w.becomes("cstor2", "prod", "Conflict", "Hydration cstor/prod")
		if now := w.versions(); !equal(before, now) {
			t.Errorf("written:\n%v\n%v", before, now)
		}
	})
	w.Run("removal", func(t *testing.T) {
		text := server.Show(t, "main", "storage/cstor.yaml")
		server.Commit(t, "main", "no spec", map[string]string{"storage/cstor.yaml": ""})
		w.judge(ns, name)
		w.becomes(ns, name, "Invalid", "its spec dao.mayadata.io/CStorClusterConfig/openebs/prod is gone")
		if len(w.list(poolClusters, "")) != 1 {
			t.Fatal("deleted without consent")
		}
		server.Commit(t, "main", "back", map[string]string{"storage/cstor.yaml": text})
		w.judge(ns, name)
		w.settles(ns, name)
		if _, err := w.Resource(poolClusters).Namespace("openebs").Patch(t.Context(), "prod", "application/merge-patch+json",
			[]byte(`{"metadata":{"annotations":{"poolwright.io/allow-removal":"CStorPoolCluster/prod"}}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		server.Commit(t, "main", "no spec", map[string]string{"storage/cstor.yaml": ""})
		w.judge(ns, name)
		w.await("all of it is gone", func() bool { return len(w.versions()) == 0 && len(w.list(poolClusters, "")) == 0 })
		w.becomes(ns, name, "Invalid", "there is no spec in it")
	})
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for key := range a {
		if a[key] != b[key] {
			return false
		}
	}
	return true
}
