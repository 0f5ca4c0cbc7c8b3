package remote

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// Rules say what may be connected to, and how much is read.
type Rules struct {
	// Hosts may be connected to whatever their address is, and by http. HOST or HOST:PORT.
	Hosts []string
	// Files says that file:// may be read.
	Files bool
	// APIServer returns the addresses of the Kubernetes API server, which are refused; nil for none.
	APIServer func(context.Context) ([]netip.Addr, error)
	// MaxSource is the size of the last commit with all files, in bytes: packed and unpacked.
	MaxSource int64
}

// allows reports whether a host was allowed by name.
func (r *Rules) allows(host, port string) bool {
	return slices.Contains(r.Hosts, host) || slices.Contains(r.Hosts, net.JoinHostPort(host, port)) || slices.Contains(r.Hosts, host+":"+port)
}

// checkScheme refuses a URL by its scheme.
func (r *Rules) checkScheme(u *url.URL, c Credentials) error {
	refuse := func(format string, args ...any) error {
		return &Error{Refused, fmt.Sprintf(format, args...)}
	}
	switch u.Scheme {
	case "https":
	case "http":
		if !r.allows(u.Hostname(), portOf(u)) {
			return refuse("%s is to be read by http, which anybody on the way can read and change; write https:// in spec.source.url, or start the controller with --allow-host %s", u.Host, u.Hostname())
		}
	case "ssh":
		if len(c.Identity) == 0 || len(c.KnownHosts) == 0 {
			return &Error{Unknown, "the Secret has no identity or no known_hosts, which SSH needs; add them to the Secret that spec.source.secretRef names"}
		}
	case "file":
		if !r.Files {
			return refuse("the source is a folder of the controller; write https:// or ssh:// in spec.source.url, or start the controller with --allow-file")
		}
	default:
		return refuse("the source has scheme %q; write https:// or ssh:// in spec.source.url", u.Scheme)
	}
	return nil
}

// portOf is the port of a URL, as it is dialled.
func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"https": "443", "http": "80", "ssh": "22"}[u.Scheme]
}

// dialer connects to a host. It judges each address that the name of the host stands for at that
// moment, so that a name cannot lead elsewhere later. field has the address, for messages.
func (r *Rules) dialer(host, port, field string, refused func(error)) *net.Dialer {
	d := &net.Dialer{Timeout: lookTimeout, KeepAlive: 15 * time.Second}
	if r.allows(host, port) {
		return d
	}
	d.ControlContext = func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		if err := r.judge(ctx, host, address, field); err != nil {
			refused(err)
			return err
		}
		return nil
	}
	return d
}

// judge refuses an address that leads into the machine, the link, or the control plane.
func (r *Rules) judge(ctx context.Context, host, address, field string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &Error{Refused, fmt.Sprintf("%s has no address that can be judged", host)}
	}
	ip := at.Addr().Unmap().WithZone("")
	why := ""
	switch {
	case ip.IsLoopback():
		why = "a loopback address"
	case ip.IsLinkLocalUnicast():
		why = "a link-local address"
	case ip.IsUnspecified():
		why = "the unspecified address"
	case ip.IsMulticast():
		why = "a multicast address"
	case r.APIServer != nil:
		own, err := r.APIServer(ctx)
		if err != nil {
			return &Error{Unavailable, fmt.Sprintf("%s is not connected to: it is not known whether %s is an address of the Kubernetes API server: %v", host, ip, err)}
		}
		if slices.Contains(own, ip) {
			why = "an address of the Kubernetes API server"
		}
	}
	if why == "" {
		return nil
	}
	return &Error{Refused, fmt.Sprintf("%s is %s, %s; correct %s, or start the controller with --allow-host %s", host, ip, why, field, host)}
}
