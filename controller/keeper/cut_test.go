package keeper_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

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

// newFault is a kubeconfig of a way to the API server that refuses the first request of this method and
// end of a path.
func newFault(t *testing.T, method, path string) string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(to)
	forward.FlushInterval = -1
	if forward.Transport, err = rest.TransportFor(config); err != nil {
		t.Fatal(err)
	}
	var refused atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == method && strings.HasSuffix(r.URL.Path, path) && refused.CompareAndSwap(false, true) {
			http.Error(w, "not now", http.StatusInternalServerError)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.CloseClientConnections)
	kubeconfig := api.NewConfig()
	kubeconfig.Clusters["way"] = &api.Cluster{Server: server.URL}
	kubeconfig.Contexts["way"] = &api.Context{Cluster: "way"}
	kubeconfig.CurrentContext = "way"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, file); err != nil {
		t.Fatal(err)
	}
	return file
}
