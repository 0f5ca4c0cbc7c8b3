// Package lease lets one of several processes work at a time: the one that holds a Lease in the
// cluster.
package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/poolwright/poolwright/live/cluster"
)

// ErrLost says that another process may hold the lease by now.
var ErrLost = errors.New("the lease was lost; another process goes on")

// Options name the Lease and who takes it.
type Options struct {
	Namespace, Name string
	Identity        string        // of this process, unlike that of any other
	Duration        time.Duration // after which another process takes a lease that is not renewed
}

// Held is a lease that this process has taken.
type Held struct{ elector *leaderelection.LeaderElector }

// Check is asked before each step that others see. It is ErrLost where the lease was not renewed in
// time, even if the process slept and nobody has noticed yet. Without a lease it is nil.
func (h *Held) Check() error {
	if h == nil || h.elector.IsLeader() && h.elector.Check(0) == nil {
		return nil
	}
	return ErrLost
}

// Hold waits for the lease and works while it is held. It returns the error of work, ErrLost if the
// lease was lost, and nil if ctx ended first. The lease is given back when work has returned.
func Hold(ctx context.Context, c *cluster.Cluster, o Options, work func(context.Context, *Held) error) error {
	client, err := coordination.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	// It outlives ctx until work has returned, and its log is not for people.
	electing, stop := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	defer stop()
	leading := make(chan context.Context, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
			Client:     client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
		},
		LeaseDuration:   o.Duration,
		RenewDeadline:   o.Duration * 2 / 3,
		RetryPeriod:     o.Duration * 2 / 15,
		ReleaseOnCancel: true,
		Name:            o.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { leading <- ctx },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("the lease cannot be used: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(electing)
	}()
	finish := func() {
		stop()
		<-ended
	}
	var lead context.Context
	select {
	case lead = <-leading:
	case <-ctx.Done():
		finish()
		return nil
	}
	working, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(lead, cancel)()
	defer cancel()
	err = work(working, &Held{elector})
	lost := lead.Err() != nil
	finish()
	if lost {
		return ErrLost
	}
	return err
}

// Namespace is that of the pod that this process runs in, or default.
func Namespace() string {
	text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if name := strings.TrimSpace(string(text)); err == nil && name != "" {
		return name
	}
	return metav1.NamespaceDefault
}
