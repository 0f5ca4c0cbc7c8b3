package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"

	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// connectSSH makes the client. The address is judged before it is dialled, and dialled as it was
// judged; the key of the server must be in known_hosts, under its name.
func (r *Remote) connectSSH(ctx context.Context, c *connection) error {
	signer, err := ssh.ParsePrivateKey(r.credentials.Identity)
	if err != nil && r.credentials.Password != "" {
		signer, err = ssh.ParsePrivateKeyWithPassphrase(r.credentials.Identity, []byte(r.credentials.Password))
	}
	if err != nil {
		return &Error{Unknown, "identity of the Secret that spec.source.secretRef names is not a private key that can be read; correct it, and write the passphrase as password if it has one"}
	}
	known, err := readKnownHosts(r.credentials.KnownHosts)
	if err != nil {
		return err
	}
	host, port := r.url.Hostname(), portOf(r.url)
	address, err := r.resolve(ctx, host, port)
	if err != nil {
		return err
	}
	name := net.JoinHostPort(host, port)
	user := r.credentials.Username
	if user == "" {
		user = "git"
	}
	keys := &gitssh.PublicKeys{User: user, Signer: signer}
	keys.HostKeyCallback = func(_ string, at net.Addr, key ssh.PublicKey) error {
		if known(name, at, key) == nil {
			return nil
		}
		why := &Error{Unknown, fmt.Sprintf("the key of %s (%s) is not in known_hosts; add it to the Secret that spec.source.secretRef names, if it is the right one", name, ssh.FingerprintSHA256(key))}
		c.refuse(why)
		return why
	}
	config, err := keys.ClientConfig()
	if err != nil {
		return &Error{Unknown, "the credentials for SSH cannot be used"}
	}
	config.HostKeyAlgorithms = algorithms(known, name, address)
	config.Timeout = lookTimeout
	c.transport = gitssh.NewClient(config)
	c.auth = keys
	c.endpoint.Host = address.Addr().String()
	c.endpoint.Port, _ = strconv.Atoi(port)
	return nil
}

// resolve finds the address of a host, and judges each that it has.
func (r *Remote) resolve(ctx context.Context, host, port string) (netip.AddrPort, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(found) == 0 {
		return netip.AddrPort{}, &Error{Unavailable, fmt.Sprintf("%s has no address", host)}
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, &Error{Refused, fmt.Sprintf("port %s of spec.source.url is not a port", port)}
	}
	for _, ip := range found {
		at := netip.AddrPortFrom(ip.Unmap(), uint16(number))
		if !r.rules.allows(host, port) {
			if err := r.rules.judge(ctx, host, at.String(), sourceURL); err != nil {
				return at, err
			}
		}
	}
	return netip.AddrPortFrom(found[0].Unmap(), uint16(number)), nil
}

// readKnownHosts reads known_hosts. Its reader takes names of files only, so it gets a pipe.
func readKnownHosts(text []byte) (ssh.HostKeyCallback, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, &Error{Unavailable, "known_hosts cannot be read: no pipe can be opened"}
	}
	defer out.Close()
	go func() {
		_, _ = in.Write(text)
		_ = in.Close()
	}()
	known, err := knownhosts.New(fmt.Sprintf("/dev/fd/%d", out.Fd()))
	if err != nil {
		return nil, &Error{Unknown, "known_hosts of the Secret that spec.source.secretRef names cannot be read; write the output of ssh-keyscan HOST, after you have compared the key"}
	}
	return known, nil
}

// algorithms are those of the keys that known_hosts has for a server: it may have others, too.
func algorithms(known ssh.HostKeyCallback, name string, at netip.AddrPort) []string {
	var mismatch *knownhosts.KeyError
	if !errors.As(known(name, net.TCPAddrFromAddrPort(at), noKey{}), &mismatch) {
		return nil
	}
	var names []string
	for _, key := range mismatch.Want {
		switch kind := key.Key.Type(); kind {
		case ssh.KeyAlgoRSA:
			names = append(names, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		default:
			names = append(names, kind)
		}
	}
	return names
}

// noKey is the key of no server.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return []byte("none") }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }
