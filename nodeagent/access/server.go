package access

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

const (
	// connections limits the open connections; further ones wait.
	connections = 16
	maxHeader   = 16 << 10 // bytes; a token has some kilobytes
)

// Serve serves a handler over TLS until ctx ends. HTTP/2 is disabled: one connection can carry many requests.
func Serve(ctx context.Context, address string, certificate *Certificate, handler http.Handler) error {
	if _, err := certificate.Get(nil); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:     handler,
		TLSConfig:   &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.Get, NextProtos: []string{"http/1.1"}},
		ReadTimeout: 10 * time.Second, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: maxHeader,
		TLSNextProto:   map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ErrorLog:       slog.NewLogLogger(certificate.Log.Handler(), slog.LevelDebug), // port scanners cause most of them
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.ServeTLS(netutil.LimitListener(listener, connections), "", "") }()
	return nil
}
