package keeper_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/poolwright/poolwright/live/hydrations"
)

// victim is a controller that is killed.
type victim interface {
	kill()
	gone(t *testing.T) // waits for its end
}

func (p *process) kill() { p.signal(syscall.SIGKILL) }

func (p *process) gone(t *testing.T) {
	if code := p.end(t); code != -1 {
		t.Fatalf("it ended by itself, with %d\n%s", code, p.log)
	}
}

// inside is a controller in this process. Who kills it first cuts off its ways to all servers.
type inside struct {
	cancel context.CancelFunc
	ended  chan error
	store  *hydrations.Store
	log    *log
}

func startInside(t *testing.T, kubeconfig, namespace string) *inside {
	t.Helper()
	k, store, l := keeperAt(t, kubeconfig, namespace)
	ctx, cancel := context.WithCancel(context.Background())
	i := &inside{cancel: cancel, ended: make(chan error, 1), store: store, log: l}
	go func() { i.ended <- k.Run(ctx) }()
	return i
}

func (i *inside) kill() { i.cancel() }

func (i *inside) gone(t *testing.T) {
	t.Helper()
	select {
	case err := <-i.ended:
		_ = err // all is cut off
		i.store.Close()
		if t.Failed() {
			t.Log(i.log)
		}
	case <-time.After(patience):
		t.Fatalf("does not end\n%s", i.log)
	}
}
