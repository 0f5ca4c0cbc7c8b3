package controlplane

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// Forward passes requests on to the API server, with the rights of Client.
func (c *ControlPlane) Forward() (http.Handler, error) {
	to, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	forward := httputil.NewSingleHostReverseProxy(to)
	forward.FlushInterval = -1 // each event of a watch
	forward.Transport = c.Client.Transport
	// What breaks behind the proxy breaks before it.
	forward.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	return forward, nil
}

// Proxy starts a server before the API server, until the end of the test, and returns a kubeconfig for it. wrap
// makes its handler of Forward.
func (c *ControlPlane) Proxy(t testing.TB, wrap func(forward http.Handler) http.Handler) (kubeconfig string) {
	t.Helper()
	forward, err := c.Forward()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(wrap(forward))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}
