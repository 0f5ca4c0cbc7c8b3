package scenario

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/test/rook"
)

// operators play Rook, CDI and the snapshot controller in a cluster, at their pace: an object
// is at work for a while before it is what it comes to. Of Deployments, Kubernetes' own
// controller says how they are; what is played is the kubelet of their pods.
type operators struct {
	cluster *Cluster
	pace    time.Duration

	mutex  sync.Mutex
	failed map[rook.Failure]bool
	seen   map[types.UID]time.Time
	err    error // of the last round
}

// PlayOperators plays Rook, CDI, the snapshot controller and the kubelet until ctx ends: an object is at work
// for so long before it is ready.
func PlayOperators(ctx context.Context, c *Cluster, pace time.Duration) {
	newOperators(c, pace).run(ctx)
}

func newOperators(c *Cluster, pace time.Duration, failed ...rook.Failure) *operators {
	o := &operators{cluster: c, pace: pace, failed: map[rook.Failure]bool{}, seen: map[types.UID]time.Time{}}
	for _, f := range failed {
		o.failed[f] = true
	}
	return o
}

// heal ends a failure.
func (o *operators) heal(f rook.Failure) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	delete(o.failed, f)
}

// run works until the context ends.
func (o *operators) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := o.round(ctx); ctx.Err() == nil {
			o.mutex.Lock()
			o.err = err // retried
			o.mutex.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func (o *operators) round(ctx context.Context) error {
	available := map[string]bool{}
	errs := []error{o.kubelet(ctx)}
	deployments, err := o.list(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	errs = append(errs, err)
	for i := range deployments {
		available[deployments[i].GetName()] = holds(&deployments[i], "Available")
	}
	clusters, err := o.list(ctx, rookKind("CephCluster"))
	errs = append(errs, err)
	made := false
	for i := range clusters {
		if available["rook-ceph-operator"] {
			errs = append(errs, o.say(ctx, &clusters[i], "status", rook.ClusterFailed, rook.NoOSDs, rook.OSDMissing, rook.HealthError))
		}
		made = made || str(&clusters[i], "status", "state") == "Created"
	}
	for _, kind := range []string{"CephBlockPool", "CephFilesystem", "CephFilesystemSubVolumeGroup", "CephObjectStore"} {
		objects, err := o.list(ctx, rookKind(kind))
		errs = append(errs, err)
		for i := range objects {
			if made {
				errs = append(errs, o.say(ctx, &objects[i], "status", rook.PoolNotReady, rook.PoolFailed))
			}
		}
	}
	cdis, err := o.list(ctx, schema.GroupVersionKind{Group: "cdi.kubevirt.io", Version: "v1beta1", Kind: "CDI"})
	errs = append(errs, err)
	for i := range cdis {
		if available["cdi-operator"] {
			errs = append(errs, o.say(ctx, &cdis[i], "", rook.CDIDeploying, rook.CDIFailed))
		}
	}
	return errors.Join(errs...)
}

func rookKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "ceph.rook.io", Version: "v1", Kind: kind}
}

// list lists a kind; nothing where it is not served.
func (o *operators) list(ctx context.Context, kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	r, err := o.cluster.resource(kind, "")
	if err != nil || r == nil {
		return nil, err
	}
	list, err := r.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// say writes the status of an object, if it is another one than before. Of the failures
// those are given that concern it; the first that there is holds.
func (o *operators) say(ctx context.Context, live *unstructured.Unstructured, subresource string, failures ...rook.Failure) error {
	o.mutex.Lock()
	failed := rook.Failure("")
	for _, f := range failures {
		if o.failed[f] {
			failed = f
			break
		}
	}
	since, known := o.seen[live.GetUID()]
	if !known {
		since = time.Now()
		o.seen[live.GetUID()] = since
	}
	o.mutex.Unlock()
	status := rook.Status(live.Object, failed)
	if time.Since(since) < o.pace {
		status = rook.Before(live.Object)
	}
	if status == nil || live.GetDeletionTimestamp() != nil || reflect.DeepEqual(live.Object["status"], any(status)) {
		return nil
	}
	said := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	said.SetGroupVersionKind(live.GroupVersionKind())
	said.SetNamespace(live.GetNamespace())
	said.SetName(live.GetName())
	said.SetUID(live.GetUID())
	if subresource == "" {
		return o.cluster.Apply(ctx, said)
	}
	return o.cluster.Apply(ctx, said, subresource)
}

// kubelet makes the pods of Deployments ready, or not.
func (o *operators) kubelet(ctx context.Context) error {
	pods, err := o.list(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	if err != nil {
		return err
	}
	var errs []error
	for i := range pods {
		p := &pods[i]
		o.mutex.Lock()
		down := o.failed[rook.OperatorDown] && strings.HasPrefix(p.GetName(), "rook-ceph-operator-") ||
			o.failed[rook.ToolboxUnavailable] && strings.HasPrefix(p.GetName(), "rook-ceph-tools-")
		o.mutex.Unlock()
		if holds(p, "Ready") == !down {
			continue
		}
		ready := "True"
		if down {
			ready = "False"
		}
		status := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
			"phase":      "Running",
			"conditions": []any{map[string]any{"type": "Ready", "status": ready, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}},
		}}}
		status.SetGroupVersionKind(p.GroupVersionKind())
		status.SetNamespace(p.GetNamespace())
		status.SetName(p.GetName())
		errs = append(errs, o.cluster.Apply(ctx, status, "status"))
	}
	return errors.Join(errs...)
}

// holds reports whether a condition of an object is true.
func holds(o *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			return c["status"] == "True"
		}
	}
	return false
}
