package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Explain turns the error of a request into one that says what was tried, where,
// and what to do about it.
func (c *Cluster) Explain(err error, doing string) error {
	var status apierrors.APIStatus
	var network *net.OpError
	var request *url.Error
	var authority x509.UnknownAuthorityError
	var certificate *tls.CertificateVerificationError
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
	case errors.As(err, &authority):
		return fmt.Errorf("cannot %s: the certificate of %s is not from the authority that the kubeconfig names: %w; take a new kubeconfig, or check the address", doing, c.Server, authority)
	case errors.As(err, &certificate):
		return fmt.Errorf("cannot %s: the certificate of %s is not good: %w; check the address in the kubeconfig, and the clock", doing, c.Server, certificate.Err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("cannot %s: the connection to %s broke; try again", doing, c.Server)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &request) && request.Timeout():
		return fmt.Errorf("cannot %s: %s did not answer in time; try again", doing, c.Server)
	case errors.As(err, &request):
		return fmt.Errorf("cannot %s: the request to %s failed: %w", doing, c.Server, request.Err)
	}
	return fmt.Errorf("cannot %s: %w", doing, err)
}
