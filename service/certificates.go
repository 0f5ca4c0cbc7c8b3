package service

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// TLS names the files of the certificates, in PEM. They may be links that are swapped, as
// Kubernetes mounts a Secret.
type TLS struct {
	Cert, Key string // of the server
	ClientCA  string // who signs clients, "" for anybody
}

// certificates are read again while they are used.
type certificates struct {
	files   TLS
	seen    [3][]byte // what the files had, good or bad
	current atomic.Pointer[tls.Config]
}

func readCertificates(files TLS) (*certificates, error) {
	c := &certificates{files: files}
	_, err := c.read()
	return c, err
}

// read takes what the files have, if that is another thing than before. After an error the old
// certificates stay.
func (c *certificates) read() (changed bool, err error) {
	var now [3][]byte
	for i, name := range []string{c.files.Cert, c.files.Key, c.files.ClientCA} {
		if name == "" {
			continue
		}
		if now[i], err = os.ReadFile(name); err != nil {
			now[i] = []byte(err.Error()) // reported once
		}
	}
	same := true
	for i := range now {
		same = same && bytes.Equal(now[i], c.seen[i])
	}
	if same {
		return false, nil
	}
	c.seen = now
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	pair, err := tls.X509KeyPair(now[0], now[1])
	if err != nil {
		return false, fmt.Errorf("%s and %s: %w", c.files.Cert, c.files.Key, c.cause(err))
	}
	config.Certificates = []tls.Certificate{pair}
	if c.files.ClientCA != "" {
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(now[2]) {
			return false, fmt.Errorf("%s: %w", c.files.ClientCA, c.cause(errors.New("there is no certificate in it")))
		}
		config.ClientAuth = tls.VerifyClientCertIfGiven // the probes need none
	}
	c.current.Store(config)
	return true, nil
}

// cause is the error of a file that cannot be read, if there is one.
func (c *certificates) cause(err error) error {
	for _, name := range []string{c.files.Cert, c.files.Key, c.files.ClientCA} {
		if name == "" {
			continue
		}
		if _, failed := os.Stat(name); failed != nil {
			return failed
		}
	}
	return err
}

// watch reads the files again, until the context ends.
func (c *certificates) watch(ctx context.Context, every time.Duration, log *slog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch changed, err := c.read(); {
		case err != nil:
			log.Error("the certificates cannot be used; the old ones stay", "error", err)
		case changed:
			log.Info("the certificates were read again")
		}
	}
}

// config is that of a server.
func (c *certificates) config() *tls.Config {
	now := c.current.Load().Clone()
	now.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current.Load(), nil }
	return now
}
