package cluster

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/poolwright/poolwright/test/controlplane"
)

// TestServed holds that a real API server is understood as client-go's discovery
// understands it: asked as a new one and as an old one, and with a group behind an API
// service that is down.
func TestServed(t *testing.T) {
	plane := controlplane.ForTest(t)
	c, err := Connect(Options{Kubeconfig: plane.Kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	create(t, c, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "poolings.example.com"},
		"spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Pooling", "plural": "poolings"}, "versions": [
			{"name": "v1beta1", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}},
			{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}`)
	create(t, c, "/apis/apiregistration.k8s.io/v1/apiservices", `{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.nowhere.example.com"},
		"spec": {"group": "nowhere.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100, "insecureSkipTLSVerify": true,
			"service": {"name": "nothing", "namespace": "default"}}}`)

	older := *c
	older.requests = throughOldServer(t, c)
	for name, asked := range map[string]*Cluster{"whole": c, "version by version": &older} {
		var got *Served
		await(t, "the definitions are served", func() bool {
			if got, err = asked.Served(t.Context()); err != nil {
				t.Fatal(err)
			}
			r, found, _ := got.Find("example.com", "Pooling")
			return found && r.Version == "v1" && got.failed["nowhere.example.com"] != nil
		})
		resources, failed := preferred(t, c)
		if !maps.Equal(got.resources, resources) {
			t.Errorf("%s: got %d kinds, want %d:\n%v\n%v", name, len(got.resources), len(resources), got.resources, resources)
		}
		if versions, err := got.Versions("example.com", "Pooling"); err != nil || !slices.Equal(versions, []string{"v1", "v1beta1"}) {
			t.Errorf("%s: got versions %v, %v; want v1 and v1beta1", name, versions, err)
		}
		if versions, err := got.Versions("nowhere.example.com", "Anything"); err == nil {
			t.Errorf("%s: got versions %v of a group that does not answer", name, versions)
		}
		if groups := slices.Sorted(maps.Keys(got.failed)); !slices.Equal(groups, failed) {
			t.Errorf("%s: failed %v, want %v", name, groups, failed)
		}
		if _, found, err := got.Find("nowhere.example.com", "Any"); found || err == nil || !strings.HasPrefix(err.Error(), "the kinds of nowhere.example.com cannot be discovered: ") {
			t.Errorf("%s: a group that does not answer: %t, %v", name, found, err)
		}
		if _, found, err := got.Find("example.com", "Any"); found || err != nil {
			t.Errorf("%s: a kind that is not there: %t, %v", name, found, err)
		}
	}
}

// preferred is what client-go finds.
func preferred(t *testing.T, c *Cluster) (map[schema.GroupKind]Resource, []string) {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := client.ServerPreferredResources()
	var partial *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partial) {
		t.Fatal(err)
	}
	found := map[schema.GroupKind]Resource{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && !strings.Contains(r.Name, "/") {
				found[schema.GroupKind{Group: gv.Group, Kind: r.Kind}] = Resource{gv.Group, gv.Version, r.Kind, r.Name, r.Namespaced}
			}
		}
	}
	var failed []string
	if partial != nil {
		for gv := range partial.Groups {
			failed = append(failed, gv.Group)
		}
	}
	slices.Sort(failed)
	return found, failed
}

// throughOldServer asks through a proxy that lets the API server answer as one did
// that gives no whole list.
func throughOldServer(t *testing.T, c *Cluster) *rest.RESTClient {
	t.Helper()
	target, err := url.Parse(c.config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(c.config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Set("Accept", "application/json")
	}})
	t.Cleanup(server.Close)
	return connectTo(t, server.URL).requests
}

// TestVersions holds what an API server of before Kubernetes 1.26 may say.
func TestVersions(t *testing.T) {
	for name, x := range map[string]struct {
		answers map[string]string // by path; what is not there is a 503
		find    string            // group/kind
		want    Resource
		err     string // in the error of Find, or of Served if find is ""
	}{
		"the preferred version first": {map[string]string{
			"/api":       `{"kind": "APIVersions", "versions": []}`,
			"/apis":      `{"kind": "APIGroupList", "groups": [{"name": "g", "versions": [{"version": "v2"}, {"version": "v1"}], "preferredVersion": {"version": "v1"}}]}`,
			"/apis/g/v1": `{"kind": "APIResourceList", "resources": [{"name": "as", "kind": "A", "verbs": ["list"]}, {"name": "as/status", "kind": "A", "verbs": ["list"]}]}`,
			"/apis/g/v2": `{"kind": "APIResourceList", "resources": [{"name": "aas", "kind": "A", "namespaced": true, "verbs": ["list"]}]}`,
		}, "g/A", Resource{"g", "v1", "A", "as", false}, ""},
		"only in another version": {map[string]string{
			"/api":       `{"kind": "APIVersions"}`,
			"/apis":      `{"kind": "APIGroupList", "groups": [{"name": "g", "versions": [{"version": "v1"}, {"version": "v2"}], "preferredVersion": {"version": "v1"}}]}`,
			"/apis/g/v1": `{"kind": "APIResourceList", "resources": [{"name": "as", "kind": "A", "verbs": ["create"]}]}`,
			"/apis/g/v2": `{"kind": "APIResourceList", "resources": [{"name": "as", "kind": "A", "namespaced": true, "verbs": ["get", "list"]}]}`,
		}, "g/A", Resource{"g", "v2", "A", "as", true}, ""},
		"the core group": {map[string]string{
			"/api":    `{"kind": "APIVersions", "versions": ["v1"]}`,
			"/apis":   `{"kind": "APIGroupList", "groups": []}`,
			"/api/v1": `{"kind": "APIResourceList", "resources": [{"name": "nodes", "kind": "Node", "namespaced": false, "verbs": ["list"]}]}`,
		}, "/Node", Resource{"", "v1", "Node", "nodes", false}, ""},
		"a group that answers with a page": {map[string]string{
			"/api":       `{"kind": "APIVersions"}`,
			"/apis":      `{"kind": "APIGroupList", "groups": [{"name": "g", "versions": [{"version": "v1"}]}]}`,
			"/apis/g/v1": `<html>`,
		}, "g/A", Resource{}, "the kinds of g cannot be discovered"},
		"a group that answers with something else": {map[string]string{
			"/api":       `{"kind": "APIVersions", "versions": ["v1"]}`,
			"/apis":      `{"kind": "APIGroupList", "groups": [{"name": "g", "versions": [{"version": "v1"}]}]}`,
			"/api/v1":    `{"kind": "APIResourceList", "resources": [{"name": "nodes", "kind": "Node", "verbs": ["list"]}]}`,
			"/apis/g/v1": `{"kind": "Status", "status": "Failure", "code": 503}`,
		}, "g/A", Resource{}, "the kinds of g cannot be discovered: g/v1 answers with something else than a list of resources"},
		"a group that breaks off": {map[string]string{
			"/api":       `{"kind": "APIVersions", "versions": ["v1"]}`,
			"/apis":      `{"kind": "APIGroupList", "groups": [{"name": "g", "versions": [{"version": "v1"}]}]}`,
			"/api/v1":    `{"kind": "APIResourceList", "resources": [{"name": "nodes", "kind": "Node", "verbs": ["list"]}]}`,
			"/apis/g/v1": "break",
		}, "/Node", Resource{"", "v1", "Node", "nodes", false}, ""},
		"a core group that does not answer": {map[string]string{
			"/api":  `{"kind": "APIVersions", "versions": ["v1"]}`,
			"/apis": `{"kind": "APIGroupList"}`,
		}, "/Node", Resource{}, "the kinds of the core group cannot be discovered"},
		"beta": {map[string]string{
			"/api":  `{"kind": "APIGroupDiscoveryList", "items": []}`,
			"/apis": `{"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "g"}, "versions": [{"version": "v1", "resources": [{"resource": "as", "responseKind": {"kind": "A"}, "scope": "Namespaced", "verbs": ["list"]}, {"resource": "bs", "verbs": ["list"]}]}]}]}`,
		}, "g/A", Resource{"g", "v1", "A", "as", true}, ""},
		"nothing at all": {map[string]string{
			"/api":  `{"kind": "APIVersions", "versions": []}`,
			"/apis": `{"kind": "APIGroupList", "groups": []}`,
		}, "", Resource{}, "is not the answer of a Kubernetes API server"},
		"no core group": {map[string]string{
			"/apis": `{"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "g"}, "versions": [{"version": "v1", "resources": [{"resource": "as", "responseKind": {"kind": "A"}, "verbs": ["list"]}]}]}]}`,
		}, "", Resource{}, "cannot ask the API server which kinds it serves: "},
		"half of it": {map[string]string{
			"/api": `{"kind": "APIVersions", "versions": ["v1"]}`,
		}, "", Resource{}, "cannot ask the API server which kinds it serves: "},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			answer, found := x.answers[r.URL.Path]
			if !found {
				w.WriteHeader(http.StatusServiceUnavailable)
				answer = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "ServiceUnavailable", "code": 503}`
			}
			if answer == "break" {
				w.Header().Set("Content-Length", "1000")
			}
			fmt.Fprint(w, answer)
		}))
		served, err := connectTo(t, server.URL).Served(t.Context())
		server.Close()
		if x.find == "" {
			if err == nil || !strings.Contains(err.Error(), x.err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		group, kind, _ := strings.Cut(x.find, "/")
		got, found, err := served.Find(group, kind)
		if got != x.want || found != (x.err == "") || (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("%s: %+v, %t, %v", name, got, found, err)
		}
	}
}

// connectTo connects to a server without credentials.
func connectTo(t *testing.T, server string) *Cluster {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	config := fmt.Sprintf(`{clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: prod, context: {cluster: c}}], current-context: prod}`, server)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Connect(Options{Kubeconfig: file})
	if err != nil || c.String() != server+" (context prod)" {
		t.Fatal(c, err)
	}
	return c
}

func create(t *testing.T, c *Cluster, path, object string) {
	t.Helper()
	if err := c.requests.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body([]byte(object)).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 3000 {
		if holds() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("waited in vain until %s", what)
}
