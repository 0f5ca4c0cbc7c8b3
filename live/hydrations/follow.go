package hydrations

import (
	"context"
	"strings"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/poolwright/poolwright/live/cluster"
)

// mostEvent is how long the message of an event may be, in bytes (core/v1, Event).
const mostEvent = 1024

func uid(h *Hydration) types.UID { return types.UID(h.Metadata.UID) }

func cut(text string) string {
	if len(text) > mostEvent {
		return strings.ToValidUTF8(text[:mostEvent-3], "") + "..."
	}
	return text
}

func compareKeys(a, b Key) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

// Follow calls changed with each Hydration that is there, is added or changes, and gone with each
// that was deleted or cannot be read any more, until ctx ends. Both are called by one goroutine a namespace.
func (s *Store) Follow(ctx context.Context, namespaces []string, changed func(*Hydration), gone func(Key)) {
	ctx = klog.NewContext(ctx, logr.Discard())
	done := make(chan struct{})
	all := orAll(namespaces)
	for _, namespace := range all {
		go func() {
			s.follow(ctx, namespace, changed, gone)
			done <- struct{}{}
		}()
	}
	for range all {
		<-done
	}
}

func (s *Store) follow(ctx context.Context, namespace string, changed func(*Hydration), gone func(Key)) {
	client := s.cluster.Dynamic().Resource(resource()).Namespace(namespace)
	seen := func(object any) {
		u, ok := object.(*unstructured.Unstructured)
		if !ok {
			return
		}
		if h := s.read(u); h != nil {
			changed(h)
		} else {
			gone(Key{u.GetNamespace(), u.GetName()}) // what was read of it before does not hold any more
		}
	}
	logger := logr.Discard()
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		Logger: &logger,
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return client.List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				o.TimeoutSeconds = new(cluster.WatchSeconds)
				return client.Watch(ctx, o)
			},
		},
		ObjectType: &unstructured.Unstructured{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    seen,
			UpdateFunc: func(_, now any) { seen(now) },
			DeleteFunc: func(object any) {
				if last, missed := object.(cache.DeletedFinalStateUnknown); missed {
					object = last.Obj
				}
				if u, ok := object.(*unstructured.Unstructured); ok {
					gone(Key{u.GetNamespace(), u.GetName()})
				}
			},
		},
	})
	informer.RunWithContext(ctx)
}
