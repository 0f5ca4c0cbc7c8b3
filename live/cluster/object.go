package cluster

import (
	"context"
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/poolwright/poolwright/schema/document"
)

// AnnotationLastApplied is where kubectl, and Argo CD without server-side apply,
// remember what they applied.
const AnnotationLastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Get reads one object. The error is that of the API server, for Explain.
func (c *Cluster) Get(ctx context.Context, r Resource, namespace, name string) (*document.Node, error) {
	o, _, err := object(ctx, c.requests.Get().AbsPath(r.path(namespace), url.PathEscape(name)))
	return o, err
}

// DryRunApply asks what a server-side apply in the name of a field manager would
// make of an object. Nothing is stored, unless a webhook does. Fields of other
// managers are taken over, and fields that the API server does not know are an
// error. The version is that of the Resource. What the API server warns of comes
// along, also with an error, which is that of the API server, for Explain.
func (c *Cluster) DryRunApply(ctx context.Context, r Resource, namespace, name, manager string, o *document.Node) (*document.Node, []string, error) {
	return object(ctx, c.requests.Patch(types.ApplyPatchType).AbsPath(r.path(namespace), url.PathEscape(name)).
		Param("dryRun", "All").Param("force", "true").Param("fieldManager", manager).Param("fieldValidation", "Strict").
		Body(document.AppendJSON(nil, o)))
}

// Apply applies an object server-side in the name of a field manager, with dryRun without storing it.
// Fields of other managers are never taken over. created says that there was none. The error is that of
// the API server, for Explain.
func (c *Cluster) Apply(ctx context.Context, r Resource, namespace, name, manager string, o *document.Node, dryRun bool) (stored *document.Node, created bool, err error) {
	request := c.requests.Patch(types.ApplyPatchType).AbsPath(r.path(namespace), url.PathEscape(name)).
		Param("fieldManager", manager).Param("fieldValidation", "Strict").Body(document.AppendJSON(nil, o))
	if dryRun {
		request = request.Param("dryRun", "All")
	}
	result := request.Timeout(RequestTimeout).SetHeader("Accept", plainJSON).Do(ctx)
	var code int
	result.StatusCode(&code)
	if err := result.Error(); err != nil {
		return nil, false, err
	}
	body, err := result.Raw()
	if err != nil {
		return nil, false, err
	}
	stored, err = parse(body)
	return stored, code == http.StatusCreated, err
}

// Delete deletes an object if it is still the one with a UID, in a version. The error is that of the API
// server, for Explain.
func (c *Cluster) Delete(ctx context.Context, r Resource, namespace, name, uid, version string) error {
	options := document.Object(
		document.F("apiVersion", document.Text("v1")), document.F("kind", document.Text("DeleteOptions")),
		document.F("propagationPolicy", document.Text("Background")),
		document.F("preconditions", document.Object(document.F("uid", document.Text(uid)), document.F("resourceVersion", document.Text(version)))),
	)
	return c.requests.Delete().AbsPath(r.path(namespace), url.PathEscape(name)).SetHeader("Content-Type", plainJSON).
		Body(document.AppendJSON(nil, &options)).Timeout(RequestTimeout).Do(ctx).Error()
}

// object makes one request, and reads the object that comes back, and the
// warnings beside it.
func object(ctx context.Context, request *rest.Request) (*document.Node, []string, error) {
	result := request.Timeout(RequestTimeout).SetHeader("Accept", plainJSON).Do(ctx)
	var warnings []string
	for _, w := range result.Warnings() {
		warnings = append(warnings, w.Text)
	}
	if err := result.Error(); err != nil {
		return nil, warnings, err
	}
	body, err := result.Raw()
	if err != nil {
		return nil, warnings, err
	}
	o, err := parse(body)
	return o, warnings, err
}
