package watch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/own"
)

// TestSelectorsWithoutServer holds that an API server that is away just when a spec
// selects by something else is waited for, and that nothing is said meanwhile: of
// the facts there are none.
func TestSelectorsWithoutServer(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	const nowhere = `{"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}], "contexts": [{"name": "c", "context": {"cluster": "c"}}], "current-context": "c"}`
	if err := os.WriteFile(kubeconfig, []byte(nowhere), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Connect(cluster.Options{Kubeconfig: kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
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
