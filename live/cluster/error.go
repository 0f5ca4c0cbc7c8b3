package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Explain turns the error of a request into one that says what was tried, where,
// and what to do about it.
func (c *Cluster) Explain(err error, doing string) error {
	var status apierrors.APIStatus
	var network *net.OpError
	var request *url.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return err
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("cannot %s: %s does not know who asks; renew the credentials of the kubeconfig", doing, c.Server)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("cannot %s: %w; ask for the permission (deploy/rbac has a read-only role)", doing, err)
	case errors.As(err, &status):
		return fmt.Errorf("cannot %s: %w", doing, err)
	case errors.As(err, &network) && network.Op == "dial":
		return fmt.Errorf("cannot %s: no API server answers at %s: %w; is the cluster up, and the kubeconfig right?", doing, c.Server, network)
	case errors.As(err, &request):
		return fmt.Errorf("cannot %s: the request to %s failed: %w", doing, c.Server, request.Err)
	}
	return fmt.Errorf("cannot %s: %w", doing, err)
}
