package service

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.pem, a.key = a.sign(t, &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	block, _ := pem.Decode(a.pem)
	var err error
	if a.cert, err = x509.ParseCertificate(block.Bytes); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) sign(t *testing.T, template *x509.Certificate) (text []byte, key *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key
}

// write makes a pair in a new folder, as tls.crt and tls.key.
func (a *authority) write(t *testing.T, dir string, serial int64) {
	t.Helper()
	cert, key := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(serial), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	})
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "tls.crt"), cert)
	put(t, filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

func put(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o666); err != nil {
		t.Fatal(err)
	}
}

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
	dir, ca := t.TempDir(), newAuthority(t)
	link := filepath.Join(dir, "current")
	ca.write(t, filepath.Join(dir, "1"), 10)
	ca.write(t, filepath.Join(dir, "2"), 20)
	ca.write(t, filepath.Join(dir, "bad"), 30)
	put(t, filepath.Join(dir, "bad", "tls.key"), []byte("no key"))
	put(t, filepath.Join(dir, "ca.crt"), ca.pem)
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
	trusted.AppendCertsFromPEM(ca.pem)
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
	dir, ca := t.TempDir(), newAuthority(t)
	ca.write(t, dir, 10)
	put(t, filepath.Join(dir, "empty"), nil)
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
