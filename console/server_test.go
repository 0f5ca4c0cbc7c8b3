package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema"
)

// running is a console on loopback.
type running struct {
	url, token string
	dir        string // of the package
	client     *http.Client
	log        *safeBuffer
	now        time.Time // of its clock, zero for the time
}

// safeBuffer is written by the server and read by the test.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// copied is a package of the repository in a Git repository of its own.
func copied(t *testing.T, from string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "storage")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", "-A")
	git(t, dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "-qm", "Add the package\n\nPoolwright-Risk: safe")
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// serve runs a console, and signs in.
func serve(t *testing.T, dir string) *running {
	t.Helper()
	r := &running{dir: dir, log: &safeBuffer{}}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	r.client = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	s, err := New(Config{
		Function: fn.New(schema.Load(), systems.All()...), Dir: dir, Listen: "127.0.0.1:0", Version: "v1", Log: slog.New(slog.NewTextHandler(r.log, nil)),
		Now: func() time.Time {
			if r.now.IsZero() {
				return time.Now()
			}
			return r.now
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	signals, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- s.Serve(l, signals) }()
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		signals <- os.Interrupt
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	link := s.Login(l)
	before, token, _ := strings.Cut(link, "/login?token=")
	r.url, r.token = before, token
	if a := r.get(t, "/login?token="+token); a.code != http.StatusSeeOther || a.header.Get("Location") != "/" {
		t.Fatalf("login: %d %v", a.code, a.header)
	}
	return r
}

// answer is what came back.
type answer struct {
	code   int
	header http.Header
	text   string
}

func (r *running) get(t *testing.T, path string) answer { return r.do(t, "GET", path, nil) }

// do sends a request with the cookies of the browser, and headers as "Name: value".
func (r *running) do(t *testing.T, method, path string, headers []string) answer {
	t.Helper()
	return r.send(t, r.client, method, path, headers)
}

func (r *running) send(t *testing.T, client *http.Client, method, path string, headers []string) answer {
	t.Helper()
	req, err := http.NewRequest(method, r.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if req.Header.Set(name, value); name == "Host" {
			req.Host = value
		}
	}
	res, err := client.Do(req)
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

// stranger is a client without a cookie.
func stranger() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// TestGuards is who may ask what: wrong hosts, other sites, and who is not signed in.
func TestGuards(t *testing.T) {
	r := serve(t, copied(t, "../examples/localvolumes"))
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(r.url, "http://"))
	browser, nobody := r.client, stranger()
	for _, c := range []struct {
		name         string
		client       *http.Client
		method, path string
		headers      []string
		code         int
		problem      string // the code of the problem, or a part of the page
	}{
		{"signed in", browser, "GET", "/", nil, 200, "<h1>Overview</h1>"},
		{"head", browser, "HEAD", "/disks", nil, 200, ""},
		{"another name of this machine", browser, "GET", "/healthz", []string{"Host: localhost:" + port}, 200, "ok"},
		{"IPv6", browser, "GET", "/healthz", []string{"Host: [::1]:" + port}, 200, "ok"},
		{"a name that was pointed here", browser, "GET", "/api/v1/disks", []string{"Host: evil.example.com:" + port}, 403, `"code":"host"`},
		{"the same for what needs no login", nobody, "GET", "/healthz", []string{"Host: evil.example.com"}, 403, `"code":"host"`},
		{"another port", browser, "GET", "/api/v1/disks", []string{"Host: 127.0.0.1:1"}, 403, `"code":"host"`},
		{"without a port", browser, "GET", "/", []string{"Host: 127.0.0.1"}, 403, "is not the console"},
		{"nobody", nobody, "GET", "/", nil, 401, "<h1>Sign in</h1>"},
		{"nobody asks the API", nobody, "GET", "/api/v1/disks", nil, 401, `"code":"unauthenticated"`},
		{"nobody learns what there is", nobody, "GET", "/no/such/page", nil, 401, "<h1>Sign in</h1>"},
		{"a cookie of another console", nobody, "GET", "/api/v1/disks", []string{"Cookie: poolwright-1=" + r.token}, 401, `"code":"unauthenticated"`},
		{"the token as a cookie", nobody, "GET", "/api/v1/disks", []string{"Cookie: poolwright-" + port + "=" + r.token}, 401, `"code":"unauthenticated"`},
		{"the token in the query", nobody, "GET", "/api/v1/disks?token=" + r.token, nil, 401, `"code":"unauthenticated"`},
		{"a program", nobody, "GET", "/api/v1/disks", []string{"Authorization: Bearer " + r.token}, 200, `"total":9`},
		{"a wrong token", nobody, "GET", "/api/v1/disks", []string{"Authorization: Bearer x"}, 401, `"code":"unauthenticated"`},
		{"basic", nobody, "GET", "/api/v1/disks", []string{"Authorization: Basic " + r.token}, 401, `"code":"unauthenticated"`},
		{"a wrong token beats the cookie", browser, "GET", "/api/v1/disks", []string{"Authorization: Bearer x"}, 401, `"code":"unauthenticated"`},
		{"no token", nobody, "GET", "/login", nil, 401, "which has a token"},
		{"a write of another site", browser, "POST", "/api/v1/disks", []string{"Origin: http://evil.example.com"}, 403, `"code":"origin"`},
		{"of another port", browser, "POST", "/api/v1/disks", []string{"Origin: http://127.0.0.1:1"}, 403, `"code":"origin"`},
		{"of a file", browser, "POST", "/api/v1/disks", []string{"Origin: null"}, 403, `"code":"origin"`},
		{"with the right token, from another site", nobody, "POST", "/api/v1/disks", []string{"Origin: http://evil.example.com", "Authorization: Bearer " + r.token}, 403, `"code":"origin"`},
		{"without an origin", browser, "POST", "/api/v1/disks", nil, 403, `"code":"origin"`},
		{"of a site beside it", browser, "POST", "/api/v1/disks", []string{"Sec-Fetch-Site: same-site"}, 403, `"code":"origin"`},
		{"of a page of the console", browser, "POST", "/api/v1/disks", []string{"Origin: " + r.url}, 405, `"code":"method"`},
		{"of the console, without an origin", browser, "DELETE", "/api/v1/disks", []string{"Sec-Fetch-Site: same-origin"}, 405, `"code":"method"`},
		{"of a program", nobody, "PUT", "/api/v1/disks", []string{"Authorization: Bearer " + r.token}, 405, `"code":"method"`},
		{"preflight", browser, "OPTIONS", "/api/v1/disks", []string{"Origin: http://evil.example.com"}, 403, `"code":"origin"`},
	} {
		a := r.send(t, c.client, c.method, c.path, c.headers)
		if a.code != c.code || !strings.Contains(a.text, c.problem) {
			t.Errorf("%s: %d, want %d with %s:\n%s", c.name, a.code, c.code, c.problem, a.text)
		}
		want := map[string]string{
			"Content-Security-Policy":    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
			"X-Content-Type-Options":     "nosniff",
			"Referrer-Policy":            "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin",
			"Cache-Control":              "no-store",
		}
		if c.code == 405 {
			want["Allow"] = "GET, HEAD"
		}
		for name, value := range want {
			if got := a.header.Get(name); got != value {
				t.Errorf("%s: %s: %q, want %q", c.name, name, got, value)
			}
		}
		if got := a.header.Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("%s: CORS: %s", c.name, got)
		}
	}
	if log := r.log.String(); strings.Contains(log, r.token) || !strings.Contains(log, "path=/login") {
		t.Errorf("the log has the token, or no request:\n%s", log)
	}
}

// TestSessions: a cookie that no script reads, for eight hours; the tenth wrong token in a minute is refused unread,
// and the right one still signs in.
func TestSessions(t *testing.T) {
	r := serve(t, copied(t, "../examples/localvolumes"))
	a := r.send(t, stranger(), "GET", "/login?token="+r.token, nil)
	cookie := a.header.Get("Set-Cookie")
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(r.url, "http://"))
	for _, part := range []string{"poolwright-" + port + "=", "HttpOnly", "SameSite=Strict", "Max-Age=28800", "Path=/"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("%s: no %s", cookie, part)
		}
	}
	if strings.Contains(cookie, r.token) {
		t.Error("the cookie is the token")
	}
	for i := range 12 {
		want := 401
		if i >= 9 {
			want = 429
		}
		if a := r.send(t, stranger(), "GET", "/login?token=wrong", nil); a.code != want || want == 429 && a.header.Get("Retry-After") == "" {
			t.Errorf("wrong token %d: %d %v", i+1, a.code, a.header)
		}
	}
	if a := r.send(t, stranger(), "GET", "/login?token="+r.token, nil); a.code != 303 {
		t.Errorf("the right token: %d", a.code)
	}
	r.now = time.Now().Add(8*time.Hour + time.Second)
	if a := r.get(t, "/"); a.code != 401 {
		t.Errorf("after eight hours: %d", a.code)
	}
	if a := r.send(t, stranger(), "GET", "/login?token=wrong", nil); a.code != 401 {
		t.Errorf("a wrong token after a minute: %d", a.code)
	}
}

