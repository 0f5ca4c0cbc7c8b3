package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	"golang.org/x/net/proxy"
)

// ways are the connections that are to be made, by number: state of the package, for the want of another
// way into the client of go-git. It takes no dialer, its sessions are internal to it, and without a proxy it
// reads ~/.ssh/config and the environment. A proxy is found by its scheme, in a table of golang.org/x/net/proxy.
var ways struct {
	sync.Map
	last atomic.Uint64
}

// scheme is that of a way.
const scheme = "poolwright"

func init() {
	proxy.RegisterDialerType(scheme, func(u *url.URL, _ proxy.Dialer) (proxy.Dialer, error) {
		if way, found := ways.Load(u.Host); found {
			return way.(proxy.Dialer), nil
		}
		return nil, errors.New("the connection was closed")
	})
}

// way leads to one server, whatever address is asked for, and no longer than a context.
type way struct {
	ctx  context.Context
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	to   string
	late func()

	mu   sync.Mutex
	conn net.Conn
	stop func() bool
}

// Dial connects as DialContext does.
func (w *way) Dial(network, address string) (net.Conn, error) {
	return w.DialContext(w.ctx, network, address)
}

// DialContext connects. The context of the caller knows nothing of ours.
func (w *way) DialContext(_ context.Context, network, _ string) (net.Conn, error) {
	conn, err := w.dial(w.ctx, network, w.to)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = conn
	w.stop = context.AfterFunc(w.ctx, func() {
		w.late()
		_ = conn.Close() // which ends the handshake, or the session
	})
	return conn, nil
}

func (w *way) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil {
		w.stop()
		_ = w.conn.Close() // the session has closed it, unless it was not begun
	}
}

// connectSSH makes the client. The address is judged as it is dialled; the key of the server must be in
// known_hosts, under its name.
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
	config.HostKeyAlgorithms = algorithms(known, name)
	c.transport = gitssh.NewClient(config)
	c.auth = keys
	c.way = &way{ctx: ctx, dial: r.rules.dialer(host, port, sourceURL, c.refuse).DialContext, to: name, late: func() {
		c.refuse(&Error{Unavailable, fmt.Sprintf("%s did not answer in time", r.name())})
	}}
	c.number = strconv.FormatUint(ways.last.Add(1), 10)
	ways.Store(c.number, c.way)
	c.endpoint.Proxy.URL = scheme + "://" + c.number
	return nil
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
func algorithms(known ssh.HostKeyCallback, name string) []string {
	var mismatch *knownhosts.KeyError
	if !errors.As(known(name, &net.TCPAddr{}, noKey{}), &mismatch) {
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
