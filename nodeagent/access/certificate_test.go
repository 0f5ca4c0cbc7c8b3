package access

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/tool"
)

// TestOwnCertificate: without files the server has a self-signed certificate for its names, and replaces it before its end.
func TestOwnCertificate(t *testing.T) {
	c := &Certificate{Names: []string{"node-1", "192.0.2.7", ""}, Log: slog.New(slog.DiscardHandler)}
	now := time.Now()
	first, err := c.own(now)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"node-1", "192.0.2.7"} {
		if err := first.Leaf.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
	if len(first.Leaf.DNSNames)+len(first.Leaf.IPAddresses) != 2 || first.Leaf.NotBefore.After(now) {
		t.Errorf("%v %v from %s", first.Leaf.DNSNames, first.Leaf.IPAddresses, first.Leaf.NotBefore)
	}
	if again, err := c.own(now.Add(lasts - renewed - time.Hour)); err != nil || again != first {
		t.Errorf("it was made again while it lasts: %v", err)
	}
	late := now.Add(lasts - renewed + time.Hour)
	if next, err := c.own(late); err != nil || next == first || !next.Leaf.NotAfter.After(late.Add(renewed)) {
		t.Errorf("it was not made again before its end: %v", err)
	}
}

// pair writes a certificate and its key, and returns the certificate.
func pair(t *testing.T, certFile, keyFile string) []byte {
	t.Helper()
	made, err := (&Certificate{Names: []string{"localhost"}}).own(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write(t, certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Certificate[0]}))
	write(t, keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	return made.Certificate[0]
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCertificateFiles: a renewed certificate is served from the next connection on, and half of one leaves the last in
// place. Without one the server does not start.
func TestCertificateFiles(t *testing.T) {
	dir := t.TempDir()
	c := &Certificate{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"), Log: slog.New(slog.DiscardHandler)}
	address := tool.FreeAddress(t)
	if err := Serve(t.Context(), address, c, http.NotFoundHandler()); err == nil {
		t.Error("it serves without its certificate")
	}
	first := pair(t, c.CertFile, c.KeyFile)
	if err := Serve(t.Context(), address, c, http.NotFoundHandler()); err != nil {
		t.Fatal(err)
	}
	shown := func(what string, want []byte) {
		t.Helper()
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // it was only read
		if got := conn.ConnectionState().PeerCertificates[0].Raw; !bytes.Equal(got, want) {
			t.Errorf("%s: another certificate is shown", what)
		}
	}
	shown("at first", first)
	second := pair(t, c.CertFile, c.KeyFile)
	shown("renewed", second)
	write(t, c.CertFile, []byte("-----BEGIN CERTIFICATE-----"))
	shown("half written", second)
	if err := os.Remove(c.KeyFile); err != nil {
		t.Fatal(err)
	}
	shown("gone", second)
	third := pair(t, c.CertFile, c.KeyFile)
	shown("whole again", third)
}

// TestServe: requests with large headers are refused, and HTTP/2 is not offered.
func TestServe(t *testing.T) {
	address := tool.FreeAddress(t)
	c := &Certificate{Log: slog.New(slog.DiscardHandler)}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Proto)) })
	if err := Serve(t.Context(), address, c, handler); err != nil {
		t.Fatal(err)
	}
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := conn.ConnectionState(); got.NegotiatedProtocol != "http/1.1" || got.Version < tls.VersionTLS12 {
		t.Errorf("%q and TLS %x are spoken", got.NegotiatedProtocol, got.Version)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	request, err := http.NewRequest(http.MethodGet, "https://"+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.Repeat("x", 2*maxHeader))
	resp, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of %d bytes: %s", 2*maxHeader, resp.Status)
	}
}
