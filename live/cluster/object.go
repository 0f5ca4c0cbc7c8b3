package cluster

import (
	"context"
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
