package keeper_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/test/gitea"
	"github.com/poolwright/poolwright/test/gitserver"
)

// newCut is a way to a Gitea that breaks off once: after the first request of this method and end of a
// path was carried out, and before it is answered. then is called in between.
func newCut(t *testing.T, s *gitea.Server, method, path string, then func()) string {
	t.Helper()
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	var cut atomic.Bool
	forward := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == method && strings.HasSuffix(r.URL.Path, path) && cut.CompareAndSwap(false, true) {
			forward.ServeHTTP(httptest.NewRecorder(), r)
			then()
			panic(http.ErrAbortHandler)
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// newFault is a kubeconfig of a way to the API server that refuses the first requests of this method and
// end of a path.
func newFault(t *testing.T, times int64, method, path string) string {
	t.Helper()
	var refused atomic.Int64
	return plane.Proxy(t, func(forward http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == method && strings.HasSuffix(r.URL.Path, path) && refused.Add(1) <= times {
				http.Error(w, "not now", http.StatusInternalServerError)
				return
			}
			forward.ServeHTTP(w, r)
		})
	})
}

// TestUnreported: whoever was killed after the push is found out by the next one.
func TestUnreported(t *testing.T) {
	k := newKube(t)
	k.node(t, "n1")
	server := gitserver.New(t, files())
	const ns, name = "unreported", "prod"
	hydrate(t, k, server, ns, name)
	keeper, _ := newKeeper(t, ns)
	if _, err := keeper.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := k.get(t, ns, name).Status
	events := k.Resource(schema.GroupVersionResource{Version: "v1", Resource: "events"}).Namespace(ns)
	for _, theirs := range []int{0, 20} { // commits of people after it
		if err := events.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := k.hydrations(ns).Patch(t.Context(), name, types.MergePatchType, []byte(`{"status":{"published":null,"history":null,"conditions":null}}`), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
		for i := range theirs {
			server.Commit(t, "main", "of a person", map[string]string{"README.md": fmt.Sprintln(i)})
		}
		if _, err := keeper.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := k.get(t, ns, name).Status
		if got.Published != want.Published || len(got.History) != 1 || got.History[0].Output != want.Published.Digest || len(commits(t, server)) != 2+theirs {
			t.Errorf("%d commits later: got %+v, want %+v", theirs, got, want)
		}
		// The event is made up for, once.
		for range 2 {
			if n := strings.Count(k.everything(t, ns), `"reason":"Published"`); n != 1 {
				t.Errorf("%d commits later: %d events", theirs, n)
			}
			again, _ := newKeeper(t, ns)
			if _, err := again.Once(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestUnwritten: a report that the API server does not take is written soon, and nothing is published
// again for it.
func TestUnwritten(t *testing.T) {
	k := newKube(t)
	const ns, name = "unwritten", "prod"
	k.member(t, ns, "unwritten-1")
	server := gitserver.New(t, filesOf(ns))
	hydrate(t, k, server, ns, name)
	said := keepAt(t, newFault(t, 1, http.MethodPatch, "/status"), ns)
	h := k.becomes(t, ns, name, "Published", "UpToDate")
	if !strings.Contains(said.String(), "the status was not written") {
		t.Error("it was written at once")
	}
	if h.Status.Published.Revision != "main@sha1:"+server.Head(t, "main") || len(h.Status.History) != 1 || len(commits(t, server)) != 2 {
		t.Errorf("status %+v, commits %q", h.Status, commits(t, server))
	}
	await(t, "the event", func() bool { return strings.Contains(k.everything(t, ns), `"reason":"Published"`) })
}

// TestOnceUnwritten: nobody comes after --once to write what was not written, so it goes on until it is.
func TestOnceUnwritten(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns, name = "once-unwritten", "prod"
	k.member(t, ns, "once-unwritten-1")
	server := gitserver.New(t, filesOf(ns))
	hydrate(t, k, server, ns, name)
	keeper, said := newKeeperAt(t, newFault(t, 2, http.MethodPatch, "/status"), ns)
	results, err := keeper.Once(t.Context())
	if err != nil || len(results) != 1 || results[0].Reason != "Published" {
		t.Fatalf("%+v, %v", results, err)
	}
	if n := strings.Count(said.String(), "the status was not written"); n != 2 {
		t.Errorf("it was not written %d times", n)
	}
	if p := k.get(t, ns, name).Status.Published; p.Revision != "main@sha1:"+server.Head(t, "main") {
		t.Errorf("published %+v", p)
	}
}
