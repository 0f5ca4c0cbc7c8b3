package keeper_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
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
	w := &way{open: map[*http.Request]context.CancelFunc{}}
	w.kubeconfig = plane.Proxy(t, func(forward http.Handler) http.Handler {
		w.to = forward
		return w
	})
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