// TestLimits: a header of more than 16 KiB is refused.
func TestLimits(t *testing.T) {
	r := serve(t, copied(t, "../examples/localvolumes"))
	for size, want := range map[int]int{15 << 10: 200, 17 << 10: 431} {
		if a := r.do(t, "GET", "/healthz", []string{"X-Long: " + strings.Repeat("x", size)}); a.code != want {
			t.Errorf("a header of %d bytes: %d, want %d", size, a.code, want)
		}
	}
}

// TestAddresses: only this machine may ask.
func TestAddresses(t *testing.T) {
	for listen, want := range map[string]string{
		"0.0.0.0:0": "--listen 0.0.0.0:0: other machines could use the console; write an address of this machine alone, such as 127.0.0.1:8081",
		":0":        "--listen :0: other machines could use the console",
		"nowhere":   "--listen nowhere: address nowhere: missing port in address; write HOST:PORT, such as 127.0.0.1:8081",
	} {
		s, err := New(Config{Function: fn.New(schema.Load(), systems.All()...), Dir: t.TempDir(), Listen: listen, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Listen(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", listen, err, want)
		}
	}
	if _, err := New(Config{Function: fn.New(schema.Load(), systems.All()...), Dir: filepath.Join(t.TempDir(), "none")}); err == nil || !strings.HasSuffix(err.Error(), "no such folder") {
		t.Errorf("no folder: %v", err)
	}
}

// decode reads JSON.
func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return value
}

// write puts a file into the package.
func (r *running) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// nodeInventory is an inventory of one node with so many empty disks.
func nodeInventory(disks int) string {
	var b strings.Builder
	b.WriteString("apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata:\n  name: nodeinventories\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\nitems:\n- apiVersion: poolwright.io/v1alpha1\n  kind: NodeInventory\n  metadata:\n    name: worker-1\n  status:\n    disks:\n")
	for i := range disks {
		fmt.Fprintf(&b, "    - {path: /dev/sd%04d, links: [], serial: SER%04d, size: %d, rotational: true, content: [], partitions: [], mounts: [], usable: true}\n", i, i, int64(i+1)<<30)
	}
	return b.String()
}
