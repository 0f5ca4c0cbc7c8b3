package delegate

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/service"
	"github.com/poolwright/poolwright/test/authority"
)

var function = sync.OnceValue(func() *fn.Function { return fn.New(schema.Load(), systems.All()...) })

// start is the service of poolwright serve without its commands, and its URL.
func start(t *testing.T, config service.Config) string {
	t.Helper()
	config.Function, config.Log, config.Listen = function(), service.NewLog(t.Output(), "text"), "127.0.0.1:0"
	config.Slots, config.Queue, config.Timeout, config.Shutdown = 1, 10, time.Minute, time.Minute
	server, err := service.New(config)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	signals, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- server.Serve(listener, signals) }()
	t.Cleanup(func() {
		signals <- syscall.SIGTERM
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return server.URL(listener)
}

// render renders a package with a mistake.
func render(t *testing.T, o Options) (fn.Result, error) {
	t.Helper()
	s, err := New(function(), o)
	if err != nil {
		t.Fatal(err)
	}
	memory := folder.Memory{"pool.yaml": &document.Source{Name: "prod/pool.yaml", Data: []byte("# A pool\napiVersion: poolwright.io/v1alpha1\nkind: DiskPoolSet\nmetadata: {name: p, namespace: openebs}\nspec: {no: 1}\n")}}
	p, findings, err := folder.Read(folder.Input{Dir: ".", Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	return s.Render(t.Context(), p, findings)
}

// TestCertificates: the authority of the service is checked, and the service gets the certificate that it asks for.
func TestCertificates(t *testing.T) {
	dir, ca := t.TempDir(), authority.New(t)
	ca.Write(t, dir, 10)
	file := func(name string) string { return filepath.Join(dir, name) }
	authority.Put(t, file("ca.crt"), ca.PEM)
	authority.Put(t, file("empty"), nil)
	url := start(t, service.Config{MaxBody: 1 << 20, TLS: service.TLS{Cert: file("tls.crt"), Key: file("tls.key"), ClientCA: file("ca.crt")}})
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"all":            {Options{CA: file("ca.crt"), Cert: file("tls.crt"), Key: file("tls.key")}, ""},
		"no certificate": {Options{CA: file("ca.crt")}, " (--service) answers 401: a client certificate is needed"},
		"no authority":   {Options{}, " (--service) cannot be asked: tls: failed to verify certificate: x509: certificate signed by unknown authority; start poolwright serve there, or correct --service"},
		"empty":          {Options{CA: file("empty")}, " (--service) cannot be asked: --service-ca " + file("empty") + " has no certificate in PEM"},
		"missing":        {Options{CA: file("none")}, " (--service) cannot be asked: --service-ca: open " + file("none") + ": no such file or directory"},
		"no pair":        {Options{Cert: file("tls.crt"), Key: file("empty")}, " (--service) cannot be asked: --service-cert and --service-key: tls: failed to find any PEM data in key input"},
	} {
		c.options.URL, c.options.MaxOutput = url, 1<<20
		result, err := render(t, c.options)
		if c.want == "" {
			if err != nil || len(result.Findings) != 1 || !strings.HasPrefix(result.Findings[0].String(), "prod/pool.yaml:5:7: error: DiskPoolSet openebs/p: spec.no: ") {
				t.Errorf("%s: %v, %v", name, result.Findings, err)
			}
			continue
		}
		if err == nil || err.Error() != strings.TrimPrefix(url, "https://")+c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRefused: what a service answers instead of the output, with its words and its pause.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
		after  time.Duration
	}{
		"busy":      {problem(429, "7", "all slots are taken, and the queue is full; try again later"), "answers 429: all slots are taken, and the queue is full; try again later", 7 * time.Second},
		"ending":    {problem(503, time.Now().Add(time.Minute).UTC().Format(http.TimeFormat), "the server is shutting down"), "answers 503: the server is shutting down", 50 * time.Second},
		"for long":  {problem(503, "99999999", ""), "answers 503: Service Unavailable", longestAfter},
		"before":    {problem(503, "-1", ""), "answers 503: Service Unavailable", 0},
		"too late":  {problem(504, "", "not done after 1m0s"), "answers 504: not done after 1m0s", 0},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }, "answers 302: Found", 0},
		"a page":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "answers 200: OK", 0},
		"no list": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/yaml")
			fmt.Fprint(w, "a: 1\n")
		}, "answers with something else than a ResourceList: the answer:1:1: kind is \"\"; want config.kubernetes.io/v1 (or v1beta1) and kind ResourceList", 0},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/yaml")
			for range 1 << 10 {
				if _, err := w.Write(make([]byte, 8<<10)); err != nil {
					return
				}
			}
		}, "answers with more than ", 0},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "a")
		}, "cannot be asked: unexpected EOF; start poolwright serve there, or correct --service", 0},
	} {
		server := httptest.NewServer(c.answer)
		_, err := render(t, Options{URL: server.URL, MaxOutput: 1 << 20})
		server.Close()
		var why *Error
		if !errors.As(err, &why) || !strings.HasPrefix(why.Message, strings.TrimPrefix(server.URL, "http://")+" (--service) "+c.want) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if why.After < c.after || why.After > c.after+11*time.Second {
			t.Errorf("%s: after %v", name, why.After)
		}
	}
	url := start(t, service.Config{MaxBody: 100})
	if _, err := render(t, Options{URL: url, MaxOutput: 1 << 20}); err == nil || !strings.Contains(err.Error(), "answers 413: the body has more than 100; a server with a larger --max-body takes more") {
		t.Errorf("too large: %v", err)
	}
}

func problem(code int, after, detail string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Retry-After", after)
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"detail": %q}`, detail)
	}
}

// TestUnread: what was not read completely is not sent.
func TestUnread(t *testing.T) {
	s, err := New(function(), Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	broken := []finding.Finding{{Severity: finding.Error, Message: "cannot be read"}}
	result, err := s.Render(t.Context(), folder.Package{}, broken)
	if err != nil || len(result.Findings) != 1 {
		t.Errorf("%v, %v", result.Findings, err)
	}
}

// TestOptions: what is wrong with the flags.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{URL: "https://render.example.com:8443/"}, ""},
		{Options{URL: "http://localhost:8080"}, ""},
		{Options{URL: "http://[::1]:8080"}, ""},
		{Options{URL: "http://render:8080", Hosts: []string{"render"}}, ""},
		{Options{URL: "http://render:8080"}, "--service http://render:8080: without TLS only loopback is used; write https://, or add --allow-host render"},
		{Options{URL: "127.0.0.1:8080"}, `--service "127.0.0.1:8080": write a URL such as https://HOST:PORT, or http://127.0.0.1:PORT`},
		{Options{URL: "https://me:secret@render"}, "--service: write only the scheme, the host and the port of the URL"},
		{Options{URL: "https://render/v1/fn"}, "--service: write only the scheme, the host and the port of the URL"},
		{Options{URL: "https://render", Cert: "a"}, "--service-cert and --service-key need each other: add the one that is missing"},
		{Options{URL: "http://127.0.0.1:1", CA: "a"}, "--service-ca and --service-cert are for https://; leave them out, or correct --service"},
	} {
		_, err := New(nil, c.options)
		if got := fmt.Sprint(err); got != c.want && (c.want != "" || err != nil) {
			t.Errorf("%+v: %s", c.options, got)
		}
	}
}
