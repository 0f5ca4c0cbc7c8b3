package registry_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	ocireg "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/poolwright/poolwright/controller/artifact"
	"github.com/poolwright/poolwright/controller/registry"
	"github.com/poolwright/poolwright/controller/remote"
)

const (
	password = "s3cr3t-canary/0818"
	token    = "t0ken-canary-0819"
)

// server is a registry that looks at each request first.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	before func(w http.ResponseWriter, r *http.Request) (done bool)
	asked  []string
}

func serve(t *testing.T, start func(http.Handler) *httptest.Server) *server {
	t.Helper()
	s := &server{}
	inner := ocireg.New(ocireg.Logger(log.New(io.Discard, "", 0)))
	s.Server = start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		before := s.before
		s.mu.Unlock()
		if before == nil || !before(w, r) {
			inner.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// port is that of a server.
func (s *server) port() string { return s.URL[strings.LastIndexByte(s.URL, ':')+1:] }

func (s *server) requests() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.asked, "\n")
}

func open(t *testing.T, host string, rules remote.Rules, c registry.Credentials) *registry.Tag {
	t.Helper()
	a, err := registry.Parse("oci://"+host+"/storage/prod", "latest")
	if err != nil {
		t.Fatal(err)
	}
	rules.MaxSource = 1 << 20
	tag, err := registry.Open(a, &rules, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tag.Close)
	return tag
}

func user() registry.Credentials {
	return registry.Credentials{AuthConfig: authn.AuthConfig{Username: "ann", Password: password}}
}

func loopback() remote.Rules { return remote.Rules{Hosts: []string{"127.0.0.1"}} }

