package service

import (
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/poolwright/poolwright/service/web"
)

const shuttingDown = "the server is shutting down"

// statusGone is what the log says of a client that did not wait, as nginx has it.
const statusGone = 499

// retryAfter is when a client is asked to come again, in seconds.
const retryAfter = "1"

// exchange is one request and its answer.
type exchange struct {
	request *http.Request
	writer  http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration // for each part of the answer
	most    time.Duration // for all of it

	status   int    // 0 until something was sent
	sent     int64  // bytes of the answer, as they were sent
	received int64  // bytes of the body, after gunzip
	digest   string // of the body, "" if it was not read to its end
}

func (x *exchange) header() http.Header { return x.writer.Header() }

// ServeHTTP answers a request, logs it, and counts it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	x := &exchange{request: r, writer: w, control: http.NewResponseController(w), stall: s.config.Stall, most: s.config.Timeout}
	name := "other"
	found := s.routes[r.URL.Path]
	if found != nil {
		name = found.path
	}
	s.metrics.inFlight.Inc()
	defer func() {
		// A panic is of one request. net/http ends a connection by one, too.
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			if p := s.panicked(x, p, debug.Stack()); x.status == 0 {
				x.fail(p)
			}
		}
		s.metrics.inFlight.Dec()
		took := time.Since(begun)
		s.metrics.observe(name, x, took)
		s.config.Log.Info("request", "method", r.Method, "route", name, "code", x.status, "duration", took, "received", x.received, "sent", x.sent, "digest", x.digest)
	}()
	s.answer(x, found)
}

func (s *Server) answer(x *exchange, found *route) {
	x.header().Set("X-Content-Type-Options", "nosniff")
	x.header().Set("Cache-Control", "no-store")
	method := x.request.Method
	switch {
	case found == nil:
		x.fail(refuse(http.StatusNotFound, "there is no %s; see /openapi.json", x.request.URL.Path))
	case method != found.method && !(method == http.MethodHead && found.method == http.MethodGet):
		allow := found.method
		if allow == http.MethodGet {
			allow += ", " + http.MethodHead
		}
		x.header().Set("Allow", allow)
		x.fail(refuse(http.StatusMethodNotAllowed, "%s %s is not supported; use %s", method, found.path, allow))
	case s.certs != nil && s.config.TLS.ClientCA != "" && !found.probe && len(x.request.TLS.PeerCertificates) == 0:
		x.fail(refuse(http.StatusUnauthorized, "a client certificate is needed"))
	default:
		found.serve(x)
	}
}

// panicked logs a panic with the digest of the body, which may lead to the same again.
func (s *Server) panicked(x *exchange, p any, stack []byte) *problem {
	s.config.Log.Error("panic", "route", x.request.URL.Path, "digest", x.digest, "panic", fmt.Sprint(p), "stack", string(stack))
	return refuse(http.StatusInternalServerError, "this is a mistake in Poolwright, please report it; the log of the server has the details")
}

// fail answers with a problem.
func (x *exchange) fail(p *problem) {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		x.header().Set("Retry-After", retryAfter)
	case http.StatusRequestTimeout, http.StatusRequestEntityTooLarge:
		x.header().Set("Connection", "close") // the rest of the body is not read
	}
	if p.exit >= 0 {
		x.header().Set(exitCode, strconv.Itoa(p.exit))
	}
	x.send(p.Status, typeProblem, p.json())
}

// exitCode is the header with the exit code of the command.
const exitCode = "Poolwright-Exit-Code"

// send writes the answer, packed if the client takes that.
func (x *exchange) send(status int, mediaType string, text []byte) {
	if x.status = status; status == statusGone {
		return // nobody reads it
	}
	if strings.HasPrefix(mediaType, "text/") {
		mediaType += "; charset=utf-8"
	}
	h := x.header()
	h.Set("Content-Type", mediaType)
	h.Add("Vary", "Accept, Accept-Encoding")
	out := &timedWriter{x, time.Now().Add(x.most)}
	const worthPacking = 1400 // what fits in one packet is not packed
	if len(text) < worthPacking || !web.AcceptsGzip(x.request) {
		h.Set("Content-Length", strconv.Itoa(len(text)))
		x.writer.WriteHeader(status)
		_, _ = out.Write(text)
		return
	}
	h.Set("Content-Encoding", "gzip")
	x.writer.WriteHeader(status)
	packed, _ := gzip.NewWriterLevel(out, gzip.BestSpeed) // the level is a valid one
	if _, err := packed.Write(text); err == nil {
		_ = packed.Close()
	}
}

// timedWriter writes to a client, each part within the stall time: a client that does not
// read must not keep an answer in memory.
type timedWriter struct {
	x   *exchange
	end time.Time
}

func (t *timedWriter) Write(p []byte) (int, error) {
	const part = 64 << 10
	written := 0
	for written < len(p) {
		deadline := time.Now().Add(t.x.stall)
		if t.end.Before(deadline) {
			deadline = t.end
		}
		_ = t.x.control.SetWriteDeadline(deadline) // a connection that is closed fails at Write
		n, err := t.x.writer.Write(p[written:min(written+part, len(p))])
		written += n
		t.x.sent += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// NewLog makes the log of a server: text or json.
func NewLog(w io.Writer, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
