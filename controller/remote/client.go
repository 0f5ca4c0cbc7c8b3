package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// Fields name the fields of a Hydration that have the address of a server and the credentials for it, for messages.
type Fields struct{ Address, Secret string }

// sourceFields are those of the repository.
func sourceFields() Fields { return Fields{Address: sourceURL, Secret: "spec.source.secretRef"} }

// sourceURL is the field with the address of the repository.
const sourceURL = "spec.source.url"

// transport makes the connections to servers. It uses no proxy: behind one, nobody can judge the
// address. ca has certificates of authorities in PEM, and refused hears why an address is refused.
func (r *Rules) transport(f Fields, ca []byte, refused func(error)) (*http.Transport, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(ca) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(ca) {
			return nil, &Error{Unknown, fmt.Sprintf("ca.crt of the Secret that %s names has no certificate in PEM; correct it", f.Secret)}
		}
		settings.RootCAs = pool
	}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return r.dialer(host, port, f.Address, refused).DialContext(ctx, network, address)
		},
		TLSClientConfig:       settings,
		TLSHandshakeTimeout:   lookTimeout,
		ResponseHeaderTimeout: moveTimeout,
		ForceAttemptHTTP2:     true,
	}, nil
}

// sameServer refuses a redirect to another server.
func sameServer(next *http.Request, before []*http.Request, field string) error {
	if from := before[0].URL; next.URL.Host != from.Host || next.URL.Scheme != from.Scheme {
		return &Error{Refused, from.Host + " redirects to another server, which is not followed; write the URL that it leads to in " + field}
	}
	return nil
}

// Client asks another server than that of Git, under the same rules.
type Client struct {
	http  *http.Client
	words redactor
}

// Client makes a client for a server; field has its address, for messages. The error is an *Error.
func (r *Rules) Client(u *url.URL, field string, c Credentials) (*Client, error) {
	switch {
	case u.User != nil:
		return nil, &Error{Refused, fmt.Sprintf("%s has a user or a password; put them in the Secret that spec.source.secretRef names", field)}
	case u.Scheme != "https" && (u.Scheme != "http" || !r.allows(u.Hostname(), portOf(u))):
		return nil, &Error{Refused, fmt.Sprintf("%s has scheme %q, in which anybody on the way can read the credentials; write https://, or start the controller with --allow-host %s", field, u.Scheme, u.Hostname())}
	}
	// What is refused comes back as the error of a request.
	t, err := r.transport(Fields{Address: field, Secret: sourceFields().Secret}, c.CA, func(error) {})
	if err != nil {
		return nil, err
	}
	return &Client{words: newRedactor(c.secrets()...), http: &http.Client{
		Transport: t,
		Timeout:   lookTimeout,
		CheckRedirect: func(next *http.Request, before []*http.Request) error {
			// One that changes something arrives as one that reads.
			if before[0].Method != http.MethodGet {
				return http.ErrUseLastResponse
			}
			return sameServer(next, before, field)
		},
	}}, nil
}

// Do sends a request. The error is an *Error: Unavailable where there is no answer.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return nil, unanswered(req.URL.Host, err, c.words.clean)
	}
	return res, nil
}

// unanswered explains why a server gave no answer.
func unanswered(host string, err error, clean func(string) string) *Error {
	var why *Error
	var authority x509.UnknownAuthorityError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &why):
		return why
	case errors.As(err, &authority):
		return &Error{Unavailable, fmt.Sprintf("the certificate of %s is from an unknown authority; add its certificate to the Secret as ca.crt", host)}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return &Error{Unavailable, fmt.Sprintf("%s did not answer in time; is the address right, and does a network policy permit the port?", host)}
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return &Error{Unavailable, fmt.Sprintf("%s cannot be asked: %s; is the address right, and does a network policy permit the port?", host, clean(err.Error()))}
}

// Close closes what is open.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Clean makes one short line of the words of a server, without credentials.
func (c *Client) Clean(text string) string { return c.words.clean(text) }
