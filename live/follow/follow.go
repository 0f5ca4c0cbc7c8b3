// Package follow watches objects of any kind for changes of what somebody looks at: it keeps a digest of
// each, and says when one changed.
package follow

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
)

// Query says which objects are followed.
type Query struct {
	cluster.Resource
	Namespace string // "" for all
	Labels    string // a selector, as kubectl takes it
	Name      string // "" for all
}

// fields is the selector of fields.
func (q Query) fields() string {
	if q.Name == "" {
		return ""
	}
	return "metadata.name=" + q.Name
}

// Follower follows objects.
type Follower struct {
	cluster *cluster.Cluster
	digest  func(cluster.Resource, *document.Node) string
	changed func()

	mu      sync.Mutex
	sources map[Query]*source
}

// source is an informer, which keeps digests.
type source struct {
	store  cache.Store
	synced func() bool
	end    context.CancelFunc
}

// digested is what is kept of an object.
type digested struct {
	metav1.ObjectMeta
	digest string
}

// New makes a Follower, which follows nothing yet. digest is "" for an object that does not count;
// changed is called when a digest did.
func New(c *cluster.Cluster, digest func(cluster.Resource, *document.Node) string, changed func()) *Follower {
	return &Follower{cluster: c, digest: digest, changed: changed, sources: map[Query]*source{}}
}

// Follow follows these objects from now on, until ctx ends.
func (f *Follower) Follow(ctx context.Context, wanted []Query) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for q, s := range f.sources {
		if !slices.Contains(wanted, q) {
			s.end()
			delete(f.sources, q)
		}
	}
	for _, q := range wanted {
		if f.sources[q] == nil {
			f.sources[q] = f.start(ctx, q)
		}
	}
}

// End ends it. It may be nil.
func (f *Follower) End() {
	if f != nil {
		f.Follow(context.Background(), nil)
	}
}

// Digest is that of all objects as they are seen, as Digest gives it of their digests. known is false
// while not all of them were seen. The Follower may be nil.
func (f *Follower) Digest() (digest string, known bool) {
	if f == nil {
		return "", false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, s := range f.sources {
		if !s.synced() {
			return "", false
		}
		for _, o := range s.store.List() {
			if d, ok := o.(*digested); ok {
				all = append(all, d.digest)
			}
		}
	}
	return Digest(all), len(f.sources) > 0
}

// Digest is that of several digests, in any order, without those that do not count.
func Digest(all []string) string {
	all = slices.DeleteFunc(slices.Clone(all), func(digest string) bool { return digest == "" })
	slices.Sort(all)
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(strings.Join(all, "\n"))))
}

func (f *Follower) start(ctx context.Context, q Query) *source {
	client := f.cluster.Dynamic().Resource(q.GVR()).Namespace(q.Namespace)
	logger := logr.Discard()
	options := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector, o.FieldSelector = q.Labels, q.fields()
		return o
	}
	store, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		Logger: &logger,
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return client.List(ctx, options(o))
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				o.TimeoutSeconds = new(cluster.WatchSeconds)
				return client.Watch(ctx, options(o))
			},
		},
		ObjectType: &unstructured.Unstructured{},
		Transform:  f.keep(q.Resource),
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
			digest:     f.digest(r, &docs[0].Node),
		}, nil
	}
}
