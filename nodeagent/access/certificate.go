package access

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// lasts is the validity of a self-signed certificate; it is replaced renewed before its end.
	lasts, renewed = 365 * 24 * time.Hour, 30 * 24 * time.Hour
)

// Certificate is the certificate of the server: from two files, or self-signed. It is checked with each connection, so that
// no timer is needed.
type Certificate struct {
	// CertFile and KeyFile are PEM. They are read with each connection, because certificates are renewed in place.
	CertFile, KeyFile string
	// Names are the host names and addresses in a self-signed certificate.
	Names []string
	Log   *slog.Logger

	mu        sync.Mutex
	cert, key []byte // content of the files
	current   *tls.Certificate
}

// Get returns the certificate for a connection. If the files are not usable, it returns the last usable one.
func (c *Certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.CertFile == "" {
		return c.own(time.Now())
	}
	if err := c.read(); err != nil {
		if c.current == nil {
			return nil, err
		}
		c.Log.Warn("the certificate cannot be read; the previous one is used", "file", c.CertFile, "error", err)
	}
	return c.current, nil
}

func (c *Certificate) read() error {
	cert, err := os.ReadFile(c.CertFile)
	key, keyErr := os.ReadFile(c.KeyFile)
	if err := errors.Join(err, keyErr); err != nil {
		return err
	}
	if c.current != nil && bytes.Equal(cert, c.cert) && bytes.Equal(key, c.key) {
		return nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return err
	}
	c.cert, c.key, c.current = cert, key, &pair
	return nil
}

// own creates a self-signed certificate, and replaces it before its end.
func (c *Certificate) own(now time.Time) (*tls.Certificate, error) {
	if c.current != nil && now.Before(c.current.Leaf.NotAfter.Add(-renewed)) {
		return c.current, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "poolwright-node-agent"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lasts), // clocks differ
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	for _, name := range c.Names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if name != "" {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	c.current = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	return c.current, nil
}
