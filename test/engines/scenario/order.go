package scenario

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

func str(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

// order remembers in which revision of the cluster each object was first seen, in
// which it was ready, and in which it was gone: timestamps are whole seconds.
type order struct {
	r     *run
	mutex sync.Mutex
	first map[string]int64 // by Kind/name
	ready map[string]int64 // bound or attached
	gone  map[string]int64
}

// watchOrder looks at claims, attachments and pools from now on.
func (r *run) watchOrder() *order {
	r.t.Helper()
	o := &order{r: r, first: map[string]int64{}, ready: map[string]int64{}, gone: map[string]int64{}}
	ctx, cancel := context.WithCancel(r.t.Context())
	r.t.Cleanup(cancel)
	for _, kind := range []schema.GroupVersionKind{claimKind, attachmentKind, poolKind} {
		version, err := o.list(ctx, kind)
		r.check(err)
		go o.follow(ctx, kind, version)
	}
	return o
}

// list sees what is there, and returns the revision from which a watch misses nothing;
// "" if the kind is not there yet.
func (o *order) list(ctx context.Context, kind schema.GroupVersionKind) (version string, err error) {
	client, err := o.r.cluster.resource(kind, o.r.Namespace)
	if err != nil || client == nil {
		return "", err
	}
	list, err := client.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for i := range list.Items {
		o.see(&list.Items[i], false)
	}
	return list.GetResourceVersion(), nil
}

// follow watches a kind, again and again until it is there.
func (o *order) follow(ctx context.Context, kind schema.GroupVersionKind, version string) {
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		client, err := o.r.cluster.resource(kind, o.r.Namespace)
		if err != nil || client == nil {
			continue
		}
		w, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: version})
		if err != nil {
			continue
		}
		for event := range w.ResultChan() {
			if object, ok := event.Object.(*unstructured.Unstructured); ok {
				version = object.GetResourceVersion()
				o.see(object, event.Type == watch.Deleted)
			}
		}
	}
}

func (o *order) see(object *unstructured.Unstructured, deleted bool) {
	revision, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	note := func(seen map[string]int64) {
		if seen[ID(object)] == 0 {
			seen[ID(object)] = revision
		}
	}
	if deleted {
		note(o.gone)
		return
	}
	note(o.first)
	if object.GetKind() != "CStorPoolCluster" && working(object) {
		note(o.ready)
	}
}

// created holds that all objects of a kind came before all of the next.
func (o *order) created(kinds ...string) {
	o.r.t.Helper()
	o.hold(o.first, "came", o.r.objects(), kinds)
}

// waited holds that all objects of a kind were ready before any of the next came.
func (o *order) waited(kinds ...string) {
	o.r.t.Helper()
	objects := o.r.objects()
	o.hold(o.first, "came", objects, kinds)
	for i, next := range kinds[1:] {
		before := of(objects, kinds[i])
		o.hold(o.ready, "was ready", before, nil)
		o.mutex.Lock()
		for _, n := range of(objects, next) {
			for _, b := range before {
				if o.first[ID(n)] < o.ready[ID(b)] {
					o.r.t.Errorf("%s came before %s was ready", ID(n), ID(b))
				}
			}
		}
		o.mutex.Unlock()
	}
}

// deleted holds that all objects of a kind went before all of the next.
func (o *order) deleted(objects []*unstructured.Unstructured, kinds ...string) {
	o.r.t.Helper()
	o.hold(o.gone, "went", objects, kinds)
}

func (o *order) hold(seen map[string]int64, verb string, objects []*unstructured.Unstructured, kinds []string) {
	o.r.t.Helper()
	wanted := objects
	if kinds != nil {
		wanted = of(objects, kinds...)
	}
	o.r.await("every object "+verb, func() bool {
		o.mutex.Lock()
		defer o.mutex.Unlock()
		return !slices.ContainsFunc(wanted, func(w *unstructured.Unstructured) bool { return seen[ID(w)] == 0 })
	})
	o.mutex.Lock()
	defer o.mutex.Unlock()
	var last int64
	for i, kind := range kinds {
		var newest int64
		for _, w := range of(wanted, kind) {
			if seen[ID(w)] < last {
				o.r.t.Errorf("%s %s before a %s", ID(w), verb, kinds[i-1])
			}
			newest = max(newest, seen[ID(w)])
		}
		last = newest
	}
}
