package cluster

import (
	"context"
	"net/url"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/poolwright/poolwright/schema/document"
)

// Get reads one object. The error is that of the API server, for Explain.
func (c *Cluster) Get(ctx context.Context, r Resource, namespace, name string) (*document.Node, error) {
	return object(ctx, c.requests.Get().AbsPath(r.path(namespace), url.PathEscape(name)))
}

// DryRunApply asks what a server-side apply in the name of a field manager would
// make of an object. Nothing is stored. Fields of other managers are taken over,
// and fields that the API server does not know are an error. The version is that
// of the Resource. The error is that of the API server, for Explain.
func (c *Cluster) DryRunApply(ctx context.Context, r Resource, namespace, name, manager string, o *document.Node) (*document.Node, error) {
	return object(ctx, c.requests.Patch(types.ApplyPatchType).AbsPath(r.path(namespace), url.PathEscape(name)).
		Param("dryRun", "All").Param("force", "true").Param("fieldManager", manager).Param("fieldValidation", "Strict").
		Body(document.AppendJSON(nil, o)))
}

// object makes one request, and reads the object that comes back.
func object(ctx context.Context, request *rest.Request) (*document.Node, error) {
	result := request.Timeout(requestTimeout).SetHeader("Accept", "application/json").Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	body, err := result.Raw()
	if err != nil {
		return nil, err
	}
	return parse(body)
}
