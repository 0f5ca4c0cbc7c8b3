// Package mayastor plays the DiskPool operator of Mayastor against a real API server: its
// states, its events and its pauses, after what its source does, with a control plane that
// answers as it is instructed. What the operator cannot know stands for what is not here.
package mayastor

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

var (
	pools  = schema.GroupVersionResource{Group: "openebs.io", Version: "v1beta3", Resource: "diskpools"}
	events = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

const finalizer = "openebs.io/diskpool-protection"

// Pauses of the operator. Nothing waits for them: it looks at once at a world that it meets.
const (
	pauseState  = 3 * time.Second  // for the state of a pool that was just made
	pauseError  = 20 * time.Second // after an error
	pauseCheck  = 30 * time.Second // between two looks at a pool that is there
	pauseDelete = 10 * time.Second // between two tries to delete
)

// World is what the control plane answers, and which release of the operator asks.
type World struct {
	Newer  bool                // the operator is of release 2.9 or later: it writes errorInfo and conditions
	Put    int                 // HTTP status of making a pool: 0 for ok, 422 for one that is there already
	Error  string              // code of the error, in newer releases
	Detail string              // its message
	Get    int                 // HTTP status of looking at a pool: 0, 404, or 503
	State  string              // of the pool; "" where the node does not answer
	Alerts map[string][]string // codes by severity, in newer releases
	Delete int                 // HTTP status of deleting: 0, 409 while replicas are on it, 423 while it may not
	Event  [3]string           // type, reason and message of one that comes beside the machine
}

// Operator reconciles the DiskPools of a namespace.
type Operator struct {
	Client    dynamic.Interface
	Namespace string

	mutex sync.Mutex
	world World
	next  map[visit]time.Time // when a pool is looked at again
	told  map[[3]string]bool  // events that came beside the machine
}

// visit is a pool, before or after its deletion was asked for, of which the operator learns at once.
type visit struct {
	pool    types.UID
	deleted bool
}

// Meet changes the world, and has the operator look at every pool at once, as it does when
// it is started.
func (o *Operator) Meet(w World) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.world, o.next, o.told = w, map[visit]time.Time{}, map[[3]string]bool{}
}

// Rest has the operator do nothing until it meets a world again.
func (o *Operator) Rest() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.next = nil
}

