package scenario

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster reads and writes objects of any kind.
type Cluster struct {
	Config *rest.Config

	dynamic dynamic.Interface
	served  *discovery.DiscoveryClient
	mapper  *restmapper.DeferredDiscoveryRESTMapper // of what was served when it was last asked
}

// Connect connects to the cluster of a kubeconfig.
func Connect(kubeconfig string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	served, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(served))
	return &Cluster{Config: config, dynamic: client, served: served, mapper: mapper}, nil
}

// resource is the client of an object's kind; nil if the kind is not served.
func (c *Cluster) resource(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		// Who awaits a kind asks often, and it costs much to ask for all kinds.
		if serves, err := c.serves(kind); err != nil || !serves {
			return nil, err
		}
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	switch {
	case meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, err
	case mapping.Scope.Name() == meta.RESTScopeNameNamespace:
		return c.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
	}
	return c.dynamic.Resource(mapping.Resource), nil
}

// serves reports whether a kind is served, which was not when all kinds were asked for.
func (c *Cluster) serves(kind schema.GroupVersionKind) (bool, error) {
	list, err := c.served.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind.Kind }), nil
}

// Get returns the live object; nil if it is not there.
func (c *Cluster) Get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	r, err := ask(ctx, func() (dynamic.ResourceInterface, error) { return c.resource(kind, namespace) })
	if err != nil || r == nil {
		return nil, err
	}
	live, err := ask(ctx, func() (*unstructured.Unstructured, error) { return r.Get(ctx, name, metav1.GetOptions{}) })
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// Apply applies an object server-side.
func (c *Cluster) Apply(ctx context.Context, o *unstructured.Unstructured, subresources ...string) error {
	r, err := ask(ctx, func() (dynamic.ResourceInterface, error) { return c.resource(o.GroupVersionKind(), o.GetNamespace()) })
	switch {
	case err != nil:
		return err
	case r == nil:
		return fmt.Errorf("%s is not served", o.GroupVersionKind())
	}
	_, err = ask(ctx, func() (*unstructured.Unstructured, error) {
		return r.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "scenario", Force: true}, subresources...)
	})
	return err
}

// State is which of some objects are there, by Kind/name. What is being deleted
// is not.
type State map[string]types.UID

// State looks at the objects.
func (c *Cluster) State(ctx context.Context, objects []*unstructured.Unstructured) (State, error) {
	state := State{}
	for _, o := range objects {
		live, err := c.Get(ctx, o.GroupVersionKind(), o.GetNamespace(), o.GetName())
		if err != nil {
			return nil, err
		}
		if live != nil && live.GetDeletionTimestamp() == nil {
			state[ID(o)] = live.GetUID()
		}
	}
	return state, nil
}

// Lost lists what was there before and is not, or is there again.
func (s State) Lost(now State) []string {
	var lost []string
	for id, uid := range s {
		if now[id] != uid {
			lost = append(lost, id)
		}
	}
	slices.Sort(lost)
	return lost
}

// ID is Kind/name.
func ID(o *unstructured.Unstructured) string { return o.GetKind() + "/" + o.GetName() }

// Delete deletes an object.
func (c *Cluster) Delete(ctx context.Context, o *unstructured.Unstructured) error {
	r, err := ask(ctx, func() (dynamic.ResourceInterface, error) { return c.resource(o.GroupVersionKind(), o.GetNamespace()) })
	switch {
	case err != nil:
		return err
	case r == nil:
		return fmt.Errorf("%s is not served", o.GroupVersionKind())
	}
	return r.Delete(ctx, o.GetName(), metav1.DeleteOptions{})
}
