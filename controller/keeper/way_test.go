package keeper_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// way is a way to the API server that can be cut.
type way struct {
	kubeconfig string
	to         http.Handler
	trap       *trap // nil for none

	mu   sync.Mutex
	cut  func(*http.Request) bool
	open map[*http.Request]context.CancelFunc
}

func newWay(t *testing.T) *way {
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
	forward.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	if forward.Transport, err = rest.TransportFor(config); err != nil {
		t.Fatal(err)
	}
	w := &way{to: forward, open: map[*http.Request]context.CancelFunc{}}
	server := httptest.NewServer(w)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	kubeconfig := api.NewConfig()
	kubeconfig.Clusters["way"] = &api.Cluster{Server: server.URL}
	kubeconfig.Contexts["way"] = &api.Context{Cluster: "way"}
	kubeconfig.CurrentContext = "way"
	w.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, w.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return w
}

// ServeHTTP breaks the connection off where the way is cut, at once or later.
func (w *way) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	w.mu.Lock()
	if w.cut != nil && w.cut(r) {
		w.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	w.open[r] = cancel
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.open, r)
	}()
	if w.trap.springs(r, w.to) {
		panic(http.ErrAbortHandler)
	}
	w.to.ServeHTTP(answer, r)
	if ctx.Err() != nil {
		panic(http.ErrAbortHandler)
	}
}

// close cuts the way for some requests, those that run included; nil opens it again.
func (w *way) close(which func(*http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = which
	for r, cancel := range w.open {
		if which != nil && which(r) {
			cancel()
		}
	}
}

func all(*http.Request) bool { return true }
