package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// sourceURL is the field with the address of the repository.
const sourceURL = "spec.source.url"

// transport makes the connections to a server. It uses no proxy: behind one, nobody can judge the
// address. refused hears why an address is refused, and field has it.
func (r *Rules) transport(u *url.URL, field string, c Credentials, refused func(error)) (*http.Transport, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(c.CA) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(c.CA) {
			return nil, &Error{Unknown, "ca.crt of the Secret that spec.source.secretRef names has no certificate in PEM; correct it"}
		}
		settings.RootCAs = pool
	}
	return &http.Transport{
		DialContext:           r.dialer(u.Hostname(), portOf(u), field, refused).DialContext,
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
	t, err := r.transport(u, field, c, func(error) {})
	if err != nil {
		return nil, err
	}
	return &Client{words: newRedactor(c), http: &http.Client{
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
	if err == nil {
		return res, nil
	}
	var why *Error
	var authority x509.UnknownAuthorityError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &why):
		return nil, why
	case errors.As(err, &authority):
		return nil, &Error{Unavailable, fmt.Sprintf("the certificate of %s is from an unknown authority; add its certificate to the Secret as ca.crt", req.URL.Host)}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return nil, &Error{Unavailable, fmt.Sprintf("%s did not answer in time", req.URL.Host)}
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return nil, &Error{Unavailable, fmt.Sprintf("%s cannot be asked: %s", req.URL.Host, c.Clean(err.Error()))}
}

// Close closes what is open.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Clean makes one short line of the words of a server, without credentials.
func (c *Client) Clean(text string) string { return c.words.clean(text) }
