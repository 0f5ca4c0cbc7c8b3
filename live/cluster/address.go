package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// oldAddresses is the age at which the addresses of the API server are read again, when they are needed.
const oldAddresses = 10 * time.Minute

// ServerAddresses are the addresses at which the API server answers: that of the kubeconfig or the pod, that of
// its Service, and those of the machines behind it.
type ServerAddresses struct {
	cluster *Cluster

	mu    sync.Mutex
	known []netip.Addr
	read  time.Time
}

// ServerAddresses reads the addresses for the first time.
func (c *Cluster) ServerAddresses(ctx context.Context) (*ServerAddresses, error) {
	a := &ServerAddresses{cluster: c}
	_, err := a.Now(ctx)
	return a, err
}

// Now are the addresses, at most some minutes old. While they cannot be read, those that were read last count;
// the error is that there are none.
func (a *ServerAddresses) Now(ctx context.Context) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); a.read.IsZero() || now.Sub(a.read) > oldAddresses {
		found, err := a.cluster.serverAddresses(ctx)
		switch {
		case err == nil:
			a.known, a.read = found, now
		case a.read.IsZero():
			return nil, err
		}
	}
	return a.known, nil
}

func (c *Cluster) serverAddresses(ctx context.Context) ([]netip.Addr, error) {
	found, err := resolve(ctx, c.Server)
	if err != nil {
		return nil, err
	}
	add := func(text string) {
		if ip, err := netip.ParseAddr(text); err == nil && !slices.Contains(found, ip) {
			found = append(found, ip)
		}
	}
	const namespace, name = "default", "kubernetes" // of the Service and the EndpointSlice that each API server keeps
	services := Resource{Version: "v1", Kind: "Service", Plural: "services", Namespaced: true}
	slicesOf := Resource{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice", Plural: "endpointslices", Namespaced: true}
	for _, r := range []Resource{services, slicesOf} {
		o, err := c.Get(ctx, r, namespace, name)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, c.Explain(err, fmt.Sprintf("get %s %s/%s, which has addresses of the API server", r, namespace, name))
		}
		for _, ip := range o.Seq("spec", "clusterIPs") {
			add(ip.Value())
		}
		for _, endpoint := range o.Seq("endpoints") {
			for _, ip := range endpoint.Seq("addresses") {
				add(ip.Value())
			}
		}
	}
	return found, nil
}

// resolve are the addresses of the host of a URL: none where its name is not known here, as behind a proxy.
func resolve(ctx context.Context, server string) ([]netip.Addr, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	var unknown *net.DNSError
	if err != nil && (!errors.As(err, &unknown) || !unknown.IsNotFound) {
		return nil, fmt.Errorf("the addresses of the API server are not known: %w", err)
	}
	for i := range ips {
		ips[i] = ips[i].Unmap()
	}
	return ips, nil
}
