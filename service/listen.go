package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/service/web"
)

// Listen opens the address of the server. The error is a *web.AddressError, or that of the system.
func (s *Server) Listen() (net.Listener, error) {
	address, err := net.ResolveTCPAddr("tcp", s.config.Listen)
	if err != nil {
		return nil, &web.AddressError{Msg: fmt.Sprintf("--listen %s: %v; write HOST:PORT, such as 127.0.0.1:8080", s.config.Listen, err)}
	}
	if s.certs == nil && !s.config.AllowPlain && !address.IP.IsLoopback() {
		return nil, &web.AddressError{Msg: fmt.Sprintf("--listen %s: other machines could read the requests; add --tls-cert and --tls-key, or --allow-plain-http behind a proxy with TLS", s.config.Listen)}
	}
	return net.ListenTCP("tcp", address)
}

// URL is where a listener of the server is found.
func (s *Server) URL(l net.Listener) string {
	scheme := "http"
	if s.certs != nil {
		scheme = "https"
	}
	return scheme + "://" + l.Addr().String()
}

// Serve answers requests until a signal, and then what runs. The error says that a part was cut
// off, or that the listener failed.
func (s *Server) Serve(l net.Listener, signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.config.Stall,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.config.Log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() {
		if s.certs == nil {
			failed <- server.Serve(l)
			return
		}
		server.TLSConfig = s.certs.config()
		failed <- server.ServeTLS(l, "", "")
	}()
	if s.certs != nil {
		go s.certs.watch(ctx, s.config.Reread, s.config.Log)
	}
	select {
	case err := <-failed:
		return fmt.Errorf("the server stopped: %w", err)
	case <-signals:
	}
	return s.finish(server, signals)
}

// finish answers what runs. The listener stays open meanwhile, so that whoever asks hears that
// the server is not ready.
func (s *Server) finish(server *http.Server, signals <-chan os.Signal) error {
	idle := s.drain()
	s.config.Log.Info("shutting down", "running", s.running())
	timer := time.NewTimer(s.config.Shutdown)
	defer timer.Stop()
	why := ""
	select {
	case <-idle:
	case <-timer.C:
		why = fmt.Sprintf("after %s", s.config.Shutdown)
	case <-signals:
		why = "by a second signal"
	}
	if n := s.running(); why != "" && n > 0 {
		return errors.Join(fmt.Errorf("cut off %s: %s", why, finding.Count(n, "request")), server.Close())
	}
	// The last answers may not be on their way yet.
	ctx, cancel := context.WithTimeout(context.Background(), s.config.Stall)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return server.Close()
	}
	return nil
}
