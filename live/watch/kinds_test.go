package watch_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/live/watch"
)

// definition is as much of a kind as it takes to store its objects.
const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: cdis.cdi.kubevirt.io
spec:
  group: cdi.kubevirt.io
  scope: Cluster
  names: {kind: CDI, plural: cdis, singular: cdi, listKind: CDIList}
  versions:
  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// recorder is a way to the API server that keeps the paths of all requests.
type recorder struct {
	mu    sync.Mutex
	paths []string
	file  string // the kubeconfig
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{}
	r.file = plane.Proxy(t, func(forward http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			r.mu.Lock()
			r.paths = append(r.paths, req.URL.Path)
			r.mu.Unlock()
			forward.ServeHTTP(w, req)
		})
	})
	return r
}

// take returns the paths since the last call.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.paths = nil }()
	return r.paths
}

// TestKindsWithoutAsking: a kind that comes is followed soon, one that goes is dropped, and while nothing happens
// the API server is asked nothing.
func TestKindsWithoutAsking(t *testing.T) {
	r := newRecorder(t)
	c, err := cluster.Connect(cluster.Options{Kubeconfig: r.file})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan bool, 100) // whether the kind is, in each snapshot
	ended := make(chan error, 1)
	go func() {
		ended <- watch.Snapshots(ctx, c, watch.Options{Kinds: system.NewKinds(systems.All()...).Read(), Notice: func(string) {}}, func(s *snapshot.Snapshot) error {
			served <- slices.ContainsFunc(s.Kinds, func(k snapshot.Kind) bool { return strings.HasPrefix(k.File(), "cdi") })
			return nil
		})
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	becomes := func(want bool) {
		t.Helper()
		for deadline := time.After(25 * time.Second); ; {
			select {
			case got := <-served:
				if got == want {
					return
				}
			case <-deadline:
				t.Fatalf("the kind is not %v within 25 seconds", want)
			}
		}
	}
	becomes(false)
	file := filepath.Join(t.TempDir(), "definition.yaml")
	if err := os.WriteFile(file, []byte(definition), 0o600); err != nil {
		t.Fatal(err)
	}
	k := newKube(t)
	k.define(t, file)
	becomes(true)
	for _, o := range parse(t, definition) {
		if err := k.of(o).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	becomes(false)
	// The last questions about what went, and then none.
	var asked []string
	for range 4 {
		r.take()
		time.Sleep(discovery + 2*time.Second)
		asked = slices.DeleteFunc(r.take(), func(path string) bool { return path != "/api" && path != "/apis" })
		if len(asked) == 0 {
			return
		}
	}
	t.Errorf("asked again and again which kinds there are, the last time %q", asked)
}

// discovery is the pause between two questions where definitions are not followed.
const discovery = 30 * time.Second