func image(t *testing.T, text string) v1.Image {
	t.Helper()
	img, err := artifact.New(map[string][]byte{"rendered/a.yaml": []byte(text)}, artifact.Origin{Output: "sha256:00"})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func push(t *testing.T, tag *registry.Tag, text string) string {
	t.Helper()
	digest, err := tag.Push(t.Context(), image(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// reason wants an error with a reason and words, without a credential in it.
func reason(t *testing.T, err error, want remote.Reason, words string) {
	t.Helper()
	var why *remote.Error
	if !errors.As(err, &why) || why.Reason != want || !strings.Contains(why.Message, words) {
		t.Errorf("got %v, want %s: %s", err, want, words)
	}
	if err != nil {
		for _, secret := range []string{password, url.QueryEscape(password), base64.StdEncoding.EncodeToString([]byte("ann:" + password)), token} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("a credential is in %q", err)
			}
		}
	}
}

// TestTag pushes, moves and reads.
func TestTag(t *testing.T) {
	s := serve(t, httptest.NewServer)
	tag := open(t, "127.0.0.1:"+s.port(), loopback(), registry.Credentials{})
	if at, err := tag.Head(t.Context()); err != nil || at != "" {
		t.Fatalf("at first %q, %v", at, err)
	}
	one, two := push(t, tag, "one\n"), push(t, tag, "two\n")
	if at, err := tag.Head(t.Context()); err != nil || at != "" {
		t.Errorf("pushed by digest, and the tag has %q, %v", at, err)
	}
	if err := tag.Move(t.Context(), "", one); err != nil {
		t.Fatal(err)
	}
	reason(t, tag.Move(t.Context(), "", two), remote.Moved, "tag latest has moved to another artifact")
	if err := tag.Move(t.Context(), "", one); err != nil {
		t.Errorf("it has it: %v", err)
	}
	if err := tag.Move(t.Context(), one, two); err != nil {
		t.Fatal(err)
	}
	files, from, found, err := tag.Pull(t.Context(), two, 1<<20, func(name string) bool { return name == "rendered/a.yaml" })
	if err != nil || !found || from.Output != "sha256:00" || string(files["rendered/a.yaml"]) != "two\n" {
		t.Errorf("%q, %+v, %v, %v", files, from, found, err)
	}
	if _, _, found, err := tag.Pull(t.Context(), "sha256:"+strings.Repeat("0", 64), 1<<20, nil); found || err != nil {
		t.Errorf("what is not there: %v, %v", found, err)
	}
}

// TestTooLarge: an artifact is read into as little memory as it needs.
func TestTooLarge(t *testing.T) {
	s := serve(t, httptest.NewServer)
	tag := open(t, "127.0.0.1:"+s.port(), loopback(), registry.Credentials{})
	one := push(t, tag, strings.Repeat("one\n", 1<<17))
	for most, want := range map[int64]remote.Reason{10: remote.TooLarge, 1 << 19: "", 1<<19 - 1: remote.TooLarge} {
		_, _, _, err := tag.Pull(t.Context(), one, most, func(string) bool { return true })
		var why *remote.Error
		if errors.As(err, &why) != (want != "") || why != nil && why.Reason != want {
			t.Errorf("%d: %v", most, err)
		}
	}
	huge := push(t, tag, strings.Repeat("one\n", 1<<19))
	_, _, _, err := tag.Pull(t.Context(), huge, 1<<20, func(string) bool { return true })
	reason(t, err, remote.Refused, "is larger than is read; publish the package to another tag, or start the controller with a larger --max-source")
}

// TestMoveDecides: whatever the registry answers, the tag decides.
func TestMoveDecides(t *testing.T) {
	s := serve(t, httptest.NewServer)
	tag := open(t, "127.0.0.1:"+s.port(), loopback(), registry.Credentials{})
	one, two, three := push(t, tag, "one\n"), push(t, tag, "two\n"), push(t, tag, "three\n")
	if err := tag.Move(t.Context(), "", one); err != nil {
		t.Fatal(err)
	}
	onPut := func(do func(w http.ResponseWriter, r *http.Request)) {
		s.mu.Lock()
		defer s.mu.Unlock()
		inner := s.Config.Handler
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "/manifests/latest") {
				return false
			}
			s.mu.Lock()
			s.before = nil
			s.mu.Unlock()
			rec := httptest.NewRecorder()
			inner.ServeHTTP(rec, r)
			do(w, r)
			return true
		}
	}
	onPut(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	if err := tag.Move(t.Context(), one, two); err != nil {
		t.Errorf("the tag was moved, and then: %v", err)
	}
	onPut(func(w http.ResponseWriter, _ *http.Request) {
		other := open(t, "127.0.0.1:"+s.port(), loopback(), registry.Credentials{})
		if err := other.Move(t.Context(), one, three); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusCreated)
	})
	reason(t, tag.Move(t.Context(), two, one), remote.Moved, "tag latest has moved")
	s.mu.Lock()
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			http.Error(w, `{"errors": [{"code": "TAG_INVALID", "message": "latest is immutable for `+password+`"}]}`, http.StatusPreconditionFailed)
		}
		return r.Method == http.MethodPut
	}
	s.mu.Unlock()
	withUser := open(t, "127.0.0.1:"+s.port(), loopback(), user())
	reason(t, withUser.Move(t.Context(), three, one), remote.Failed, "refuses a request for storage/prod: 412 Precondition Failed TAG_INVALID: latest is immutable for ***")
}

// TestCorrupt: what another sends than was asked for is not read.
func TestCorrupt(t *testing.T) {
	s := serve(t, httptest.NewServer)
	tag := open(t, "127.0.0.1:"+s.port(), loopback(), registry.Credentials{})
	one := push(t, tag, "one\n")
	for name, answer := range map[string]string{"other": "x", "nothing": ""} {
		s.mu.Lock()
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/blobs/") {
				_, _ = io.WriteString(w, answer)
				return true
			}
			return false
		}
		s.mu.Unlock()
		_, _, _, err := tag.Pull(t.Context(), one, 1<<20, func(string) bool { return true })
		var why *remote.Error
		if !errors.As(err, &why) || why.Reason != remote.Failed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhereItLeads: a service of tokens gets the credentials in the domain of the registry alone, and no
