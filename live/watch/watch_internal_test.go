package watch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/own"
	"github.com/poolwright/poolwright/live/snapshot"
)

// TestHalfRead holds that nothing is reported before all kinds were read: half of the
// facts would report pools that are missing.
func TestHalfRead(t *testing.T) {
	w := &watcher{cluster: nowhere(t), sources: map[cluster.Resource]*source{}}
	nodes := cluster.Resource{Version: "v1", Kind: "Node", Plural: "nodes"}
	w.sources[nodes] = newSource(w, nodes, following{fact: &system.Kind{Keep: "spec"}}) // and not started
	if err := lookOf(t, w, func([]*own.Object, []*krm.Object) error {
		t.Error("looked at nodes that were not read")
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestSelectorsWithoutServer holds that an API server that is away just when a spec
// selects by something else is waited for, and that nothing is said meanwhile: of
// the facts there are none.
func TestSelectorsWithoutServer(t *testing.T) {
	c := nowhere(t)
	notices, looks := 0, 0
	w := &watcher{cluster: c, options: Options{Own: system.NewKinds(), Notice: func(string) { notices++ }}}
	w.kept.Annotations = []string{"example.com/pool"} // no spec asks for it any more
	for range 2 {
		if err := lookOf(t, w, func([]*own.Object, []*krm.Object) error { looks++; return nil }); err != nil {
			t.Error(err)
		}
	}
	if notices != 0 || looks != 0 {
		t.Errorf("%d notices and %d looks, want none", notices, looks)
	}
}

// TestKindsCannotBeTold holds that the reason why kinds are not followed is reported once
// while it lasts, and not where the watches report that the API server is lost.
func TestKindsCannotBeTold(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	notices := 0
	w := &watcher{cluster: at(t, server.URL), options: Options{Notice: func(string) { notices++ }}}
	for _, step := range []struct {
		lost bool
		want int
	}{{true, 0}, {false, 1}, {false, 1}} {
		w.lost = step.lost
		w.rediscover(t.Context())
		if notices != step.want {
			t.Errorf("%d notices instead of %d", notices, step.want)
		}
	}
	w.cluster = nowhere(t)
	w.rediscover(t.Context())
	if notices != 1 {
		t.Error("told of a server that does not answer")
	}
}

// both is a system whose spec is a fact, too.
type both struct{ system.FactsOnly }

func (both) Declare() system.Declaration {
	return system.Declaration{Kinds: []system.Kind{
		{GroupKind: krm.GroupKind{Group: "example.com", Kind: "Volume"}, Role: system.RoleSpec, Plural: "volumes", Holds: true, Keep: "spec"},
		{GroupKind: krm.GroupKind{Group: "example.com", Kind: "Disk"}, Role: system.RoleFact, Plural: "disks", Reports: true, Keep: "spec"},
	}}
}

// TestOwnFact holds that a kind of ours that is a fact, too, is followed once, as both.
func TestOwnFact(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		groups := ""
		if r.URL.Path == "/apis" {
			groups = `{"metadata": {"name": "example.com"}, "versions": [{"version": "v1", "resources": [
				{"resource": "volumes", "responseKind": {"kind": "Volume"}, "verbs": ["list"]}, {"resource": "disks", "responseKind": {"kind": "Disk"}, "verbs": ["list"]}]}]}`
		}
		fmt.Fprintf(w, `{"kind": "APIGroupDiscoveryList", "items": [%s]}`, groups)
	}))
	defer server.Close()
	kinds := system.NewKinds(both{})
	w := &watcher{
		cluster: at(t, server.URL), options: Options{Own: kinds, Kinds: kinds.Status(), Notice: func(string) {}},
		sources: map[cluster.Resource]*source{}, failing: map[*source]bool{}, changed: make(chan struct{}, 1), fatal: make(chan error, 1),
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer w.running.Wait()
	defer cancel()
	if err := w.discover(ctx); err != nil {
		t.Fatal(err)
	}
	followed := map[string]following{}
	for r, s := range w.sources {
		followed[r.Kind] = s.following
	}
	if v, d := followed["Volume"], followed["Disk"]; len(followed) != 2 || !v.ours || v.fact == nil || d.ours || d.fact == nil {
		t.Errorf("followed %+v", followed)
	}
}

// TestMissingTwice holds that a kind is followed until it is missing twice in a row, or
// served in another version.
func TestMissingTwice(t *testing.T) {
	version := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		const group = `{"metadata": {"name": %q}, "versions": [{"version": %q, "resources": [{"resource": %q, "responseKind": {"kind": %q}, "verbs": ["list"]}]}]}`
		groups := ""
		switch {
		case r.URL.Path == "/api":
			groups = fmt.Sprintf(group, "", "v1", "nodes", "Node")
		case r.URL.Path == "/apis" && version != "":
			groups = fmt.Sprintf(group, "cstor.openebs.io", version, "cstorpoolclusters", "CStorPoolCluster")
		}
		fmt.Fprintf(w, `{"kind": "APIGroupDiscoveryList", "items": [%s]}`, groups)
	}))
	defer server.Close()
	w := &watcher{
		cluster: at(t, server.URL), options: Options{Kinds: []system.Kind{{GroupKind: krm.GroupKind{Group: "cstor.openebs.io", Kind: "CStorPoolCluster"}}}, Notice: func(string) {}},
		sources: map[cluster.Resource]*source{}, failing: map[*source]bool{}, changed: make(chan struct{}, 1), fatal: make(chan error, 1),
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer w.running.Wait()
	defer cancel()
	for _, step := range []struct{ served, followed string }{
		{"v1beta1", "v1beta1"}, {"", "v1beta1"}, {"v1beta1", "v1beta1"}, {"v1", "v1"}, {"", "v1"}, {"", ""},
	} {
		version = step.served
		if err := w.discover(ctx); err != nil {
			t.Fatal(err)
		}
		followed := ""
		for r := range w.sources {
			followed += r.Version
		}
		if followed != step.followed {
			t.Errorf("%q is followed instead of %q", followed, step.followed)
		}
	}
}

