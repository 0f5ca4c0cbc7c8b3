package hydrate

import (
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/test/engines/scenario"
	"github.com/poolwright/poolwright/test/tool"
)

const kills = 20

// TestKills: a controller that is killed at random moments leaves what an undisturbed one leaves, and makes
// nothing twice. The specs are in the cluster.
func TestKills(t *testing.T) {
	w, server := cstor(t)
	dir := t.TempDir()
	program, err := tool.BuildController(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	const ns, name = "openebs", "killed"
	begin := func() {
		w.must(server.Show(t, "main", "storage/cstor.yaml"))
		w.must("{apiVersion: poolwright.io/v1alpha1, kind: Hydration, metadata: {name: killed, namespace: openebs}, spec: {source: {inCluster: {}}, publish: {mode: Apply}, facts: {debounce: 0s}}}")
	}
	begin()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	moments := rand.New(rand.NewPCG(seed, 0))
	uids := map[string]string{}
	for i := range kills {
		cmd := exec.Command(program, "--kubeconfig", plane.Kubeconfig, "--namespace", ns, "--leader-elect=false", "--listen", "127.0.0.1:0")
		cmd.SysProcAttr = tool.DieWithParent()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(300+moments.IntN(1500)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if i == kills/2 && len(w.list(poolClusters, "")) > 0 {
			w.poolOperator("prod")
		}
		for id, uid := range told(w, (*unstructured.Unstructured).GetUID) {
			if uids[id] != "" && uids[id] != uid {
				t.Errorf("%s was made again", id)
			}
			uids[id] = uid
		}
	}
	stop := w.keep(plane.Kubeconfig, ns)
	w.await("there are pools", func() bool { return len(w.list(poolClusters, "")) == 1 })
	w.poolOperator("prod")
	w.settles(ns, name)
	got := told(w, content)
	stop()

	for _, r := range members() {
		for _, o := range w.list(r, "applyset.kubernetes.io/part-of") {
			if err := w.Resource(r).Namespace(o.GetNamespace()).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	h := w.Resource(hydrations.Kind().GroupVersion().WithResource("hydrations")).Namespace(ns)
	if err := h.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	begin()
	stop = w.keep(plane.Kubeconfig, ns)
	w.await("there are pools again", func() bool { return len(w.list(poolClusters, "")) == 1 })
	w.poolOperator("prod")
	w.settles(ns, name)
	stop()
	want := told(w, content)
	if len(want) < 5 || !equal(got, want) {
		t.Errorf("got\n%v\nundisturbed it is\n%v", got, want)
	}
}

func members() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{poolClusters, plans, sets}
}

// told says something of each member.
func told[T ~string](w *world, of func(*unstructured.Unstructured) T) map[string]string {
	w.Helper()
	found := map[string]string{}
	for _, r := range members() {
		for _, o := range w.list(r, "applyset.kubernetes.io/part-of") {
			found[scenario.ID(&o)] = string(of(&o))
		}
	}
	return found
}

// content is an object without what only the API server keeps.
func content(o *unstructured.Unstructured) string {
	text, _ := json.Marshal(map[string]any{"spec": o.Object["spec"], "labels": o.GetLabels(), "annotations": o.GetAnnotations()})
	return string(text)
}
