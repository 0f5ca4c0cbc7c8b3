package remote

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/publicsuffix"
)

// mostAnswer is how much is read of an answer that is no file, in bytes.
const mostAnswer = 4 << 20

// Guard is the transport to a registry of artifacts for a client that follows where the registry leads:
// to its service of tokens, and to the store of its files. A service of tokens has to be in the domain
// of the registry, since it gets the credentials; any other host has to be named by --allow-host, and
// gets none.
type Guard struct {
	rules  *Rules
	home   string // HOST or HOST:PORT of the registry
	fields Fields
	inner  *http.Transport

	mu    sync.Mutex
	plain []string // what nobody may see: the credentials, and tokens in their place
	why   error    // the first refusal
}

// Guard makes one for a registry. ca has certificates of authorities in PEM; secrets are those with
// which it is asked.
func (r *Rules) Guard(home string, f Fields, ca []byte, secrets ...string) (*Guard, error) {
	g := &Guard{rules: r, home: home, fields: f, plain: secrets}
	var err error
	g.inner, err = r.transport(f, ca, g.refuse)
	return g, err
}

// Plain reports whether the registry may be asked by http.
func (g *Guard) Plain() bool {
	u := url.URL{Scheme: "http", Host: g.home}
	return g.rules.allows(u.Hostname(), portOf(&u))
}

// Close closes what is open.
func (g *Guard) Close() { g.inner.CloseIdleConnections() }

func (g *Guard) refuse(why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.why == nil {
		g.why = why
	}
}

// RoundTrip asks one of the servers that may be asked.
func (g *Guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := g.judge(req); err != nil {
		g.refuse(err)
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	if req.Response != nil && req.URL.Host != g.home {
		req = req.Clone(req.Context())
		req.Header.Del("Authorization")
	}
	g.hide(req.Header.Get("Authorization"))
	res, err := g.inner.RoundTrip(req)
	if err == nil {
		most := int64(mostAnswer)
		if req.Response != nil || strings.Contains(req.URL.Path, "/blobs/") {
			most = max(most, g.rules.MaxSource)
		}
		res.Body = &bounded{io.LimitReader(res.Body, most), res.Body}
	}
	return res, err
}

// bounded is the beginning of a body.
type bounded struct {
	io.Reader
	io.Closer
}

// judge decides whether a request may be sent.
func (g *Guard) judge(req *http.Request) error {
	u := req.URL
	host, port := u.Hostname(), portOf(u)
	named := g.rules.allows(host, port)
	refuse := func(format string, args ...any) error {
		return &Error{Refused, fmt.Sprintf(format, args...) + fmt.Sprintf(", or start the controller with --allow-host %s", host)}
	}
	switch {
	case u.Scheme != "https" && !named:
		return refuse("%s is to be asked by %s, which anybody on the way can read and change; let it serve https", u.Host, u.Scheme)
	case u.Host == g.home, named:
		return nil
	case req.Response != nil:
		return refuse("%s redirects to %s, which is not followed; correct %s", g.home, u.Host, g.fields.Address)
	case req.Method != http.MethodGet && req.Method != http.MethodPost:
		return refuse("%s has its files uploaded to %s, which is another server; correct %s", g.home, u.Host, g.fields.Address)
	case !sameDomain(g.home, u.Host):
		return refuse("%s names %s as its service of tokens, which is in another domain, so that it does not get the credentials; correct %s", g.home, u.Host, g.fields.Address)
	}
	return nil
}

// sameDomain reports whether two hosts are one, or in one domain that somebody registered.
func sameDomain(a, b string) bool {
	of := func(at string) string {
		u := url.URL{Host: at}
		host := strings.ToLower(u.Hostname())
		if _, err := netip.ParseAddr(host); err == nil {
			return host
		}
		if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
			return domain
		}
		return host
	}
	return of(a) == of(b)
}

// hide keeps a token out of what is said.
func (g *Guard) hide(authorization string) {
	_, token, found := strings.Cut(authorization, " ")
	g.mu.Lock()
	defer g.mu.Unlock()
	if found && !slices.Contains(g.plain, token) {
		g.plain = append(g.plain, token)
	}
}

// Clean makes one short line of the words of a server, without credentials.
func (g *Guard) Clean(text string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return newRedactor(g.plain...).clean(text)
}

// Explain turns the error of a request without an answer into an *Error: Failed, or why the request was
// refused.
func (g *Guard) Explain(err error) *Error {
	g.mu.Lock()
	refused := g.why
	g.mu.Unlock()
	if refused != nil {
		err = refused
	}
	why := unanswered(g.home, err, g.Clean)
	if why.Reason == Unavailable {
		why.Reason = Failed
	}
	return why
}
