package service

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/authority"
)

// serial is that of the certificate of the server, seen by a new connection.
func serial(t *testing.T, r *running, trusted *x509.CertPool) int64 {
	t.Helper()
	c, err := tls.Dial("tcp", strings.TrimPrefix(r.url, "https://"), &tls.Config{RootCAs: trusted})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // nothing is sent
	return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// TestCertificates: a swapped link is read again, a bad pair is reported and the old one stays,
// and clients need a certificate for all but the probes.
func TestCertificates(t *testing.T) {
	dir, ca := t.TempDir(), authority.New(t)
	link := filepath.Join(dir, "current")
	ca.Write(t, filepath.Join(dir, "1"), 10)
	ca.Write(t, filepath.Join(dir, "2"), 20)
	ca.Write(t, filepath.Join(dir, "bad"), 30)
	authority.Put(t, filepath.Join(dir, "bad", "tls.key"), []byte("no key"))
	authority.Put(t, filepath.Join(dir, "ca.crt"), ca.PEM)
	point := func(at string) {
		next := filepath.Join(dir, "next")
		if err := os.Symlink(at, next); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, link); err != nil {
			t.Fatal(err)
		}
	}
	point("1")
	r := serve(t, func(c *Config) {
		c.TLS = TLS{filepath.Join(link, "tls.crt"), filepath.Join(link, "tls.key"), filepath.Join(dir, "ca.crt")}
		c.Reread, c.Listen = 10*time.Millisecond, "127.0.0.1:0"
	})
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(ca.PEM)
	if got := serial(t, r, trusted); got != 10 {
		t.Errorf("serial number %d", got)
	}
	point("bad")
	eventually(t, "the bad pair is reported", func() bool {
		return strings.Contains(r.log.String(), "the certificates cannot be used; the old ones stay")
	})
	if got := serial(t, r, trusted); got != 10 {
		t.Errorf("with a bad pair, serial number %d", got)
	}
	point("2")
	eventually(t, "the new pair is used", func() bool { return serial(t, r, trusted) == 20 })
	if n := strings.Count(r.log.String(), "the old ones stay"); n != 1 {
		t.Errorf("the bad pair is reported %d times:\n%s", n, r.log)
	}

	r.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: true}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 401, "/openapi.json": 401, "/version": 401} {
		if a := r.do(t, "GET", path, nil); a.code != want {
			t.Errorf("%s without a certificate: %d", path, a.code)
		}
	}
	if a := r.post(t, "/v1/fn", emptyList); a.code != 401 || a.problem(t).Detail != "a client certificate is needed" {
		t.Errorf("fn without a certificate: %d %s", a.code, a.text)
	}
	r.client.CloseIdleConnections()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "1", "tls.crt"), filepath.Join(dir, "1", "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	r.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{pair}}, ForceAttemptHTTP2: true}
	if a := r.post(t, "/v1/fn", emptyList); a.code != 200 || a.text != emptyList {
		t.Errorf("fn with a certificate: %d %s", a.code, a.text)
	}
}

// TestBadCertificates: a server does not start with them.
func TestBadCertificates(t *testing.T) {
	dir, ca := t.TempDir(), authority.New(t)
	ca.Write(t, dir, 10)
	authority.Put(t, filepath.Join(dir, "empty"), nil)
	good := TLS{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), ""}
	for _, c := range []struct {
		files TLS
		want  string
	}{
		{TLS{good.Cert, filepath.Join(dir, "gone"), ""}, "no such file"},
		{TLS{good.Cert, filepath.Join(dir, "empty"), ""}, "failed to find any PEM data"},
		{TLS{good.Cert, good.Key, filepath.Join(dir, "empty")}, "there is no certificate in it"},
	} {
		_, err := New(Config{Function: function(), Slots: 1, TLS: c.files})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
