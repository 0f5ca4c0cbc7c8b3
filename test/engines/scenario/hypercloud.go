package scenario

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// RunHyperCloud puts an engine through a HyperCloudStorage: deleting what was rendered, or
// the engine's own object, deletes nothing that holds data, or that what holds data needs;
// without protection it does. The operators and the definitions are an administrator's.
func RunHyperCloud(t *testing.T, s Suite) {
	c, err := Connect(s.Plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	administer(t, s, c)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go newOperators(c, 200*time.Millisecond).run(ctx)
	t.Run("confirm", func(t *testing.T) { cephProtected(t, s, c) })
	t.Run("off", func(t *testing.T) { cephUnprotected(t, s, c) })
}

// administer applies what is there before a HyperCloudStorage is.
func administer(t *testing.T, s Suite, c *Cluster) {
	t.Helper()
	objects := Upstream(t, "rook-ceph.yaml", "csi-ceph.yaml", "csi-snapshot.yaml", "cdi.yaml")
	objects = append(objects, lockDefinition(t, s)...)
	objects = append(objects, of(exampleOperators(t, s), "Namespace")...)
	objects = append(objects, of(exampleOperators(t, s), "Deployment")...)
	for _, o := range objects {
		if err := c.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Plane.AwaitServed(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// exampleOperators are the manifests of operators in the example.
func exampleOperators(t *testing.T, s Suite) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Root, "examples/hypercloud/operators/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("examples/hypercloud has no operators", err)
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		objects = append(objects, parseFile(t, file)...)
	}
	return objects
}

// cephKinds are the kinds of which nothing goes by itself.
var cephKinds = []string{
	"CephCluster", "CephBlockPool", "CephFilesystem", "CephFilesystemSubVolumeGroup", "OperatorConfig", "Driver", "CDI",
}

// cephProtected deletes the storage from Git, and then the engine's own object.
func cephProtected(t *testing.T, s Suite, c *Cluster) {
	r := beginCeph(t, s, c, "confirm")
	r.sync("all in one commit")
	objects, before := r.rooked()
	held := of(objects, cephKinds...)
	before = before.only(held)

	restore := r.save()
	r.withoutStorage()
	what := "all that was rendered, and the spec, is deleted from Git"
	report := r.sync(what)
	r.survives(what, held, before)
	r.gone(what, of(objects, "Deployment")) // so that it did act
	_, asks := r.engine.(Approver)
	if asks && !strings.Contains(report.Waiting, "confirmation") {
		t.Errorf("%s: the engine waits for %q", what, report.Waiting)
	}
	restore()
	r.sync("it is back")
	r.survives("it is back", held, before)

	r.outlivesEngine(held, before)
	r.clear(objects)
}

// cephUnprotected is the proof that this could fail.
func cephUnprotected(t *testing.T, s Suite, c *Cluster) {
	r := beginCeph(t, s, c, "off")
	r.sync("all in one commit")
	objects, _ := r.rooked()
	held := of(objects, cephKinds...)
	r.withoutStorage()
	what := "all that was rendered is deleted from Git"
	r.sync(what)
	r.gone(what, held)
	r.clear(objects)
}

// newestRook is the release of Rook of these tests, the newest that is known. That of the package is the default.
const newestRook = "1.21"

// copyHyperCloud makes the package of a HyperCloudStorage of the newest Rook.
func copyHyperCloud(g *Git, dir string) {
	g.t.Helper()
	g.check(os.CopyFS(dir, os.DirFS(filepath.Join(g.suite.Root, "testdata/packages/hypercloud"))))
	file := filepath.Join(dir, "hcs.yaml")
	text, err := os.ReadFile(file)
	g.check(err)
	g.check(os.WriteFile(file, bytes.Replace(text, []byte("spec:\n"), []byte("spec:\n  rook: {version: \""+newestRook+"\"}\n"), 1), 0o666))
}

// beginCeph is a working tree with a HyperCloudStorage.
func beginCeph(t *testing.T, s Suite, c *Cluster, protection string) *run {
	t.Helper()
	g := newGit(t, s, protection, protection)
	g.Namespace = "rook-ceph"
	copyHyperCloud(g, filepath.Join(g.Dir, "storage"))
	g.run(g.Dir, s.Poolwright, "render", "storage")
	for _, name := range []string{"hcs.yaml", "inventory"} {
		g.remove("storage/" + name) // kpt would apply them
	}
	g.write("platform.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: platform, namespace: default}\n")
	g.list("platform.yaml", "storage/rendered")
	return &run{Git: g, engine: s.New(t, g.name), cluster: c}
}

// rooked waits until Rook and CDI are done, and returns all that is there.
func (r *run) rooked() ([]*unstructured.Unstructured, State) {
	r.t.Helper()
	objects := r.objects()
	for _, o := range objects {
		phase := map[string]string{"CephCluster": "Ready", "CephBlockPool": "Ready", "CephFilesystem": "Ready", "CephFilesystemSubVolumeGroup": "Ready", "CDI": "Deployed"}[o.GetKind()]
		r.await(ID(o)+" is there and done", func() bool {
			live, err := r.cluster.Get(r.t.Context(), o.GroupVersionKind(), o.GetNamespace(), o.GetName())
			r.check(err)
			return live != nil && str(live, "status", "phase") == phase
		})
	}
	return objects, r.state(objects)
}

// clear deletes what is left, so that others can have the names.
func (r *run) clear(objects []*unstructured.Unstructured) {
	r.t.Helper()
	for _, o := range objects {
		if live, err := r.cluster.Get(r.t.Context(), o.GroupVersionKind(), o.GetNamespace(), o.GetName()); err == nil && live != nil {
			r.check(r.cluster.Delete(r.t.Context(), o))
		}
	}
	r.absent(objects)
}
