package remote

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/file"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// connection is what one request, fetch or push needs. Connections are not shared: each repository
// has its own authorities and rules.
type connection struct {
	transport transport.Transport
	endpoint  *transport.Endpoint
	auth      transport.AuthMethod
	client    *http.Transport // nil where it is not HTTP
	way       *way            // nil where it is not SSH
	number    string          // of the way

	mu  sync.Mutex
	why error // an address or a redirect was refused
}

func (c *connection) refuse(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.why = why
}

func (c *connection) refused() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

func (c *connection) close() {
	if c.client != nil {
		c.client.CloseIdleConnections()
	}
	if c.way != nil {
		ways.Delete(c.number)
		c.way.close()
	}
}

func (r *Remote) connect(ctx context.Context) (*connection, error) {
	port, _ := strconv.Atoi(portOf(r.url))
	c := &connection{endpoint: &transport.Endpoint{Protocol: r.url.Scheme, Host: r.url.Hostname(), Port: port, Path: r.url.Path}}
	switch r.url.Scheme {
	case "file":
		c.transport = file.DefaultClient
		return c, nil
	case "ssh":
		return c, r.connectSSH(ctx, c)
	}
	if err := r.connectHTTP(c); err != nil {
		return nil, err
	}
	return c, nil
}

// connectHTTP makes the client. It uses no proxy: behind one, nobody can judge the address.
func (r *Remote) connectHTTP(c *connection) error {
	if strings.Contains(c.endpoint.Host, ":") {
		c.endpoint.Host = "[" + c.endpoint.Host + "]" // an address of IPv6, as go-git writes it into a URL
	}
	var err error
	if c.client, err = r.rules.transport(sourceFields(), r.credentials.CA, c.refuse); err != nil {
		return err
	}
	c.transport = githttp.NewClientWithOptions(&http.Client{
		Transport: c.client,
		CheckRedirect: func(next *http.Request, before []*http.Request) error {
			err := sameServer(next, before, sourceURL)
			if err != nil {
				c.refuse(err)
			}
			return err
		},
	}, nil)
	switch {
	case r.credentials.BearerToken != "":
		c.auth = &githttp.TokenAuth{Token: r.credentials.BearerToken}
	case r.credentials.Password != "" || r.credentials.Username != "":
		c.auth = &githttp.BasicAuth{Username: r.credentials.Username, Password: r.credentials.Password}
	}
	return nil
}
