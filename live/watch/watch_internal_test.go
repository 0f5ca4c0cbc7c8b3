package watch

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/own"
)

// TestHalfRead holds that nothing is told before all kinds were read: half of the
// facts would tell of pools that are missing.
func TestHalfRead(t *testing.T) {
	w := &watcher{cluster: nowhere(t), sources: map[cluster.Resource]*source{}}
	nodes := cluster.Resource{Version: "v1", Kind: "Node", Plural: "nodes"}
	s, err := newSource(w, nodes, false)
	if err != nil {
		t.Fatal(err)
	}
	w.sources[nodes] = s // and not started
	if err := w.look(t.Context(), func([]*own.Object, []*krm.Object) error {
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
	w := &watcher{cluster: c, options: Options{Own: true, Notice: func(string) { notices++ }}}
	w.kept.Annotations = []string{"example.com/pool"} // no spec asks for it any more
	for range 2 {
		if err := w.look(t.Context(), func([]*own.Object, []*krm.Object) error { looks++; return nil }); err != nil {
			t.Error(err)
		}
	}
	if notices != 1 || looks != 0 {
		t.Errorf("%d notices and %d looks, want one and none", notices, looks)
	}
}

// TestKindsCannotBeTold holds that the reason why kinds are not followed is told once
// while it lasts, and not where the watches have told that the API server is lost.
func TestKindsCannotBeTold(t *testing.T) {
	notices := 0
	w := &watcher{cluster: nowhere(t), options: Options{Notice: func(string) { notices++ }}}
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

// nowhere is a cluster whose API server does not answer.
func nowhere(t *testing.T) *cluster.Cluster {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	const config = `{"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}], "contexts": [{"name": "c", "context": {"cluster": "c"}}], "current-context": "c"}`
	if err := os.WriteFile(kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Connect(cluster.Options{Kubeconfig: kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
