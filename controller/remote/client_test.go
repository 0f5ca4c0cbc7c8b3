package remote_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/controller/remote"
)

// TestClient: the API of a forge is asked under the rules of the source.
func TestClient(t *testing.T) {
	var asked []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.Method+" other") }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/x", http.StatusFound)
		case "/near":
			http.Redirect(w, r, "/there", http.StatusFound)
		}
	}))
	defer server.Close()
	secret := remote.Credentials{Password: "s3cr3t-canary/4711"}
	ask := func(rules remote.Rules, method, path string) (int, error) {
		t.Helper()
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		c, err := rules.Client(u, "spec.publish.apiURL", secret)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		req, err := http.NewRequest(method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Do(req)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		return res.StatusCode, nil
	}
	refused := func(words string, err error) {
		t.Helper()
		var why *remote.Error
		if !errors.As(err, &why) || why.Reason != remote.Refused || !strings.Contains(why.Message, words) || !strings.Contains(why.Message, "spec.publish.apiURL") {
			t.Errorf("%q: %v", words, err)
		}
	}
	if code, err := ask(onLoopback(), http.MethodGet, "/near"); err != nil || code != 200 {
		t.Error(code, err)
	}
	_, err := ask(onLoopback(), http.MethodGet, "/away")
	refused("redirects to another server", err)
	if code, err := ask(onLoopback(), http.MethodPost, "/near"); err != nil || code != http.StatusFound {
		t.Error("a redirected change: ", code, err)
	}
	_, err = ask(remote.Rules{}, http.MethodGet, "/")
	refused("--allow-host 127.0.0.1", err)
	if got := strings.Join(asked, ", "); got != "GET /near, GET /there, GET /away, POST /near" {
		t.Error(got)
	}
	// A host that may be asked by its name may still not be on loopback under another one.
	u, err := url.Parse(strings.Replace(server.URL, "http://127.0.0.1", "https://localhost", 1))
	if err != nil {
		t.Fatal(err)
	}
	rules := onLoopback()
	c, err := rules.Client(u, "spec.publish.apiURL", secret)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	req, err := http.NewRequest(http.MethodGet, u.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Do(req)
	refused("a loopback address", err)
	if got := c.Clean("token s3cr3t-canary/4711\nand more"); got != "token *** and more" {
		t.Errorf("%q", got)
	}
	u.User = url.UserPassword("ann", "secret")
	_, err = rules.Client(u, "spec.publish.apiURL", secret)
	refused("a user or a password", err)
}
