package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/poolwright/poolwright/nodeagent/api"
)

var (
	volumes     = schema.GroupVersionResource{Group: api.Group, Version: api.Version, Resource: "volumes"}
	groups      = schema.GroupVersionResource{Group: api.Group, Version: api.Version, Resource: "volumegroups"}
	inventories = schema.GroupVersionResource{Group: "poolwright.io", Version: "v1alpha1", Resource: "nodeinventories"}
	persistent  = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}
	nodes       = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	classes     = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	events      = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

// persistentVolume is what the agent needs of one.
type persistentVolume struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Capacity      map[string]string `json:"capacity,omitempty"`
		ReclaimPolicy string            `json:"persistentVolumeReclaimPolicy,omitempty"`
		ClaimRef      *struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"claimRef,omitempty"`
		Local *struct {
			Path   string `json:"path"`
			FSType string `json:"fsType,omitempty"`
		} `json:"local,omitempty"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase,omitempty"`
	} `json:"status"`
}

// claim is who has the volume, or "". A volume that is bound beforehand is had as well; one
// that was released is not.
func (pv *persistentVolume) claim() string {
	if pv == nil || pv.Spec.ClaimRef == nil || pv.Status.Phase == "Released" || pv.Status.Phase == "Failed" {
		return ""
	}
	return pv.Spec.ClaimRef.Namespace + "/" + pv.Spec.ClaimRef.Name
}

// storageClass is what the agent needs of one.
type storageClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Provisioner       string            `json:"provisioner"`
	Parameters        map[string]string `json:"parameters,omitempty"`
	ReclaimPolicy     string            `json:"reclaimPolicy,omitempty"`
	MountOptions      []string          `json:"mountOptions,omitempty"`
}

// plain is an object of which the name and labels are enough.
type plain struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

// store is one watched kind, decoded when it comes in, so that what is kept is small.
type store[T any] struct {
	cache  cache.Store
	synced func() bool
}

// Get is an object, or nil.
func (s *store[T]) Get(name string) *T {
	if s == nil {
		return nil
	}
	object, found, err := s.cache.GetByKey(name)
	if err != nil || !found {
		return nil
	}
	t, _ := object.(*T)
	return t
}

// All are all objects.
func (s *store[T]) All() []*T {
	var all []*T
	for _, object := range s.cache.List() {
		if t, ok := object.(*T); ok {
			all = append(all, t)
		}
	}
	return all
}

// selection is which objects of a kind are watched.
type selection struct {
	resource  schema.GroupVersionResource
	namespace string
	fields    string
	labels    string
}

// observe watches a kind until ctx ends, and calls changed with the name of each object that
// comes, goes or changes. It waits for nothing.
func observe[T any](ctx context.Context, client dynamic.Interface, s selection, changed func(name string)) *store[T] {
	var resource dynamic.ResourceInterface = client.Resource(s.resource)
	if s.namespace != "" {
		resource = client.Resource(s.resource).Namespace(s.namespace)
	}
	selected := &chosen{selection: s}
	name := func(object any) {
		if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		if accessor, ok := object.(metav1.Object); ok {
			changed(accessor.GetName())
		}
	}
	objects, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return selected.list(ctx, resource, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return resource.Watch(ctx, selected.options(o))
			},
		},
		ObjectType: &unstructured.Unstructured{},
		Transform:  decode[T],
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: name, UpdateFunc: func(_, now any) { name(now) }, DeleteFunc: name,
		},
	})
	go informer.RunWithContext(ctx)
	return &store[T]{cache: objects, synced: informer.HasSynced}
}

// chosen is how a kind is asked for. An API server below 1.31, or a definition without selectableFields, knows no
// field of ours, which it says whenever it is asked, and not only at the start of the agent: then all are watched,
// and those of other nodes are not looked at.
type chosen struct {
	selection
	all atomic.Bool
}

func (c *chosen) options(o metav1.ListOptions) metav1.ListOptions {
	o.LabelSelector = c.labels
	if !c.all.Load() {
		o.FieldSelector = c.fields
	}
	return o
}

func (c *chosen) list(ctx context.Context, resource dynamic.ResourceInterface, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list, err := resource.List(ctx, c.options(o))
	if apierrors.IsBadRequest(err) && c.fields != "" && c.resource.Group == api.Group && !c.all.Swap(true) {
		return resource.List(ctx, c.options(o))
	}
	return list, err
}

// decode makes a small value of what came in.
func decode[T any](object any) (any, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	u.SetManagedFields(nil)
	data, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	t := new(T)
	if err := json.Unmarshal(data, t); err != nil {
		// One object that is not understood must not end the watch of all.
		return &plain{ObjectMeta: metav1.ObjectMeta{Name: u.GetName()}}, nil
	}
	return t, nil
}

// awaitSynced waits until every store has what there is.
func awaitSynced(ctx context.Context, synced ...func() bool) error {
	for _, s := range synced {
		for !s() {
			select {
			case <-ctx.Done():
				return fmt.Errorf("the API server has not answered: %w", ctx.Err())
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}
