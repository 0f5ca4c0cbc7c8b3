package scenario

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Run puts an engine through everything.
func Run(t *testing.T, s Suite) {
	cluster, err := Connect(s.Plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	d := readDefinitions(t, s)
	d.awaitDeleted(t, cluster)
	class := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": map[string]any{"name": "premium-rwo"},
		"provisioner": "pd.csi.storage.gke.io", "volumeBindingMode": "WaitForFirstConsumer",
	}}
	if err := cluster.Apply(t.Context(), class); err != nil {
		t.Fatal(err)
	}

	// Each scenario may run alone. The first applies the definitions and leaves them
	// behind, the last deletes them.
	if !s.Brief {
		t.Run("commits", func(t *testing.T) { commits(t, s, cluster, d) })
	}
	administrator := &run{Git: &Git{t: t, suite: s, Dir: t.TempDir(), Namespace: "openebs"}, cluster: cluster}
	administrator.install(d)
	t.Run("confirm", func(t *testing.T) { protected(t, s, cluster, "confirm") })
	if !s.Brief {
		t.Run("hard", func(t *testing.T) { protected(t, s, cluster, "hard") })
	}
	t.Run("removal", func(t *testing.T) { removal(t, s, cluster) })
	t.Run("off", func(t *testing.T) { unprotected(t, s, cluster) })
	if !s.Brief {
		t.Run("bare", func(t *testing.T) { bare(t, s, cluster, d) })
	}
}

// run is one scenario: a working tree, an engine that looks at it, and the CSI
// driver at work.
type run struct {
	*Git
	engine  Engine
	cluster *Cluster
}

func start(t *testing.T, s Suite, c *Cluster, name, protection string) *run {
	t.Helper()
	return begin(newGit(t, s, name, protection), c)
}

func begin(g *Git, c *Cluster) *run {
	g.t.Helper()
	r := &run{Git: g, engine: g.suite.New(g.t, g.name), cluster: c}
	r.playDriver(r.volumes())
	return r
}

// playDriver plays the CSI driver, which makes volumes by the name of their claim, and the
// operator for the namespace until the test ends.
func (r *run) playDriver(volumes map[string]*unstructured.Unstructured) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	d := &driver{cluster: r.cluster, namespace: r.Namespace, volumes: volumes, refused: map[types.UID]time.Time{}}
	go func() {
		defer close(done)
		d.run(ctx)
	}()
	r.t.Cleanup(func() {
		cancel()
		<-done
		if r.t.Failed() && d.failure != nil {
			r.t.Log("what is played beside Kubernetes failed:", d.failure)
		}
	})
}

func (r *run) sync(what string) Report {
	r.t.Helper()
	began := time.Now()
	report, err := r.engine.Sync(r.t.Context(), r.Dir)
	if err != nil {
		r.t.Fatalf("%s: %v", what, err)
	}
	r.log(what, report, began)
	return report
}

func (r *run) log(what string, report Report, began time.Time) {
	r.t.Helper()
	parts := []string{what, time.Since(began).Round(10 * time.Millisecond).String()}
	for name, ids := range map[string][]string{"deleted": report.Deleted, "kept": report.Kept} {
		if len(ids) > 0 {
			parts = append(parts, name+" "+kinds(ids))
		}
	}
	if report.Waiting != "" {
		parts = append(parts, report.Waiting)
	}
	slices.Sort(parts[2:])
	r.t.Log(strings.Join(parts, "; "))
}

// kinds counts: 6 PersistentVolumeClaim, 1 Namespace.
func kinds(ids []string) string {
	count := map[string]int{}
	for _, id := range ids {
		kind, _, _ := strings.Cut(id, "/")
		count[kind]++
	}
	var parts []string
	for kind, n := range count {
		parts = append(parts, strconv.Itoa(n)+" "+kind)
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func (r *run) state(objects []*unstructured.Unstructured) State {
	r.t.Helper()
	state, err := r.cluster.State(r.t.Context(), objects)
	r.check(err)
	return state
}

// applied holds that everything of the working tree is in the cluster, and waits
// until it works.
func (r *run) applied(what string) (objects []*unstructured.Unstructured, state State) {
	r.t.Helper()
	objects = r.objects()
	state = r.state(objects)
	for _, o := range objects {
		if state[ID(o)] == "" {
			r.t.Errorf("%s: %s is not in the cluster", what, ID(o))
		}
	}
	if r.t.Failed() {
		r.t.FailNow()
	}
	r.atWork(objects)
	return objects, state
}

// survives holds that nothing of these objects is lost.
func (r *run) survives(what string, objects []*unstructured.Unstructured, before State) {
	r.t.Helper()
	if lost := before.Lost(r.state(objects)); len(lost) > 0 {
		r.t.Fatalf("%s: lost %s", what, strings.Join(lost, ", "))
	}
}

// outlivesEngine deletes the engine's own object: what is protected goes when a person confirms
// that, and not before.
func (r *run) outlivesEngine(objects []*unstructured.Unstructured, before State) {
	r.t.Helper()
	what, began := "the engine's own object is deleted", time.Now()
	report, err := r.engine.Delete(r.t.Context())
	r.check(err)
	r.log(what, report, began)
	r.survives(what, objects, before)
	if approver, asks := r.engine.(Approver); asks {
		approver.Approve(true)
		_, err = r.engine.Delete(r.t.Context())
		r.check(err)
		r.gone("a person confirms", objects)
	}
}

// gone holds that all of these objects are deleted, or are about to be.
func (r *run) gone(what string, objects []*unstructured.Unstructured) {
	r.t.Helper()
	var left State
	r.awaitSaying(func() string { return what + "; still there: " + strings.Join(slices.Sorted(maps.Keys(left)), ", ") }, func() bool {
		left = r.state(objects)
		return len(left) == 0
	})
}

// absent waits until objects whose deletion has begun are gone, so that they can
// come back.
func (r *run) absent(objects []*unstructured.Unstructured) {
	r.t.Helper()
	for _, o := range objects {
		r.await(ID(o)+" is gone", func() bool {
			live, err := r.cluster.Get(r.t.Context(), o.GroupVersionKind(), o.GetNamespace(), o.GetName())
			r.check(err)
			return live == nil
		})
	}
}

// of selects kinds.
func of(objects []*unstructured.Unstructured, kinds ...string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool {
		return !slices.Contains(kinds, o.GetKind())
	})
}

// data are the kinds that hold data, storage those and what they live in.
var (
	data    = []string{"CStorPoolCluster", "VolumeAttachment", "PersistentVolumeClaim"}
	storage = append([]string{"Namespace", "CustomResourceDefinition"}, data...)
)
