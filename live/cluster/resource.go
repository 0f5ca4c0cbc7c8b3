package cluster

import "k8s.io/apimachinery/pkg/runtime/schema"

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
	path := versionPath(r.Group, r.Version)
	if r.Namespaced && namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + r.Plural
}

// versionPath is the address of a version of a group.
func versionPath(group, version string) string {
	if group == "" {
		return "/api/" + version
	}
	return "/apis/" + group + "/" + version
}
