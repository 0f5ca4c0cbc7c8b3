package scenario

import (
	"os/exec"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// machines puts a kind of the inventory into the cluster, as kubelets and the node
// disk manager do.
func (r *run) machines(stage int, kind string) {
	r.t.Helper()
	for _, o := range r.facts(stage, kind) {
		o.SetUID("")
		o.SetCreationTimestamp(metav1.Time{})
		r.check(r.cluster.Apply(r.t.Context(), o))
		if kind == "nodes" {
			// The API server taints a new node, and nobody here takes the taint away.
			r.check(unstructured.SetNestedSlice(o.Object, []any{}, "spec", "taints"))
			r.check(r.cluster.Apply(r.t.Context(), o))
		}
	}
}

// writeStatuses runs the writer of statuses until the test ends, as deploy/status
// does.
func (r *run) writeStatuses() {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), r.suite.Poolwright, "status", "--cluster", "--watch", "--write", "--output=json", "--kubeconfig", r.suite.Plane.Kubeconfig)
	var talk strings.Builder
	cmd.Stderr = &talk
	r.check(cmd.Start())
	r.t.Cleanup(func() {
		_ = cmd.Wait() // killed: the context of the test has ended
		if r.t.Failed() {
			r.t.Log(talk.String())
		}
	})
}

// underWay waits until the config says that its storage is not there yet, as it is in
// every commit but that with the pools. The records beside it may be of what is there.
func (r *run) underWay() {
	r.t.Helper()
	pooled := len(of(r.objects(), "CStorPoolCluster")) > 0
	for _, o := range of(r.objects(), "CStorClusterConfig", "CStorClusterPlan", "CStorClusterStorageSet", "Storage") {
		said := "nothing"
		r.awaitSaying(func() string { return ID(o) + " is under way; it says " + said }, func() bool {
			live, err := r.cluster.Get(r.t.Context(), o.GroupVersionKind(), o.GetNamespace(), o.GetName())
			r.check(err)
			observed, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
			if observed != live.GetGeneration() {
				return false
			}
			phase := str(live, "status", "phase")
			said = phase + " " + str(live, "status", "message")
			return phase == "PROGRESSING" || phase == "OK" && (pooled || !slices.Contains([]string{"CStorClusterConfig", "CStorClusterPlan"}, o.GetKind()))
		})
	}
}

// healthy waits until the engine finds nothing that is not.
func (r *run) healthy(what string) {
	r.t.Helper()
	judge, ok := r.engine.(Judge)
	if !ok {
		return
	}
	var unhealthy []string
	r.awaitSaying(func() string { return what + ": all is healthy; left: " + strings.Join(unhealthy, "; ") }, func() bool {
		var err error
		unhealthy, err = judge.Unhealthy()
		r.check(err)
		return len(unhealthy) == 0
	})
}