// redirect to another server is followed, unless its host is allowed by name; then without credentials.
func TestWhereItLeads(t *testing.T) {
	var stored []string
	store := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stored = append(stored, r.Method+" "+r.Header.Get("Authorization"))
	}))
	defer store.Close()
	s := serve(t, httptest.NewTLSServer)
	port := func(server string) string { return server[strings.LastIndexByte(server, ':'):] }
	realm := ""
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		switch auth := r.Header.Get("Authorization"); {
		case r.URL.Path == "/token":
			_, got, _ := r.BasicAuth()
			fmt.Fprintf(w, `{"token": %q, "was": %q}`, token, got)
			return true
		case auth != "Bearer "+token:
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="s"`, realm))
			http.Error(w, auth, http.StatusUnauthorized)
			return true
		case strings.Contains(r.URL.Path, "/blobs/") && r.Method == http.MethodGet:
			http.Redirect(w, r, "http://localhost"+port(store.URL)+"/file", http.StatusTemporaryRedirect)
			return true
		case r.Method == http.MethodDelete || r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/manifests/latest"):
			http.Error(w, "no "+auth, http.StatusForbidden)
			return true
		}
		return false
	}
	c := user()
	c.CA = pemOf(s.Certificate().Raw)
	home := "127.0.0.1:" + s.port()
	here := []string{home}

	realm = s.URL
	tag := open(t, home, remote.Rules{Hosts: here}, c)
	one := push(t, tag, "one\n")
	reason(t, tag.Move(t.Context(), "", one), remote.Unknown, "does not permit this to the user of the credentials: 403 Forbidden")
	_, _, _, err := tag.Pull(t.Context(), one, 1<<20, func(string) bool { return true })
	reason(t, err, remote.Refused, "localhost"+port(store.URL)+" is to be asked by http, which anybody on the way can read and change; let it serve https, or start the controller with --allow-host localhost")
	if len(stored) != 0 {
		t.Errorf("asked %q", stored)
	}
	_, _, _, err = open(t, home, remote.Rules{Hosts: append(here, "localhost")}, c).Pull(t.Context(), one, 1<<20, func(string) bool { return true })
	reason(t, err, remote.Failed, "") // the store is empty
	if len(stored) != 1 || stored[0] != "GET " {
		t.Errorf("the store was asked %q", stored)
	}

	realm = "https://tokens.example.org"
	_, err = open(t, home, remote.Rules{Hosts: here}, c).Head(t.Context())
	reason(t, err, remote.Refused, "names tokens.example.org as its service of tokens, which is in another domain, so that it does not get the credentials; correct spec.publish.oci.url, or start the controller with --allow-host tokens.example.org")
	store302 := "https://store.example.org"
	realm = s.URL
	s.mu.Lock()
	inner := s.before
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			http.Redirect(w, r, store302+"/file", http.StatusFound)
			return true
		}
		return inner(w, r)
	}
	s.mu.Unlock()
	_, _, _, err = open(t, home, remote.Rules{Hosts: here}, c).Pull(t.Context(), one, 1<<20, func(string) bool { return true })
	reason(t, err, remote.Refused, "redirects to store.example.org, which is not followed; correct spec.publish.oci.url, or start the controller with --allow-host store.example.org")
	for line := range strings.Lines(s.requests()) {
		if strings.Contains(line, "Basic ") && !strings.HasPrefix(line, "GET /token ") {
			t.Errorf("the password was sent with %s", line)
		}
	}
}

// TestRefused: loopback and http are for hosts that are allowed by name.
func TestRefused(t *testing.T) {
	s := serve(t, httptest.NewServer)
	_, err := open(t, "127.0.0.1:"+s.port(), remote.Rules{}, user()).Head(t.Context())
	reason(t, err, remote.Refused, "127.0.0.1 is 127.0.0.1, a loopback address; correct spec.publish.oci.url, or start the controller with --allow-host 127.0.0.1")
	if got := s.requests(); got != "" {
		t.Errorf("asked %q", got)
	}
	tls := serve(t, httptest.NewTLSServer)
	_, err = open(t, "127.0.0.1:"+tls.port(), remote.Rules{Hosts: []string{"127.0.0.1:" + tls.port()}}, user()).Head(t.Context())
	reason(t, err, remote.Failed, "")
	if strings.Contains(tls.requests(), "Basic ") {
		t.Errorf("the password was sent to a server whose certificate is unknown: %s", tls.requests())
	}
	_, err = registry.Open(registry.Address{}, &remote.Rules{}, registry.Credentials{CA: []byte("none")})
	reason(t, err, remote.Unknown, "ca.crt of the Secret that spec.publish.oci.secretRef names has no certificate in PEM; correct it")
	s.mu.Lock()
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		http.NotFound(w, nil)
		return true
	}
	s.mu.Unlock()
	_, err = open(t, "127.0.0.1:"+s.port(), loopback(), user()).Head(t.Context())
	reason(t, err, remote.Failed, "refuses a request for storage/prod: 404 Not Found")
}

// TestAddress: one tag has one address.
func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"oci://Registry.example.com:443/a/b": "oci://registry.example.com/a/b:v1",
		"oci://registry.example.com:5000/a/": "oci://registry.example.com:5000/a:v1",
		"oci://docker.io/team/storage":       "oci://index.docker.io/team/storage:v1",
		"https://registry.example.com/a":     "",
		"oci://ann:x@registry.example.com/a": "",
		"oci://registry.example.com":         "",
		"oci://registry.example.com/A":       "",
	} {
		a, err := registry.Parse(in, "v1")
		if want == "" {
			reason(t, err, remote.Refused, "spec.publish.oci.url cannot be read; write one such as oci://registry.example.com/storage/prod, in small letters")
		} else if err != nil || a.String() != want {
			t.Errorf("%s: %s, %v", in, a, err)
		}
	}
}

// TestReadSecret: a configuration of Docker has credentials for many servers.
func TestReadSecret(t *testing.T) {
	auth := base64.StdEncoding.EncodeToString([]byte("ann:" + password))
	config := func(text string) map[string][]byte {
		return map[string][]byte{".dockerconfigjson": []byte(`{"auths": {` + text + `}}`), "ca.crt": []byte("ca")}
	}
	for _, c := range []struct {
		name, url string
		data      map[string][]byte
		want      string // user:password; ! and words of an error
	}{
		{"plain", "oci://registry.example.com/a", map[string][]byte{"username": []byte("ann\n"), "password": []byte("p\n")}, "ann:p"},
		{"nothing", "oci://registry.example.com/a", nil, ":"},
		{"a host", "oci://registry.example.com/a", config(`"registry.example.com": {"username": "ann", "password": "p"}, "other": {}`), "ann:p"},
		{"auth", "oci://registry.example.com/a", config(`"https://registry.example.com/v2/": {"auth": "` + auth + `"}`), "ann:" + password},
		{"Docker", "oci://docker.io/a/b", config(`"https://index.docker.io/v1/": {"auth": "` + auth + `"}`), "ann:" + password},
		{"the longest", "oci://registry.example.com/a/b/c", config(`"registry.example.com/a/b": {"username": "b", "password": "p"}, "registry.example.com/a": {"username": "a", "password": "p"}, "registry.example.com/a/bb": {}`), "b:p"},
		{"another port", "oci://registry.example.com:5000/a", config(`"registry.example.com": {}`), "!has nothing for registry.example.com:5000; add it under auths"},
		{"broken", "oci://registry.example.com/a", config(`"` + password), "!.dockerconfigjson of the Secret that spec.publish.oci.secretRef names cannot be read; write the JSON that docker login writes"},
	} {
		a, err := registry.Parse(c.url, "latest")
		if err != nil {
			t.Fatal(err)
		}
		got, err := registry.ReadSecret(c.data, a)
		if words, failed := strings.CutPrefix(c.want, "!"); failed {
			reason(t, err, remote.Unknown, words)
		} else if err != nil || got.Username+":"+got.Password != c.want {
			t.Errorf("%s: %s:%s, %v", c.name, got.Username, got.Password, err)
		}
	}
}
