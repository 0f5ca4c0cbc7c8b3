package console

import (
	"net/http"
	"net/url"

	"github.com/poolwright/poolwright/schema/quantity"
)

// contentPolicy lets a page load from the console alone, and be framed by nobody.
const contentPolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// protect sets what every answer has.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer browsers send Origin: null with forms
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// guard refuses what another site, or a name that points to this machine, has a browser ask; nil if nothing
// speaks against the request.
func (s *Server) guard(r *http.Request) *problem {
	if !s.hosts[r.Host] {
		return refuse(http.StatusForbidden, "host", "the header Host is %q, which is not the console: open http://127.0.0.1:%s", r.Host, s.port)
	}
	if headerSize(r) > mostHeader {
		return refuse(http.StatusRequestHeaderFieldsTooLarge, "header", "the header has more than %s", quantity.Size(mostHeader))
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	_, hasToken := bearer(r)
	origin := r.Header.Get("Origin")
	switch {
	case origin != "":
		at, err := url.Parse(origin)
		if err == nil && at.Scheme == "http" && s.hosts[at.Host] {
			return nil
		}
	case r.Header.Get("Sec-Fetch-Site") == "same-origin", hasToken:
		return nil
	}
	return refuse(http.StatusForbidden, "origin", "the request comes from %q, which is not the console: send it from a page of the console, or with a bearer token", origin)
}

// headerSize is how many bytes a header had, with its first line.
func headerSize(r *http.Request) int {
	size := len(r.Method) + len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(value) + len(": \r\n")
		}
	}
	return size
}

// authenticate is the problem of a request of nobody who is signed in, or nil.
func (s *Server) authenticate(r *http.Request) *problem {
	token, given := bearer(r)
	switch {
	case given:
		return s.admit(token)
	case s.sessions.of(r) != nil:
		return nil
	}
	return refuse(http.StatusUnauthorized, "unauthenticated", "nobody is signed in: open the link that poolwright console printed")
}

// admit is the problem of a token that is wrong, or nil.
func (s *Server) admit(token string) *problem {
	switch s.sessions.try(token) {
	case granted:
		return nil
	case tooMany:
		return refuse(http.StatusTooManyRequests, "too-many-requests", "too many wrong tokens: wait for a minute, and open the link that poolwright console printed")
	}
	return refuse(http.StatusUnauthorized, "unauthenticated", "the token is wrong: open the link that poolwright console printed, which holds until it ends")
}