// Run works until the context ends, and returns the last error that stayed.
func (o *Operator) Run(ctx context.Context) error {
	var last error
	for ctx.Err() == nil {
		if err := o.look(ctx); ctx.Err() == nil {
			last = err // a conflict is tried again
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	return last
}

func (o *Operator) look(ctx context.Context) error {
	list, err := o.Client.Resource(pools).Namespace(o.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.next == nil {
		return nil // it is not started yet
	}
	var errs []error
	for i := range list.Items {
		pool := &list.Items[i]
		at := visit{pool.GetUID(), pool.GetDeletionTimestamp() != nil}
		if time.Now().Before(o.next[at]) {
			continue
		}
		pause, err := o.reconcile(ctx, pool)
		o.next[at] = time.Now().Add(pause)
		if key := o.world.Event; err == nil && key[0] != "" && !o.told[key] {
			o.told[key] = true
			err = o.notify(ctx, pool, key[0], key[1], key[2])
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// reconcile does one step for a pool, and says when the next is due.
func (o *Operator) reconcile(ctx context.Context, pool *unstructured.Unstructured) (time.Duration, error) {
	state, _, err := unstructured.NestedString(pool.Object, "status", "cr_state")
	if err != nil {
		return 0, err
	}
	switch {
	case pool.GetDeletionTimestamp() != nil:
		return o.remove(ctx, pool, state)
	case len(pool.GetFinalizers()) == 0:
		pool.SetFinalizers([]string{finalizer})
		_, err := o.Client.Resource(pools).Namespace(o.Namespace).Update(ctx, pool, metav1.UpdateOptions{})
		return 0, err
	case state == "":
		return 0, o.write(ctx, pool, map[string]any{"cr_state": "Creating"})
	case state == "Creating":
		return o.create(ctx, pool)
	}
	return o.check(ctx, pool)
}

// create asks for the pool.
func (o *Operator) create(ctx context.Context, pool *unstructured.Unstructured) (time.Duration, error) {
	w := &o.world
	switch w.Put {
	case 0:
		if w.State == "" {
			return pauseState, nil
		}
		return pauseCheck, errors.Join(
			o.write(ctx, pool, o.status("Created", w.State)),
			o.notify(ctx, pool, "Normal", "Created", "the pool was made"),
			o.notify(ctx, pool, "Normal", "Online", "the pool is online"),
		)
	case 422: // made by an earlier try
		return pauseCheck, o.write(ctx, pool, o.status("Created", "Unknown"))
	}
	if w.Newer {
		return pauseError, errors.Join(
			o.write(ctx, pool, o.status("Creating", "Unknown")),
			o.notify(ctx, pool, "Warning", w.Error, "the pool cannot be made or imported"),
		)
	}
	return pauseError, o.notify(ctx, pool, "Critical", "Failure", "Unable to create or import pool")
}

// check looks at a pool that was made.
func (o *Operator) check(ctx context.Context, pool *unstructured.Unstructured) (time.Duration, error) {
	w := &o.world
	switch {
	case w.Get == 404 && w.Newer:
		w.Error, w.Detail = "PoolDeleted", "the control plane has no such pool"
		return pauseCheck, errors.Join(
			o.write(ctx, pool, o.status("Created", "Unknown")),
			o.notify(ctx, pool, "Warning", "Notfound", "the pool is not there, NOT recreating it"),
		)
	case w.Get == 404:
		return pauseCheck, o.notify(ctx, pool, "Warning", "Notfound", "the pool is not there, NOT recreating it")
	case w.Get != 0:
		return pauseCheck, errors.Join(
			o.write(ctx, pool, nil),
			o.notify(ctx, pool, "Warning", "Unreachable", "the control plane does not answer"),
		)
	case w.State == "":
		return pauseCheck, errors.Join(
			o.write(ctx, pool, o.status("Created", "Unknown")),
			o.notify(ctx, pool, "Warn", "Missing", "the pool has no state"),
		)
	}
	return pauseCheck, o.write(ctx, pool, o.status("Created", w.State))
}

// remove deletes the pool, and then releases the object.
func (o *Operator) remove(ctx context.Context, pool *unstructured.Unstructured, state string) (time.Duration, error) {
	if state != "Terminating" {
		if err := o.write(ctx, pool, o.status("Terminating", o.world.State)); err != nil {
			return 0, err
		}
	}
	switch o.world.Delete {
	case 423:
		return pauseDelete, nil
	case 409:
		return pauseDelete, o.notify(ctx, pool, "Warning", "DeleteFailed", "replicas are on the pool (InUse)")
	}
	if err := o.notify(ctx, pool, "Normal", "Destroy", "the pool was destroyed"); err != nil {
		return 0, err
	}
	live, err := o.Client.Resource(pools).Namespace(o.Namespace).Get(ctx, pool.GetName(), metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	live.SetFinalizers(nil)
	_, err = o.Client.Resource(pools).Namespace(o.Namespace).Update(ctx, live, metav1.UpdateOptions{})
	return pauseDelete, err
}

// status is what the operator writes: pool_status is Unknown, Online, Degraded, Faulted or Suspected, and the reason of
// the condition repeats the code of the error.
func (o *Operator) status(created, state string) map[string]any {
	w := &o.world
	status := map[string]any{"cr_state": created, "pool_status": state, "capacity": int64(107374182400), "used": int64(0), "available": int64(107374182400)}
	if !w.Newer {
		return status
	}
	if w.Error != "" || len(w.Alerts) > 0 {
		info := map[string]any{}
		if w.Error != "" {
			info["error"] = map[string]any{"code": w.Error, "message": w.Detail}
		}
		if len(w.Alerts) > 0 {
			alerts := map[string]any{"status": "Raised"}
			for _, severity := range []string{"notice", "attention", "warning", "critical"} {
				codes := []any{}
				for _, code := range w.Alerts[severity] {
					codes = append(codes, code)
				}
				alerts[severity] = codes
			}
			info["alerts"] = alerts
		}
		status["errorInfo"] = info
	}
	ready := map[string]any{"type": "PoolReady", "status": "True", "reason": w.Error, "message": w.Detail, "lastTransitionTime": "2026-01-01T00:00:00Z"}
	if state != "Online" {
		ready["status"] = "False"
	}
	status["conditions"] = []any{ready}
	return status
}

// write writes the status of a pool; nil clears it.
func (o *Operator) write(ctx context.Context, pool *unstructured.Unstructured, status map[string]any) error {
	client := o.Client.Resource(pools).Namespace(o.Namespace)
	live, err := client.Get(ctx, pool.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	delete(live.Object, "status")
	if status != nil {
		live.Object["status"] = status
	}
	_, err = client.UpdateStatus(ctx, live, metav1.UpdateOptions{})
	return err
}

// notify writes an event, each a new one.
func (o *Operator) notify(ctx context.Context, pool *unstructured.Unstructured, kind, reason, message string) error {
	now := time.Now().UTC()
	event := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata": map[string]any{"generateName": pool.GetName() + ".", "namespace": o.Namespace},
		"involvedObject": map[string]any{
			"apiVersion": pool.GetAPIVersion(), "kind": pool.GetKind(), "namespace": o.Namespace, "name": pool.GetName(), "uid": string(pool.GetUID()),
		},
		"type": kind, "reason": reason, "message": message,
		"eventTime":          now.Format("2006-01-02T15:04:05.000000Z"), // two of one second are distinguished
		"reportingComponent": "dsp-operator", "reportingInstance": "dsp-operator", "action": reason,
	}}
	_, err := o.Client.Resource(events).Namespace(o.Namespace).Create(ctx, event, metav1.CreateOptions{})
	return err
}
