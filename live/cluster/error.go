package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Explain turns the error of a request into one that says what was tried, where,
// and what to do about it.
func (c *Cluster) Explain(err error, doing string) error {
	var status apierrors.APIStatus
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &syntax), says(err, "<html"):
		return c.noAnswer(doing)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("cannot %s: %s does not know who asks; renew the credentials of the kubeconfig", doing, c.Server)
	case says(err, `"system:anonymous"`):
		return fmt.Errorf("cannot %s: %s takes who asks for nobody (system:anonymous): the context of the kubeconfig needs a user with credentials", doing, c.Server)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("cannot %s: %w%s", doing, err, whomToAsk(err))
	case says(err, "HTTP request to an HTTPS server"):
		return fmt.Errorf("cannot %s: %s is asked without TLS, and answers with TLS only: write https:// in the kubeconfig", doing, c.Server)
	case errors.As(err, &status):
		return fmt.Errorf("cannot %s: %w", doing, err)
	}
	return unanswered{c.explainConnection(err, doing)}
}

// unanswered is the error of a request that nothing answered.
type unanswered struct{ error }

func (u unanswered) Unwrap() error { return u.error }

// IsUnanswered reports whether an error that was explained is of the connection, and
// not an answer.
func IsUnanswered(err error) bool { return errors.As(err, new(unanswered)) }

func (c *Cluster) explainConnection(err error, doing string) error {
	var network *net.OpError
	var request *url.Error
	var authority x509.UnknownAuthorityError
	var certificate *tls.CertificateVerificationError
	switch {
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

// noAnswer is the error for what answers and is no API server.
func (c *Cluster) noAnswer(doing string) error {
	return fmt.Errorf("cannot %s: what %s answers is not the answer of a Kubernetes API server; is a login page or a proxy in front of it, or the address in the kubeconfig wrong?", doing, c.Server)
}

// says reports whether the answer of a server has a text in it. Of an answer that is
// no Status client-go makes an "unknown reason", with the text as a cause.
func says(err error, text string) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	return strings.Contains(s.Message, text) || s.Details != nil && slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool {
		return strings.Contains(c.Message, text)
	})
}

// refused is how the authorizer of an API server says what is not allowed, unlike
// admission, which forbids with other words.
var refused = regexp.MustCompile(`User "(.*)" cannot ([a-z]+) resource "([^"]+)"(?: in API group "[^"]*" in the namespace "([^"]+)")?`)

// boundRoles are the roles of deploy/controller that are bound in single namespaces, by what they permit to get.
var boundRoles = map[string]string{"secrets": "poolwright-controller-secrets", "configmaps": "poolwright-controller-manifests"}

// IsDenied reports whether an error is a missing permission.
func IsDenied(err error) bool { return apierrors.IsForbidden(err) && refused.MatchString(err.Error()) }

// whomToAsk says which permission is missing, and which role has it.
func whomToAsk(err error) string {
	said := refused.FindStringSubmatch(err.Error())
	if said == nil {
		return ""
	}
	user, verb, resource, namespace := said[1], said[2], said[3], said[4]
	if role := boundRoles[resource]; verb == "get" && role != "" && namespace != "" {
		subject := "--user " + user
		if account, is := strings.CutPrefix(user, "system:serviceaccount:"); is {
			subject = "--serviceaccount " + account
		}
		return fmt.Sprintf("; permit it: kubectl create rolebinding %[1]s -n %[2]s --clusterrole %[1]s %[3]s", role, namespace, subject)
	}
	if verb == "get" || verb == "list" || verb == "watch" {
		return "; ask for the read-only role of deploy/rbac"
	}
	hint := "; ask for the permission to " + verb + " " + resource
	if strings.HasSuffix(resource, "/status") {
		hint += "; deploy/status has a role with it"
	}
	return hint
}
