package watch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/own"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema/document"
)

// source is an informer on one kind.
type source struct {
	watcher  *watcher
	resource cluster.Resource
	following
	slim     func(object []byte) (kept snapshot.Item, keeps bool, err error) // of a fact
	store    cache.Store
	informer cache.Controller
	cancel   context.CancelFunc
	stopped  atomic.Bool
	missing  bool // from what the last discovery reported
}

// kept is what the informer holds of an object.
type kept struct {
	metav1.ObjectMeta        // its identity and version, which the informer needs
	text              string // of one of our own
	item              snapshot.Item
	left              bool // nothing is kept of it
}

// following is as what a kind is followed: as one of our own, as a fact, or as both.
type following struct {
	ours bool         // its objects are kept whole
	fact *system.Kind // nil if it is none
}

// newSource makes the informer on a kind.
func newSource(w *watcher, r cluster.Resource, as following) *source {
	s := &source{watcher: w, resource: r, following: as}
	if !s.ours {
		s.slim = w.kept.Slim(as.fact)
	}
	logger := logr.Discard()
	s.store, s.informer = cache.NewInformerWithOptions(cache.InformerOptions{
		Logger:        &logger,
		ListerWatcher: s.listerWatcher(),
		ObjectType:    &unstructured.Unstructured{},
		Transform:     s.keep,
		Handler:       s.handler(),
	})
	return s
}

// handler wakes the watcher.
func (s *source) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { s.differs() },
		UpdateFunc: s.compare,
		DeleteFunc: func(any) { s.differs() },
	}
}

// differs says that what is kept does.
func (s *source) differs() {
	s.watcher.poke()
	if s.definitions() {
		s.watcher.news()
	}
}

// compare pokes only for what is kept: most updates are heartbeats.
func (s *source) compare(old, now any) {
	a, known := old.(*kept)
	b, _ := now.(*kept)
	if !known || b == nil || a.text != b.text || a.item != b.item || a.left != b.left {
		s.differs()
	}
}

// keep turns an object into what is kept of it.
func (s *source) keep(object any) (any, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil // it was turned already
	}
	data, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	k := &kept{ObjectMeta: metav1.ObjectMeta{Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion()}}
	if s.ours {
		docs, err := document.Parse(&document.Source{Data: data})
		if err != nil {
			return nil, fmt.Errorf("an object of %s cannot be read: %w", s.resource, err)
		}
		k.text = string(own.Slim(&docs[0].Node))
		return k, nil
	}
	item, keeps, err := s.slim(data)
	if err != nil {
		return nil, err
	}
	k.item, k.left = item, !keeps
	return k, nil
}

// listerWatcher asks the API server, and lets the watcher hear how it went.
func (s *source) listerWatcher() cache.ListerWatcher {
	client := s.watcher.cluster.Dynamic().Resource(s.resource.GVR())
	fields, labels := "", ""
	if s.fact != nil && !s.ours {
		fields, labels = snapshot.Fields(s.fact), s.fact.Labelled
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector, o.LabelSelector = fields, labels
			list, err := client.List(ctx, o)
			s.heard(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector, o.LabelSelector, o.TimeoutSeconds = fields, labels, new(cluster.WatchSeconds)
			events, err := client.Watch(ctx, o)
			if err == nil && isEmpty(events) {
				err = errBroken
			}
			s.heard(ctx, err)
			return events, err
		},
	}
}

// errBroken is why a watch did not begin that client-go began.
var errBroken = fmt.Errorf("the connection broke or timed out before the first answer: %w", io.ErrUnexpectedEOF)

// isEmpty reports whether nothing is watched: client-go returns an empty watch, and no error, where the
// connection breaks or times out, again and again if it has to. Facts would count as known that are long gone.
func isEmpty(events watch.Interface) bool {
	return reflect.TypeOf(events) == reflect.TypeOf(watch.NewEmptyWatch())
}

func (s *source) heard(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case apierrors.IsNotFound(err):
		s.watcher.news() // the kind is gone
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		// What we know is too old and is read again.
	case err != nil && !s.watcher.looked.Load() && (apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)):
		select {
		case s.watcher.fatal <- s.watcher.cluster.Explain(err, "watch "+s.resource.String()):
		default:
		}
	default:
		s.watcher.heard(s, err)
	}
}

func (s *source) start(ctx context.Context) {
	// The informers' own log would go to the standard error.
	ctx = klog.NewContext(ctx, logr.Discard())
	ctx, s.cancel = context.WithCancel(ctx)
	s.watcher.running.Go(func() { s.informer.RunWithContext(ctx) })
	s.watcher.running.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), s.informer.HasSynced) {
			s.watcher.poke() // a kind without objects has no events
		}
	})
}

func (s *source) stop() {
	s.stopped.Store(true)
	s.cancel()
}

func (s *source) synced() bool { return s.informer.HasSynced() }

// held lists what is kept, by namespace and name.
func (s *source) held() []*kept {
	var all []*kept
	for _, o := range s.store.List() {
		if k, ok := o.(*kept); ok && !k.left {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b *kept) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return all
}

// facts are the objects of a kind of fact.
func (s *source) facts() []*krm.Object { return snapshot.Facts(s.resource, s.fact, s.items()) }

// kind is a kind of fact, as a snapshot has it.
func (s *source) kind() snapshot.Kind { return snapshot.Of(s.resource, s.fact, s.items()) }

func (s *source) items() []snapshot.Item {
	all := s.held()
	items := make([]snapshot.Item, len(all))
	for i, k := range all {
		items[i] = k.item
	}
	return items
}

func compareResources(a, b cluster.Resource) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Plural, b.Plural))
}
