package controller_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/poolwright/poolwright/nodeagent/access"
	"github.com/poolwright/poolwright/test/tool"
)

// scrapers are ServiceAccounts: prometheus may read the metrics, stranger may not.
const scrapers = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: stranger, namespace: default}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: prometheus}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: poolwright-node-agent-metrics}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: default}]
`

// ofAccount returns a token of a ServiceAccount of the namespace default.
func (c *cluster) ofAccount(t *testing.T, name string) string {
	t.Helper()
	resp, err := c.plane.Client.Post(c.plane.URL+"/api/v1/namespaces/default/serviceaccounts/"+name+"/token", "application/json",
		strings.NewReader(`{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Status struct{ Token string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Status.Token == "" {
		t.Fatalf("no token: %v %d", err, resp.StatusCode)
	}
	return answer.Status.Token
}

// ask sends a request with the Authorization that is given, if any, and returns the code and text of the answer.
func ask(method, url, authorization string) (int, string, error) {
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}}
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		return 0, "", err
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	resp, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimSpace(string(body)), err
}

// checkAnswer checks the code of an answer, and that it contains a text.
func checkAnswer(t *testing.T, what, method, url, authorization string, code int, text string) {
	t.Helper()
	got, body, err := ask(method, url, authorization)
	if err != nil || got != code || !strings.Contains(body, text) {
		t.Errorf("%s: %d %q %v, want %d %q", what, got, body, err, code, text)
	}
}

// TestMetrics runs an agent with the rights of deploy/nodeagent: it serves its metrics over TLS, only to users whom the API
// server allows to get them.
func TestMetrics(t *testing.T) {
	if os.Geteuid() != 0 {
		tool.Missing(t, "process 1's mounts are root's to read")
	}
	c := newCluster(t)
	c.apply(t, scrapers)
	folder := filepath.Join(t.TempDir(), "state")
	links(t, folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	address := tool.FreeAddress(t)
	a := c.startWith(t, c.token(t, "n1"), folder, []string{"--metrics-listen", address})
	c.apply(t, sparseVolume("data", "keep", "40Mi", "Filesystem"))
	c.apply(t, sparseVolume("bad", "missing", "40Mi", "Filesystem"))
	c.phase(t, "data", "Available")
	c.phase(t, "bad", "Failed")

	url := "https://" + address + "/metrics"
	token := "Bearer " + c.ofAccount(t, "prometheus")
	checkAnswer(t, "without a token", "GET", url, "", 401, "send the token of a ServiceAccount")
	checkAnswer(t, "with a password", "GET", url, "Basic YTpi", 401, "send the token of a ServiceAccount")
	checkAnswer(t, "with an invented token", "GET", url, "Bearer abc", 401, "the API server does not accept the token")
	checkAnswer(t, "without the right", "GET", url, "Bearer "+c.ofAccount(t, "stranger"), 403,
		"system:serviceaccount:default:stranger may not get the nonResourceURL /metrics: bind it to the ClusterRole poolwright-node-agent-metrics")
	checkAnswer(t, "another method", "POST", url, token, 405, "only GET is served")
	checkAnswer(t, "another path", "GET", "https://"+address+"/debug", token, 404, "only /metrics is served")
	checkAnswer(t, "with the right", "GET", url, token, 200, `poolwright_agent_volume_capacity_bytes{storageclass="keep",volume="data"} 4.194304e+07`)
	if code, body, err := ask("GET", "http://"+address+"/metrics", token); err == nil && code == 200 {
		t.Errorf("without TLS: %d %s", code, body)
	}
	old := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if conn, err := tls.Dial("tcp", address, old); err == nil {
		t.Error("TLS 1.1 is accepted")
		_ = conn.Close()
	}
	_, body, err := ask("GET", url, token)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`poolwright_agent_volumes{phase="Available"} 1`, `poolwright_agent_volumes{phase="Failed"} 1`,
		`poolwright_agent_step_duration_seconds_count{kind="make-filesystem"} 1`, `poolwright_agent_step_failures_total{kind="attach-loop"} 0`,
		`poolwright_agent_reconciles_total{kind="Volume",result="ok"} `, `poolwright_agent_disks{usable="true"} `, `poolwright_agent_sparse_free_bytes `,
	} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("%s is not among\n%s", want, body)
		}
	}
	a.checkMemory(t)

	c.plane.StopAPIServer()
	checkAnswer(t, "a token that was allowed a moment ago, without an API server", "GET", url, token, 200, "poolwright_agent_volumes")
	checkAnswer(t, "another token, without an API server", "GET", url, "Bearer abc", 503, "the API server does not answer: access cannot be checked")
}

// TestReviews: an approval is reused for its lifetime and no longer, and an agent that may not create reviews serves nothing.
func TestReviews(t *testing.T) {
	c := newCluster(t)
	c.apply(t, scrapers)
	const lifetime = 3 * time.Second
	served := func(client dynamic.Interface) string {
		reviews := &access.Reviews{Client: client, Path: "/metrics", Lifetime: lifetime, Log: slog.New(slog.DiscardHandler)}
		server := httptest.NewServer(reviews.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("content")) })))
		t.Cleanup(server.Close)
		return server.URL + "/metrics"
	}
	url := served(c.as(t, "n1"))
	token := "Bearer " + c.ofAccount(t, "prometheus")
	reviews := func() int {
		asked := c.metric(t, "apiserver_request_total", `verb="POST"`, "tokenreviews", "subjectaccessreviews")
		return asked["tokenreviews"] + asked["subjectaccessreviews"]
	}
	before, begun := reviews(), time.Now()
	for range 20 {
		checkAnswer(t, "with the right", "GET", url, token, 200, "content")
	}
	if asked, periods := reviews()-before, int(time.Since(begun)/lifetime)+1; asked > 2*periods {
		t.Errorf("%d reviews for 20 requests in %s", asked, time.Since(begun))
	}
	bindings := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
	if err := c.Resource(bindings).Delete(t.Context(), "prometheus", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "a revoked right still counts after "+lifetime.String(), func() (bool, string) {
		code, body, err := ask("GET", url, token)
		return code == 403, fmt.Sprint(code, body, err)
	})
	checkAnswer(t, "an agent that may not create reviews", "GET", served(c.asAccount(t, "stranger")), token, 503, "the node agent may not create tokenreviews.authentication.k8s.io: apply deploy/nodeagent/rbac.yaml")
}

// asAccount is a client with the rights of a ServiceAccount of the namespace default.
func (c *cluster) asAccount(t *testing.T, name string) dynamic.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.CertFile, config.KeyFile, config.BearerToken = "", "", c.ofAccount(t, name)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
