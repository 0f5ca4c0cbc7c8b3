package service

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
)

// function is one for all tests: it has no state, and compiles its definitions once.
var function = sync.OnceValue(func() *fn.Function { return fn.New(schema.Load(), systems.All()...) })

// running is a server on loopback.
type running struct {
	*Server
	url     string
	signals chan os.Signal
	ended   chan error
	log     *record
	client  *http.Client
}

// record is a log that is read while it is written.
type record struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// serve starts a server with limits that no test reaches by accident.
func serve(t *testing.T, change func(*Config)) *running {
	t.Helper()
	log := &record{}
	config := Config{
		Function: function(), Build: json.RawMessage("{}\n"), Version: "test", Listen: "127.0.0.1:0",
		MaxBody: 1 << 20, Slots: 4, Queue: 16, Timeout: time.Minute, Shutdown: time.Minute, Stall: time.Minute,
		Log: NewLog(log, "text"),
	}
	change(&config)
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{server, server.URL(listener), make(chan os.Signal, 2), make(chan error, 1), log, &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	go func() { r.ended <- server.Serve(listener, r.signals) }()
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		r.signals <- syscall.SIGTERM
		select {
		case r.signals <- syscall.SIGTERM:
		default: // it is ending
		}
		select {
		case err := <-r.ended:
			t.Log("it ended:", err)
		case <-time.After(time.Minute):
			t.Error("the server does not end")
		}
	})
	return r
}

// answer is what a client sees.
type answer struct {
	code   int
	header http.Header
	text   string
}

// problem reads the answer as one.
func (a answer) problem(t *testing.T) problem {
	t.Helper()
	var p problem
	if got := a.header.Get("Content-Type"); got != typeProblem {
		t.Errorf("Content-Type is %q: %s", got, a.text)
	}
	if err := json.Unmarshal([]byte(a.text), &p); err != nil {
		t.Errorf("%v: %s", err, a.text)
	}
	if p.Status != a.code || p.Title != http.StatusText(a.code) || p.Type != "about:blank" || p.Detail == "" {
		t.Errorf("%d: %s", a.code, a.text)
	}
	return p
}

func (r *running) do(t *testing.T, method, path string, body io.Reader, header ...string) answer {
	t.Helper()
	req, err := http.NewRequest(method, r.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

func (r *running) post(t *testing.T, path, body string, header ...string) answer {
	t.Helper()
	return r.do(t, http.MethodPost, path, strings.NewReader(body), append([]string{"Content-Type", typeYAML}, header...)...)
}

// eventually waits for what another goroutine does.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after a minute: %s", what)
		}
	}
}

const emptyList = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

// blocking is a verb that works until it may end.
type blocking struct {
	begun chan struct{}
	end   chan struct{}
}

func newBlocking() *blocking { return &blocking{make(chan struct{}, 100), make(chan struct{}, 100)} }

func (b *blocking) verb() Verb {
	return Verb{Name: "block", Forms: []Form{{Word: "json", Type: typeJSON}}, Result: []string{}, Run: func(Call) Outcome {
		b.begun <- struct{}{}
		<-b.end
		return Outcome{Out: []byte("[]\n")}
	}}
}

// printer is a verb with all sorts of results.
func printer() Verb {
	return Verb{
		Name: "print", Result: []string{},
		Parameters: []Parameter{{Name: "output", Values: []string{"json", "yaml", "svg"}}, {Name: "how"}, {Name: "object"}, {Name: "all", Bool: true}, {Name: "short", Bool: true}},
		Forms:      []Form{{"json", typeJSON}, {"yaml", typeYAML}, {"svg", "image/svg+xml"}, {"", typeText}},
		Run: func(c Call) Outcome {
			failed := []finding.Finding{{Severity: finding.Error, Message: "bad", Object: finding.Ref{Kind: "A", Name: "a"}}}
			switch c.Values.Get("how") {
			case "panic":
				panic("on purpose")
			case "refused":
				return Outcome{Code: 1, Refused: true, Findings: failed}
			case "verdict":
				return Outcome{Code: 1, Out: []byte("[]\n"), Findings: failed}
			}
			return Outcome{Code: 2, Out: []byte(c.Form.Type + "\n")}
		},
	}
}

func packed(t *testing.T, text []byte) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func (r *running) methodOf(path string) string {
	if found := r.routes[path]; found != nil {
		return found.method
	}
	return ""
}

