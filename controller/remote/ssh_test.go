package remote_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/test/gitserver"
)

// newKey makes a key of SSH, and its private part as a Secret has it.
func newKey(t *testing.T) (ssh.Signer, []byte) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

// serveSSH lets one key of a user git run git's own programs, as a Git server does.
func serveSSH(t *testing.T, host ssh.Signer, allowed ssh.PublicKey) (address string) {
	t.Helper()
	config := &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() != "git" || string(key.Marshal()) != string(allowed.Marshal()) {
			return nil, ssh.ErrNoAuth
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveConnection(conn, config)
		}
	}()
	return l.Addr().String()
}

func serveConnection(conn net.Conn, config *ssh.ServerConfig) {
	defer func() { _ = conn.Close() }()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = channel.Close() }()
			for r := range requests {
				_ = r.Reply(r.Type == "exec", nil)
				if r.Type != "exec" {
					continue
				}
				var payload struct{ Command string }
				_ = ssh.Unmarshal(r.Payload, &payload)
				name, dir, _ := strings.Cut(payload.Command, " ")
				if !slices.Contains([]string{"git-upload-pack", "git-receive-pack"}, name) {
					return
				}
				cmd := exec.Command("git", strings.TrimPrefix(name, "git-"), strings.Trim(dir, "'"))
				cmd.Stdin, cmd.Stdout, cmd.Stderr = channel, channel, channel.Stderr()
				code := byte(0)
				if cmd.Run() != nil {
					code = 1
				}
				_, _ = channel.SendRequest("exit-status", false, []byte{0, 0, 0, code})
				return
			}
		}()
	}
}

// elsewhere is an ssh_config that leads every host to another one.
type elsewhere struct{}

func (elsewhere) Get(_, key string) string {
	return map[string]string{"Hostname": "127.0.0.1", "Port": "1"}[key]
}

// TestSSHSilent: a server that accepts and says nothing does not hold up more than its time.
func TestSSHSilent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	host, identity := newKey(t)
	known := []byte(knownhosts.Line([]string{knownhosts.Normalize(l.Addr().String())}, host.PublicKey()) + "\n")
	r := open(t, "ssh://"+l.Addr().String()+"/a.git", onLoopback(), remote.Credentials{Identity: identity, KnownHosts: known})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := r.Fetch(ctx, "main")
		ended <- err
	}()
	select {
	case err := <-ended:
		reason(t, err, remote.Unavailable, "did not answer in time")
	case <-time.After(20 * time.Second):
		t.Fatal("it still waits")
	}
}

// TestSSH reads and pushes with a key, and refuses a server whose key is not known. No proxy and no
// ssh_config leads elsewhere.
func TestSSH(t *testing.T) {
	t.Setenv("ALL_PROXY", "socks5://127.0.0.1:1")
	config := gitssh.DefaultSSHConfig
	gitssh.DefaultSSHConfig = elsewhere{}
	defer func() { gitssh.DefaultSSHConfig = config }()
	server := gitserver.New(t, map[string]string{"a.txt": "a\n"})
	host, _ := newKey(t)
	mine, identity := newKey(t)
	address := serveSSH(t, host, mine.PublicKey())
	known := []byte(knownhosts.Line([]string{knownhosts.Normalize(address)}, host.PublicKey()) + "\n")
	url := "ssh://" + address + server.Dir

	r := open(t, url, onLoopback(), remote.Credentials{Identity: identity, KnownHosts: known})
	source := fetch(t, r)
	commit := write(t, source, "b.txt", "b\n")
	if err := r.Push(t.Context(), "main", source, commit); err != nil {
		t.Fatal(err)
	}
	if got := server.Head(t, "main"); got != commit.String() {
		t.Errorf("the head is %s, want %s", got, commit)
	}

	other, stranger := newKey(t)
	wrong := []byte(knownhosts.Line([]string{knownhosts.Normalize(address)}, other.PublicKey()) + "\n")
	_, err := open(t, url, onLoopback(), remote.Credentials{Identity: identity, KnownHosts: wrong}).Head(t.Context(), "main")
	reason(t, err, remote.Unknown, "is not in known_hosts; add it to the Secret that spec.source.secretRef names, if it is the right one")

	_, err = open(t, url, onLoopback(), remote.Credentials{Identity: stranger, KnownHosts: known}).Head(t.Context(), "main")
	reason(t, err, remote.Unknown, "does not accept the credentials: ")

	_, err = open(t, url, onLoopback(), remote.Credentials{Identity: []byte("no key"), KnownHosts: known}).Head(t.Context(), "main")
	reason(t, err, remote.Unknown, "identity of the Secret that spec.source.secretRef names is not a private key that can be read; ")

	_, err = open(t, url, onLoopback(), remote.Credentials{Identity: identity, KnownHosts: []byte("@@@")}).Head(t.Context(), "main")
	reason(t, err, remote.Unknown, "known_hosts of the Secret that spec.source.secretRef names cannot be read; ")

	_, err = open(t, "ssh://localhost:22/a.git", remote.Rules{MaxSource: 1}, remote.Credentials{Identity: identity, KnownHosts: known}).Head(t.Context(), "main")
	reason(t, err, remote.Refused, "a loopback address; ")
}
