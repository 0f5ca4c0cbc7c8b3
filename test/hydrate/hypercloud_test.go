package hydrate

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/test/engines/scenario"
)

// levels are kinds of the levels of a HyperCloudStorage, in order.
func levels() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		resource("", "v1", "serviceaccounts"), resource("apps", "v1", "deployments"), resource("ceph.rook.io", "v1", "cephclusters"),
		resource("ceph.rook.io", "v1", "cephblockpools"), resource("storage.k8s.io", "v1", "storageclasses"), resource("cdi.kubevirt.io", "v1beta1", "cdis"),
	}
}

// TestHyperCloud: kubectl apply of a HyperCloudStorage installs Rook and CDI, level by level. The manifests
// of the operators are in ConfigMaps.
func TestHyperCloud(t *testing.T) {
	w := newWorld(t)
	const ns, name = "rook-ceph", "prod"
	w.must("apiVersion: v1\nkind: Namespace\nmetadata: {name: rook-ceph}\n")
	nodes, err := filepath.Glob(root + "/testdata/packages/hypercloud/inventory/node-*.yaml")
	if err != nil || len(nodes) == 0 {
		t.Fatal(nodes, err)
	}
	for _, file := range nodes {
		w.must(read(t, file))
	}
	w.operators(ns)
	w.must(`
apiVersion: poolwright.io/v1alpha1
kind: Hydration
metadata: {name: prod, namespace: rook-ceph}
spec:
  source: {inCluster: {manifests: [rook]}}
  publish: {mode: Apply}
  facts: {debounce: 0s}
`)
	ctx, end := context.WithCancel(context.Background())
	var playing sync.WaitGroup
	playing.Go(func() { scenario.PlayOperators(ctx, w.Cluster, 500*time.Millisecond) })
	t.Cleanup(func() {
		end()
		playing.Wait()
	})
	w.keep(plane.Kubeconfig, ns)
	w.becomes(ns, name, "Invalid", "there is no spec in it")

	w.must(read(t, root+"/testdata/packages/hypercloud/hcs.yaml"))
	var said []string
	w.await("all is applied", func() bool {
		h := w.hydration(ns, name)
		c := h.Status.Condition("Ready")
		if c.Reason == "Applying" && (len(said) == 0 || said[len(said)-1] != c.Message) {
			said = append(said, c.Message)
		}
		return c.Status == "True"
	})
	all := strings.Join(said, "\n")
	if !strings.Contains(all, "awaiting level 2-operators: Deployment ") || !strings.Contains(all, "awaiting level 3-cluster: CephCluster rook-ceph/hcs: ") {
		t.Errorf("said\n%s", all)
	}
	h := w.hydration(ns, name)
	if !strings.HasPrefix(h.Status.Source.Revision, "in-cluster@sha256:") || !strings.HasPrefix(h.Status.Published.Revision, "cluster@sha256:") {
		t.Errorf("status %+v", h.Status)
	}
	w.ordered()
	before := w.installed()

	t.Run("again", func(t *testing.T) {
		w.judge(ns, name)
		w.becomes(ns, name, "UpToDate", "")
		if now := w.installed(); !equal(before, now) {
			t.Errorf("written:\n%v\n%v", before, now)
		}
	})
	t.Run("removal", func(t *testing.T) {
		specs := w.Resource(resource("hcs.tmax.io", "v1alpha1", "hypercloudstorages")).Namespace(ns)
		if err := specs.Delete(t.Context(), "hcs", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.becomes(ns, name, "Invalid", "its spec hcs.tmax.io/HyperCloudStorage/rook-ceph/hcs is gone")
		if now := w.installed(); !equal(before, now) {
			t.Errorf("written:\n%v\n%v", before, now)
		}
		w.must(read(t, root+"/testdata/packages/hypercloud/hcs.yaml"))
		w.settles(ns, name)
	})
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// operators puts the manifests of the example's operators, with the definitions of upstream, into a ConfigMap.
func (w *world) operators(namespace string) {
	w.Helper()
	data, packed := map[string]string{}, map[string]string{}
	for _, name := range []string{"cdi", "common", "csi-operator", "operator", "snapshot"} {
		objects, err := scenario.Parse([]byte(read(w.T, root+"/examples/hypercloud/operators/"+name+".yaml")))
		if err != nil {
			w.Fatal(err)
		}
		for _, o := range objects {
			if o.GetKind() == "CustomResourceDefinition" {
				continue // there they are stand-ins
			}
			text, err := yaml.Marshal(o.Object)
			if err != nil {
				w.Fatal(err)
			}
			data[name+".yaml"] += "---\n" + string(text)
		}
	}
	for _, o := range scenario.Upstream(w.T, "rook-ceph.yaml", "csi-ceph.yaml", "csi-snapshot.yaml", "cdi.yaml") {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			w.Fatal(err)
		}
		packed[o.GetName()+".yaml.gz"] = gzipped(w.T, text)
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "rook", "namespace": namespace}, "data": data, "binaryData": packed,
	})
	if err != nil {
		w.Fatal(err)
	}
	w.must(string(text))
}

// installed are the resource versions of members, without those of which operators write the status.
func (w *world) installed() map[string]string {
	w.Helper()
	found := map[string]string{}
	for _, r := range levels() {
		for _, o := range w.list(r, "applyset.kubernetes.io/part-of") {
			found[scenario.ID(&o)] = o.GetResourceVersion()
		}
	}
	return found
}

// ordered wants no object of a level to be older than those of the levels before.
func (w *world) ordered() {
	w.Helper()
	var last time.Time
	for _, r := range levels() {
		members := w.list(r, "applyset.kubernetes.io/part-of")
		if len(members) == 0 {
			w.Errorf("no %s", r.Resource)
			continue
		}
		times := make([]time.Time, 0, len(members))
		for i := range members {
			if r.Resource == "deployments" && members[i].GetName() == "rook-ceph-tools" {
				continue // of the last level
			}
			times = append(times, members[i].GetCreationTimestamp().Time)
		}
		slices.SortFunc(times, time.Time.Compare)
		if times[0].Before(last) {
			w.Errorf("%s are from %v, before the level before was there at %v", r.Resource, times[0], last)
		}
		last = times[len(times)-1]
	}
}