// TestAnswers shows every status that does not depend on load, and what comes with it.
func TestAnswers(t *testing.T) {
	r := serve(t, func(c *Config) { c.Verbs = []Verb{printer()} })
	var document struct {
		Paths map[string]map[string]struct{ Responses map[string]json.RawMessage }
	}
	if err := json.Unmarshal(r.openAPI(), &document); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path, body string
		header             []string
		code               int
		want               string // part of the answer
		exit, allow        string
	}{
		{"GET", "/healthz", "", nil, 200, "ok\n", "", ""},
		{"GET", "/readyz", "", nil, 200, "ok\n", "", ""},
		{"HEAD", "/readyz", "", nil, 200, "", "", ""},
		{"GET", "/version", "", nil, 200, "{}\n", "", ""},
		{"GET", "/openapi.json", "", nil, 200, `"openapi": "3.1.0"`, "", ""},
		{"GET", "/metrics", "", nil, 200, "poolwright_build_info{version=\"test\"} 1\n", "", ""},
		{"GET", "/", "", nil, 404, "there is no /; see /openapi.json", "", ""},
		{"POST", "/v1/render", "", nil, 404, "there is no /v1/render", "", ""},
		{"GET", "/v1/fn", "", nil, 405, "GET /v1/fn is not supported; use POST", "", "POST"},
		{"OPTIONS", "/v1/fn", "", nil, 405, "", "", "POST"},
		{"POST", "/healthz", "", nil, 405, "use GET, HEAD", "", "GET, HEAD"},
		{"POST", "/v1/fn", emptyList, []string{"Content-Type", "text/plain"}, 415, `Content-Type \"text/plain\" is not supported`, "", ""},
		{"POST", "/v1/fn", emptyList, []string{"Content-Type", ""}, 415, "", "", ""},
		{"POST", "/v1/fn", emptyList, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "", "", ""},
		{"POST", "/v1/fn", emptyList, []string{"Content-Encoding", "br"}, 415, `Content-Encoding \"br\" is not supported; send gzip, or no encoding`, "", ""},
		{"POST", "/v1/fn", emptyList, []string{"Content-Encoding", "gzip"}, 400, "the body is not gzip as its Content-Encoding says", "", ""},
		{"POST", "/v1/fn", emptyList, []string{"Accept", "text/html"}, 406, `Accept \"text/html\" is none of the types that this path has: application/yaml, application/json`, "", ""},
		{"POST", "/v1/fn?x=1", emptyList, nil, 400, `unknown parameter \"x\"; this path has none`, "", ""},
		{"POST", "/v1/print?hov=x", emptyList, nil, 400, `unknown parameter \"hov\" (did you mean \"how\"?); known are output, how, object, all, short`, "", ""},
		{"POST", "/v1/print?how=a&how=b", emptyList, nil, 400, `parameter \"how\" is given 2 times; give it once`, "", ""},
		{"POST", "/v1/print?how=%zz", emptyList, nil, 400, "the query cannot be read: ", "", ""},
		{"POST", "/v1/print?output=png", emptyList, nil, 400, "?output=png: not one of json, yaml, svg", "", ""},
		{"POST", "/v1/print?short=y&all=x", emptyList, nil, 400, "?all=x: not one of true, false", "", ""},
		{"POST", "/v1/print?short&all=false", emptyList, nil, 200, "application/json\n", "2", ""},
		{"POST", "/v1/print", "[]\n", nil, 400, "stdin:1:1: this is not a ResourceList but a list", "1", ""},
		{"POST", "/v1/fn", emptyList, nil, 200, emptyList, "0", ""},
		{"POST", "/v1/fn", emptyList, []string{"Content-Type", "Application/X-YAML; charset=utf-8"}, 200, emptyList, "0", ""},
		{"POST", "/v1/fn", emptyList, []string{"Content-Type", "text/yaml"}, 200, emptyList, "0", ""},
		{"POST", "/v1/fn", emptyList, []string{"Accept", typeJSON}, 200, `{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[]}` + "\n", "0", ""},
		{"POST", "/v1/fn", "kind: A\n---\n", nil, 400, `"line":1,"column":7`, "1", ""},
		{"POST", "/v1/print", emptyList, nil, 200, "application/json\n", "2", ""},
		{"POST", "/v1/print?output=svg", emptyList, []string{"Accept", typeYAML}, 200, "image/svg+xml\n", "2", ""},
		{"POST", "/v1/print", emptyList, []string{"Accept", "image/*;q=0.5, text/plain;q=0.9, */*;q=0.1"}, 200, "text/plain\n", "2", ""},
		{"POST", "/v1/print", emptyList, []string{"Accept", "application/json;q=0, */*"}, 200, "application/yaml\n", "2", ""},
		{"POST", "/v1/print?how=verdict", emptyList, nil, 200, "[]\n", "1", ""},
		{"POST", "/v1/print?how=refused", emptyList, nil, 422, `"findings":[{"severity":"error","object":{"kind":"A","name":"a"},"message":"bad"}]`, "1", ""},
		{"POST", "/v1/print?how=panic", emptyList, nil, 500, "this is a mistake in Poolwright, please report it; the log of the server has the details", "", ""},
	} {
		header := append([]string{"Content-Type", typeYAML}, c.header...)
		a := r.do(t, c.method, c.path, strings.NewReader(c.body), header...)
		if a.code != c.code || !strings.Contains(a.text, c.want) || a.header.Get(exitCode) != c.exit || a.header.Get("Allow") != c.allow {
			t.Errorf("%s %s %v: %d %v\n%s", c.method, c.path, c.header, a.code, a.header, a.text)
		}
		if a.code != 200 && c.method != "HEAD" {
			a.problem(t)
		}
		path, _, _ := strings.Cut(c.path, "?")
		if described := document.Paths[path][strings.ToLower(r.methodOf(path))].Responses[strconv.Itoa(a.code)]; a.code != 404 && described == nil {
			t.Errorf("the OpenAPI document has no %d for %s", a.code, path)
		}
		if a.header.Get("Access-Control-Allow-Origin") != "" || a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: %v", c.method, c.path, a.header)
		}
	}
	for _, want := range []string{
		"level=ERROR msg=panic route=/v1/print digest=sha256:", "on purpose",
		`msg=request method=POST route=/v1/fn code=200`, `method=POST route=other code=404`,
	} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, r.log)
		}
	}
	metrics := r.do(t, "GET", "/metrics", nil).text
	for _, want := range []string{
		`poolwright_http_requests_total{code="404",method="POST",path="other"} 1`,
		`poolwright_http_requests_total{code="405",method="other",path="/v1/fn"} 1`,
		`poolwright_http_request_duration_seconds_count{path="/v1/print"}`,
		`poolwright_findings_total{severity="error"} 2`,
		"poolwright_http_request_size_bytes_count ", "poolwright_http_response_size_bytes_count ",
		"poolwright_http_requests_in_flight 1\n", "poolwright_http_requests_queued 0\n",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics have no %s:\n%s", want, metrics)
		}
	}
}

