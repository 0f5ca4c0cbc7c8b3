package scenario

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func str(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

// order remembers in which revision of the cluster each object was first seen:
// timestamps are whole seconds.
type order struct {
	r     *run
	mutex sync.Mutex
	first map[string]map[string]int64 // kind, name
}

// watchOrder begins to look at claims, attachments and pools.
func (r *run) watchOrder() *order {
	o := &order{r: r, first: map[string]map[string]int64{}}
	ctx, cancel := context.WithCancel(r.t.Context())
	r.t.Cleanup(cancel)
	for _, kind := range []schema.GroupVersionKind{claimKind, attachmentKind, poolKind} {
		o.first[kind.Kind] = map[string]int64{}
		go o.follow(ctx, kind)
	}
	return o
}

// follow watches a kind, again and again until it is there.
func (o *order) follow(ctx context.Context, kind schema.GroupVersionKind) {
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		client, err := o.r.cluster.resource(kind, o.r.Namespace)
		if err != nil || client == nil {
			continue
		}
		w, err := client.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for event := range w.ResultChan() {
			if object, ok := event.Object.(*unstructured.Unstructured); ok {
				o.see(kind.Kind, object)
			}
		}
	}
}

func (o *order) see(kind string, object *unstructured.Unstructured) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	revision, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	if _, seen := o.first[kind][object.GetName()]; !seen && err == nil {
		o.first[kind][object.GetName()] = revision
	}
}

// hold holds that all objects of a kind came before all of the next.
func (o *order) hold(kinds ...string) {
	o.r.t.Helper()
	wanted := of(o.r.objects(), kinds...)
	o.r.await("every object was seen", func() bool {
		o.mutex.Lock()
		defer o.mutex.Unlock()
		return !slices.ContainsFunc(wanted, func(w *unstructured.Unstructured) bool { return o.first[w.GetKind()][w.GetName()] == 0 })
	})
	o.mutex.Lock()
	defer o.mutex.Unlock()
	var last int64
	for i, kind := range kinds {
		var newest int64
		for _, w := range of(wanted, kind) {
			revision := o.first[kind][w.GetName()]
			if revision < last {
				o.r.t.Errorf("%s came before a %s", ID(w), kinds[i-1])
			}
			newest = max(newest, revision)
		}
		last = newest
	}
}
