package keeper_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/poolwright/poolwright/test/gitea"
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
