package applyset

import (
	"context"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
)

// Follower follows the members of a set: it says when something changed that a judgement looks at.
type Follower struct {
	set     Set
	cluster *cluster.Cluster
	awaits  func(*krm.Object) string
	changed func()

	mu      sync.Mutex
	sources map[cluster.Resource]*source
}

// source is an informer on the members of a kind, of which it keeps digests.
type source struct {
	store  cache.Store
	synced func() bool
	end    context.CancelFunc
}

// digested is what is kept of a member.
type digested struct {
	metav1.ObjectMeta
	digest string
}

// NewFollower makes a Follower, which follows nothing yet. awaits says what an object waits for; changed
// is called when a member did.
func NewFollower(s Set, c *cluster.Cluster, awaits func(*krm.Object) string, changed func()) *Follower {
	return &Follower{set: s, cluster: c, awaits: awaits, changed: changed, sources: map[cluster.Resource]*source{}}
}

// Follow follows these kinds from now on, until ctx ends, as far as the cluster has them.
func (f *Follower) Follow(ctx context.Context, served *cluster.Served, kinds []krm.GroupKind) error {
	wanted, err := resources(served, kinds)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for r, s := range f.sources {
		if !slices.Contains(wanted, r) {
			s.end()
			delete(f.sources, r)
		}
	}
	for _, r := range wanted {
		if f.sources[r] == nil {
			f.sources[r] = f.start(ctx, r)
		}
	}
	return nil
}

// End ends it.
func (f *Follower) End() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for r, s := range f.sources {
		s.end()
		delete(f.sources, r)
	}
}

// Digest is that of all members as they are seen, as Digest gives it. known is false while not all of
// them were seen.
func (f *Follower) Digest() (digest string, known bool) {
	if f == nil {
		return "", false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for _, s := range f.sources {
		if !s.synced() {
			return "", false
		}
		for _, o := range s.store.List() {
			if d, ok := o.(*digested); ok {
				lines = append(lines, d.digest)
			}
		}
	}
	return digestOf(lines), len(f.sources) > 0
}

func (f *Follower) start(ctx context.Context, r cluster.Resource) *source {
	client := f.cluster.Dynamic().Resource(r.GVR())
	logger := logr.Discard()
	options := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector = labelPartOf + "=" + f.set.ID
		return o
	}
	store, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		Logger: &logger,
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return client.List(ctx, options(o))
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return client.Watch(ctx, options(o))
			},
		},
		ObjectType: &unstructured.Unstructured{},
		Transform:  f.keep(r),
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { f.changed() },
			UpdateFunc: func(old, now any) {
				a, known := old.(*digested)
				if b, _ := now.(*digested); !known || b == nil || a.digest != b.digest {
					f.changed()
				}
			},
			DeleteFunc: func(any) { f.changed() },
		},
	})
	ctx, end := context.WithCancel(klog.NewContext(ctx, logr.Discard()))
	go informer.RunWithContext(ctx)
	return &source{store: store, synced: informer.HasSynced, end: end}
}

// keep turns an object into its digest.
func (f *Follower) keep(r cluster.Resource) cache.TransformFunc {
	return func(object any) (any, error) {
		u, ok := object.(*unstructured.Unstructured)
		if !ok {
			return object, nil // it was turned already
		}
		text, err := u.MarshalJSON()
		if err != nil {
			return nil, err
		}
		docs, err := document.Parse(&document.Source{Data: text})
		if err != nil {
			return nil, err
		}
		return &digested{
			ObjectMeta: metav1.ObjectMeta{Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion()},
			digest:     newMember(r, &docs[0].Node).digest(f.awaits),
		}, nil
	}
}