// TestGzip: both ways, and the same bytes.
func TestGzip(t *testing.T) {
	r := serve(t, func(*Config) {})
	list := emptyList[:len(emptyList)-len("items: []\n")] + "items:\n" + strings.Repeat("- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", 1)
	for range 100 {
		list += "# a comment that makes it long\n"
	}
	plain := r.post(t, "/v1/fn", list)
	a := r.do(t, "POST", "/v1/fn", packed(t, []byte(list)), "Content-Type", typeYAML, "Content-Encoding", "gzip", "Accept-Encoding", "gzip")
	if a.header.Get("Content-Encoding") != "gzip" || len(a.text) > len(plain.text)/2 {
		t.Fatalf("%v, %d bytes of %d", a.header, len(a.text), len(plain.text))
	}
	unpacked, err := gzip.NewReader(strings.NewReader(a.text))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(unpacked); err != nil || string(text) != plain.text {
		t.Errorf("%v:\n%s", err, text)
	}
	if a := r.post(t, "/v1/fn", list, "Accept-Encoding", "gzip;q=0"); a.header.Get("Content-Encoding") != "" {
		t.Errorf("packed although it is not wanted: %v", a.header)
	}
}

// TestPlainHTTP: other machines need TLS, or consent.
func TestPlainHTTP(t *testing.T) {
	for listen, fails := range map[string]bool{"127.0.0.1:0": false, "localhost:0": false, "[::1]:0": false, ":0": true, "0.0.0.0:0": true, "192.0.2.1:0": true, "nowhere": true} {
		for _, allowed := range []bool{false, true} {
			if strings.HasPrefix(listen, "192") && allowed || listen == "[::1]:0" && !hasIPv6() {
				continue // not an address of this machine
			}
			s, err := New(Config{Function: function(), Listen: listen, AllowPlain: allowed, Slots: 1})
			if err != nil {
				t.Fatal(err)
			}
			l, err := s.Listen()
			if l != nil {
				_ = l.Close()
			}
			if want := fails && !allowed || listen == "nowhere"; want != (err != nil) {
				t.Errorf("%s, allowed %v: %v", listen, allowed, err)
			}
		}
	}
}

func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		_ = l.Close()
	}
	return err == nil
}
