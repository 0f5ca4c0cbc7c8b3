// Package service offers the function and the verbs that read a package over HTTP. It has no
// state, no cluster and no disk: an answer depends on the body of its request alone.
//
// What an endpoint computes comes from outside: fn.Function for /v1/fn, and a Verb for each
// command. The package itself has what HTTP needs: which forms a client may ask for, how much
// work is accepted, how a body is read, certificates, metrics, logs, and the end of the process.
package service

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/service/budget"
)

// Config is what a server offers, and its limits.
type Config struct {
	Function *fn.Function
	Verbs    []Verb
	Build    json.RawMessage // the answer of /version
	Version  string          // the same for the metrics

	Listen     string // HOST:PORT
	AllowPlain bool   // HTTP without TLS is also for clients on other machines
	TLS        TLS

	MaxBody  int64         // bytes of a body, after gunzip
	Slots    int           // requests that are worked on at the same time
	Queue    int           // requests that wait for a slot
	Timeout  time.Duration // of a request, from when it has a slot
	Shutdown time.Duration // for what runs when the process is to end
	Stall    time.Duration // until the next bytes of a body; 0 for 10 seconds
	Reread   time.Duration // between two looks at the certificates; 0 for 5 seconds

	Log *slog.Logger
}

// Verb is a command that reads a package, as an endpoint.
type Verb struct {
	Name, Short string
	Parameters  []Parameter
	Forms       []Form // what it can print; the first is the default
	Result      any    // a value of the type that it prints as JSON, for the OpenAPI document
	Listed      bool   // its JSON has the findings
	Run         func(Call) Outcome
}

// Parameter is a query parameter.
type Parameter struct {
	Name, Usage, Default string
	Values               []string // the only ones, nil for any
	Bool                 bool
	Repeats              bool // it may be given several times, in order
}

// Form is one way to print a result.
type Form struct {
	Word string // the value of ?output=, "" if it has none
	Type string // the media type
}

// Call is one request to a verb.
type Call struct {
	List   *krm.ResourceList
	Values url.Values // by the names of Parameters
	Form   Form
}

// Outcome is what a verb did.
type Outcome struct {
	Out      []byte
	Code     int               // the exit code of the command
	Refused  bool              // the findings forbid a render
	Findings []finding.Finding // what the command reports
	Err      error             // why there is no result, other than the findings
}

// Server answers requests.
type Server struct {
	config  Config
	routes  map[string]*route
	slots   slots
	budget  *budget.Budget // of all large bodies together
	metrics *metrics
	openAPI func() []byte
	certs   *certificates // nil without TLS

	mu       sync.Mutex
	active   int           // requests for work
	draining atomic.Bool   // no new work is accepted
	idle     chan struct{} // closed when draining and active is 0
}

// New makes a server. The error is about its certificates.
func New(config Config) (*Server, error) {
	if config.Stall == 0 {
		config.Stall = 10 * time.Second
	}
	if config.Reread == 0 {
		config.Reread = 5 * time.Second
	}
	s := &Server{
		config: config,
		slots:  slots{free: make(chan struct{}, config.Slots), most: int64(config.Queue)},
		budget: budget.New(2 * config.MaxBody), // two of the largest
		idle:   make(chan struct{}),
	}
	s.metrics = newMetrics(s, config.Version)
	s.routes = s.table()
	s.openAPI = sync.OnceValue(func() []byte { return s.describe() })
	if config.TLS.Cert == "" {
		return s, nil
	}
	var err error
	s.certs, err = readCertificates(config.TLS)
	return s, err
}

// begin counts a request for work; false if no new work is accepted.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		return false
	}
	s.active++
	return true
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active--; s.active == 0 && s.draining.Load() {
		close(s.idle)
	}
}

// drain accepts no new work. The channel is closed once nothing runs.
func (s *Server) drain() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining.Store(true)
	if s.active == 0 {
		close(s.idle)
	}
	return s.idle
}

// running is the number of requests for work.
func (s *Server) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

// route is a path with its only method.
type route struct {
	path, method, summary string
	probe                 bool  // answers without a client certificate
	codes                 []int // that it answers with, beside 404 and 405
	types                 []string
	work                  *endpoint // nil for what is only read
	serve                 func(*exchange)
}

// table lists the routes.
func (s *Server) table() map[string]*route {
	routes := []*route{
		{path: "/healthz", method: http.MethodGet, summary: "Whether the process works", probe: true, codes: []int{200}, types: []string{typeText}, serve: func(x *exchange) { x.send(200, typeText, []byte("ok\n")) }},
		{path: "/readyz", method: http.MethodGet, summary: "Whether new work is accepted", probe: true, codes: []int{200, 503}, types: []string{typeText}, serve: s.ready},
		{path: "/metrics", method: http.MethodGet, summary: "Metrics in the format of Prometheus", codes: []int{200}, types: []string{typeText}, serve: s.metrics.serve},
		{path: "/openapi.json", method: http.MethodGet, summary: "This document", codes: []int{200}, types: []string{typeJSON}, serve: func(x *exchange) { x.send(200, typeJSON, s.openAPI()) }},
		{path: "/version", method: http.MethodGet, summary: "The version, as poolwright version -o json", codes: []int{200}, types: []string{typeJSON}, serve: func(x *exchange) { x.send(200, typeJSON, s.config.Build) }},
	}
	work := []*endpoint{s.function()}
	for i := range s.config.Verbs {
		work = append(work, s.verb(&s.config.Verbs[i]))
	}
	for _, e := range work {
		routes = append(routes, &route{
			path: "/v1/" + e.name, method: http.MethodPost, summary: e.short, work: e,
			codes: []int{200, 400, 406, 408, 413, 415, 422, 429, 500, 503, 504},
			serve: func(x *exchange) { s.work(x, e) },
		})
	}
	table := make(map[string]*route, len(routes))
	for _, r := range routes {
		if s.config.TLS.ClientCA != "" && !r.probe {
			r.codes = append(r.codes, http.StatusUnauthorized)
		}
		table[r.path] = r
	}
	return table
}

func (s *Server) ready(x *exchange) {
	if s.draining.Load() {
		x.fail(refuse(http.StatusServiceUnavailable, shuttingDown))
		return
	}
	x.send(http.StatusOK, typeText, []byte("ok\n"))
}
