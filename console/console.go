// Package console is pages and an API for people, over a package in a folder: what there is, how it is, and why.
// Everything that it says comes from the functions of the commands, and every guard is theirs.
package console

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/service/web"
)

// Config is what a console is about.
type Config struct {
	Function *fn.Function
	Dir      string       // of the package
	Author   *tree.Author // of commits; nil for that of Git
	Listen   string       // HOST:PORT, on loopback
	Version  string
	Log      *slog.Logger
	Now      func() time.Time // nil for the clock
}

// Limits of a console.
const (
	mostHeader      = 16 << 10         // bytes
	headerTime      = 10 * time.Second // for all of a header
	answerTime      = time.Minute      // for a client to read an answer
	idleTime        = 2 * time.Minute  // between two requests on a connection
	mostConnections = 200
)

// Server answers requests.
type Server struct {
	config   Config
	routes   []route
	theme    *page.Theme
	source   *source
	sessions *sessions
	writing  sync.Mutex      // one commit after the other
	hosts    map[string]bool // that the header Host may name
	port     string
}

// New makes a console. The error is that of the folder, a *folder.UsageError.
func New(config Config) (*Server, error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	from, err := newSource(config.Function, config.Dir, config.Author)
	if err != nil {
		return nil, err
	}
	s := &Server{config: config, theme: page.NewTheme(), source: from, sessions: newSessions(config.Now)}
	s.routes = s.table()
	return s, nil
}

// Listen opens the address. The error is a *web.AddressError, or that of the system.
func (s *Server) Listen() (net.Listener, error) {
	address, err := net.ResolveTCPAddr("tcp", s.config.Listen)
	if err != nil {
		return nil, &web.AddressError{Msg: fmt.Sprintf("--listen %s: %v; write HOST:PORT, such as 127.0.0.1:8081", s.config.Listen, err)}
	}
	if !address.IP.IsLoopback() {
		return nil, &web.AddressError{Msg: fmt.Sprintf("--listen %s: other machines could use the console; write an address of this machine alone, such as 127.0.0.1:8081", s.config.Listen)}
	}
	l, err := net.ListenTCP("tcp", address)
	if err != nil {
		return nil, err
	}
	_, s.port, _ = net.SplitHostPort(l.Addr().String())
	s.hosts = map[string]bool{}
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]"} {
		s.hosts[host+":"+s.port] = true
		if s.port == "80" {
			s.hosts[host] = true
		}
	}
	s.sessions.cookie = "poolwright-" + s.port
	return netutil.LimitListener(l, mostConnections), nil
}

// Login is the address that signs a person in.
func (s *Server) Login(l net.Listener) string {
	return "http://" + l.Addr().String() + "/login?token=" + s.sessions.token
}

// Serve answers requests until a signal. The error says that the listener failed.
func (s *Server) Serve(l net.Listener, signals <-chan os.Signal) error {
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTime,
		WriteTimeout:      answerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    mostHeader, // net/http allows some more, which guard refuses
		ErrorLog:          slog.NewLogLogger(s.config.Log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("the console stopped: %w", err)
	case <-signals:
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return server.Close()
}

// secret is 32 random bytes, as base64url.
func secret() string {
	var bytes [32]byte
	_, _ = rand.Read(bytes[:]) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(bytes[:])
}

// isAPI reports whether a path answers programs.
func isAPI(path string) bool {
	return strings.HasPrefix(path, "/api/") || path == "/openapi.json" || path == "/healthz"
}