// TestForbidden holds that what may not be read ends the first reading, and is waited
// for later.
func TestForbidden(t *testing.T) {
	notices := 0
	w := &watcher{
		cluster: nowhere(t), options: Options{Notice: func(string) { notices++ }},
		failing: map[*source]bool{}, changed: make(chan struct{}, 1), fatal: make(chan error, 1),
	}
	s := newSource(w, cluster.Resource{Version: "v1", Kind: "Node", Plural: "nodes"}, following{fact: &system.Kind{Keep: "spec"}})
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil)
	s.heard(t.Context(), forbidden)
	if len(w.fatal) != 1 || notices != 0 {
		t.Errorf("%d ends and %d notices of the first reading", len(w.fatal), notices)
	}
	if err := <-w.fatal; err == nil {
		t.Error("the watch ends without an error")
	}
	if err := lookOf(t, w, func([]*own.Object, []*krm.Object) error { return nil }); err != nil {
		t.Fatal(err)
	}
	s.heard(t.Context(), forbidden)
	if len(w.fatal) != 0 || notices != 1 {
		t.Errorf("%d ends and %d notices later", len(w.fatal), notices)
	}
}

// TestWakes holds which events a look is taken for.
func TestWakes(t *testing.T) {
	w := &watcher{cluster: nowhere(t), changed: make(chan struct{}, 1)}
	s := newSource(w, cluster.Resource{Version: "v1", Kind: "Node", Plural: "nodes"}, following{fact: &system.Kind{Keep: "spec"}})
	wakes := func(what string, want int) {
		if len(w.changed) != want {
			t.Errorf("%s: woken %d times instead of %d", what, len(w.changed), want)
		}
		w.changed = make(chan struct{}, 1)
	}
	handler, a, b := s.handler(), &kept{text: "a"}, &kept{text: "b"}
	handler.OnAdd(a, false)
	wakes("added", 1)
	handler.OnUpdate(a, b)
	wakes("updated", 1)
	handler.OnUpdate(a, &kept{text: "a"})
	wakes("updated in nothing that is kept", 0)
	handler.OnDelete(a)
	wakes("deleted", 1)
}

// TestHeardAfterDrop holds that a kind that is followed no more is not waited for,
// whatever the request says that was under way.
func TestHeardAfterDrop(t *testing.T) {
	r := cluster.Resource{Group: "example.com", Version: "v1", Kind: "Pool", Plural: "pools"}
	notices := 0
	w := &watcher{
		cluster: nowhere(t), options: Options{Notice: func(string) { notices++ }},
		sources: map[cluster.Resource]*source{}, failing: map[*source]bool{}, changed: make(chan struct{}, 1),
	}
	s := &source{watcher: w, resource: r, cancel: func() {}}
	w.sources[r] = s
	w.heard(s, io.EOF)
	if notices != 1 {
		t.Fatalf("%d notices of the loss", notices)
	}
	w.drop(r)
	w.heard(s, io.EOF)
	if notices != 2 || w.lost || len(w.failing) > 0 {
		t.Errorf("%d notices, want that of the loss and that of its end; %v", notices, w.failing)
	}
}

// TestNoSnapshotWhileLost holds that while a watch is lost there is no snapshot, and that this is reported.
func TestNoSnapshotWhileLost(t *testing.T) {
	looks, lost := 0, []string{}
	w := newWatcher(nowhere(t), Options{Notice: func(string) {}, Lost: func(err error) { lost = append(lost, fmt.Sprint(err)) }})
	w.see = w.seeSnapshot(func(*snapshot.Snapshot) error { looks++; return nil })
	s := &source{watcher: w, resource: cluster.Resource{Group: "example.com", Version: "v1", Kind: "Pool", Plural: "pools"}, cancel: func() {}}
	for _, step := range []struct {
		heard error
		want  int
	}{{nil, 1}, {io.EOF, 1}, {io.EOF, 1}, {nil, 2}} {
		w.heard(s, step.heard)
		if err := w.look(t.Context()); err != nil || looks != step.want {
			t.Errorf("%d looks, want %d; %v", looks, step.want, err)
		}
	}
	if len(lost) != 2 || !strings.Contains(lost[0], "the connection to") || lost[1] != "<nil>" {
		t.Errorf("reported %q", lost)
	}
}

// nowhere is a cluster whose API server does not answer.
func nowhere(t *testing.T) *cluster.Cluster {
	t.Helper()
	return at(t, "http://127.0.0.1:1")
}

func at(t *testing.T, server string) *cluster.Cluster {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	config := fmt.Sprintf(`{"clusters": [{"name": "c", "cluster": {"server": %q}}], "contexts": [{"name": "c", "context": {"cluster": "c"}}], "current-context": "c"}`, server)
	if err := os.WriteFile(kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Connect(cluster.Options{Kubeconfig: kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// lookOf takes one look.
func lookOf(t *testing.T, w *watcher, look func([]*own.Object, []*krm.Object) error) error {
	w.see = func(ctx context.Context, all []*source) error { return w.lookAt(ctx, all, look) }
	return w.look(t.Context())
}
