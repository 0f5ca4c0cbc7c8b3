package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Resource is a kind that the API server serves, in the version that it prefers.
type Resource struct {
	Group, Version, Kind string
	Plural               string
	Namespaced           bool
}

// APIVersion is group and version as a document writes them.
func (r Resource) APIVersion() string {
	return schema.GroupVersion{Group: r.Group, Version: r.Version}.String()
}

// String names the resource as kubectl takes it: blockdevices.openebs.io.
func (r Resource) String() string { return r.GVR().GroupResource().String() }

// GVR is the resource as client-go names it.
func (r Resource) GVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Plural}
}

// path is the address of all objects of a resource, or of those in a namespace.
func (r Resource) path(namespace string) string {
	path := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		path = "/api/" + r.Version
	}
	if r.Namespaced && namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + r.Plural
}

// Served is what an API server serves.
type Served struct {
	resources map[schema.GroupKind]Resource
	failed    map[string]error // by group
}

// Find returns the resource of a kind; false if the kind is not there. The error
// says that it is not known whether it is there.
func (s *Served) Find(group, kind string) (Resource, bool, error) {
	if r, found := s.resources[schema.GroupKind{Group: group, Kind: kind}]; found {
		return r, true, nil
	}
	if err := s.failed[group]; err != nil {
		return Resource{}, false, fmt.Errorf("the kinds of %s cannot be told: %w", cmp.Or(group, "the core group"), err)
	}
	return Resource{}, false, nil
}

// Served asks which kinds there are.
func (c *Cluster) Served(ctx context.Context) (*Served, error) {
	const doing = "ask the API server which kinds it serves"
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	lists, err := c.discovery.ServerPreferredResourcesWithContext(ctx)
	served := &Served{resources: map[schema.GroupKind]Resource{}, failed: map[string]error{}}
	var partial *discovery.ErrGroupDiscoveryFailed
	switch {
	case errors.As(err, &partial):
		// One group behind an API service that is down must not hide the others.
		for gv, cause := range partial.Groups {
			served.failed[gv.Group] = cause
		}
	case err != nil:
		if apierrors.IsForbidden(err) { // the discovery client drops what the API server says
			if _, said := c.get(ctx, "/api", nil); said != nil {
				err = said
			}
		}
		return nil, c.Explain(err, doing)
	}
	if len(lists) == 0 && len(served.failed) == 0 {
		// Many servers answer anything with some JSON. One without any kinds would
		// look like a cluster in which all is gone.
		return nil, c.noAnswer(doing)
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("the API server at %s names the group version %q: %w", c.Server, list.GroupVersion, err)
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") {
				continue
			}
			id := schema.GroupKind{Group: gv.Group, Kind: r.Kind}
			served.resources[id] = Resource{
				Group: gv.Group, Version: gv.Version, Kind: r.Kind, Plural: r.Name, Namespaced: r.Namespaced,
			}
		}
	}
	return served, nil
}
