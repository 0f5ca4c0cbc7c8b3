package keeper_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/gitserver"
)

const (
	hookToken = "t0ken-canary/4711"
	hookBody  = `{"ref": "refs/heads/main", "canary": "b0dy-canary"}`
)

// hooked makes the Secrets, and a Hydration that looks up its branch every 10 minutes.
func hooked(t *testing.T, k kube, server *gitserver.Server, ns, name string) {
	t.Helper()
	k.must(t, `{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, ns)
	secret(t, k, ns, server.User, server.Password)
	k.must(t, `{apiVersion: v1, kind: Secret, metadata: {name: hook, namespace: %s}, stringData: {token: %q}}`, ns, hookToken+"\n")
	hookable(t, k, server, ns, name, ", webhookSecretRef: {name: hook}")
}

func hookable(t *testing.T, k kube, server *gitserver.Server, ns, name, more string) {
	t.Helper()
	k.must(t, `
apiVersion: poolwright.io/v1alpha1
kind: Hydration
metadata: {name: %s, namespace: %s}
spec:
  source: {url: "%s", path: %s, interval: 10m, secretRef: {name: git}%s}
  publish: {mode: Branch}
  facts: {debounce: 0s}
`, name, ns, server.Repository(), dir, more)
}

func sign(with func() hash.Hash, token, body string) string {
	mac := hmac.New(with, []byte(token))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

// post sends a webhook, and gives the answer with its body.
func post(t *testing.T, url, header, value string, body io.Reader) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if header != "" {
		r.Header.Set(header, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// hooksOf is where a process listens for webhooks.
func hooksOf(t *testing.T, p *process) string {
	t.Helper()
	p.says(t, "listening for webhooks on ")
	return regexp.MustCompile(`listening for webhooks on (\S+)`).FindStringSubmatch(p.log.String())[1]
}

// TestWebhook: a push is judged as soon as a webhook comes, long before the interval ends. Many webhooks make
// no more than a look every few seconds. It is not parallel: nodes of other tests would have it judged, too.
func TestWebhook(t *testing.T) {
	k := newKube(t)
	const ns, name = "hooked", "prod"
	server := gitserver.New(t, filesOf(ns))
	k.member(t, ns, "hooked-0")
	hooked(t, k, server, ns, name)
	p := start(t, ns, "--leader-elect=false", "--webhook-listen", "127.0.0.1:0")
	url := hooksOf(t, p) + "/hook/" + ns + "/" + name
	k.becomes(t, ns, name, "Published")
	time.Sleep(4 * time.Second) // its own commit is judged once more

	server.Commit(t, "main", "larger", map[string]string{dir + "/logs.yaml": strings.Replace(server.Show(t, "main", dir+"/logs.yaml"), "1Gi", "2Gi", 1)})
	time.Sleep(2 * time.Second)
	if got := server.Show(t, "main", dir+"/rendered/volumetemplate.logs/volume.yaml"); strings.Contains(got, "2Gi") {
		t.Fatal("judged without a webhook")
	}
	value := "sha256=" + sign(sha256.New, hookToken, hookBody)
	if answer, text := post(t, url, "X-Hub-Signature-256", value, strings.NewReader(hookBody)); answer.StatusCode != http.StatusAccepted || text != "" {
		t.Fatalf("%s: %s", answer.Status, text)
	}
	await(t, "the commit is judged", func() bool {
		return strings.Contains(server.Show(t, "main", dir+"/rendered/volumetemplate.logs/volume.yaml"), "2Gi")
	})
	checked(t, server)

	server.Requests()
	for begun := time.Now(); time.Since(begun) < 3*time.Second; {
		post(t, url, "X-Gitlab-Token", hookToken, strings.NewReader(hookBody))
	}
	if asked := server.Requests(); len(asked) > 4 {
		t.Errorf("webhooks made %d requests to the Git server: %q", len(asked), asked)
	}
	for _, canary := range []string{hookToken, "b0dy-canary", value} {
		if strings.Contains(p.log.String()+k.everything(t, ns), canary) {
			t.Errorf("%q is shown", canary)
		}
	}
}

// TestWebhookAnswers: only what a forge signed is accepted. Whatever else comes has one answer, so that nobody
// finds out what exists.
func TestWebhookAnswers(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns = "hook-answers"
	server := gitserver.New(t, filesOf(ns))
	hooked(t, k, server, ns, "prod")
	hookable(t, k, server, ns, "without", "")
	hookable(t, k, server, ns, "missing", ", webhookSecretRef: {name: none}")
	hookable(t, k, server, ns, "empty", ", webhookSecretRef: {name: empty}")
	k.must(t, `{apiVersion: v1, kind: Secret, metadata: {name: empty, namespace: %s}, stringData: {token: "\n"}}`, ns)
	keeping, said := newKeeper(t, ns)
	at := httptest.NewServer(keeping.Hooks())
	t.Cleanup(at.Close)
	right := sign(sha256.New, hookToken, hookBody)
	url := at.URL + "/hook/" + ns + "/"
	if answer, _ := post(t, url+"prod", "X-Gitea-Signature", right, strings.NewReader(hookBody)); answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("without workers: %s", answer.Status)
	}
	run(t, keeping)
	await(t, "the Hydrations are known", func() bool {
		answer, _ := post(t, url+"prod", "", "", strings.NewReader(hookBody))
		return answer.StatusCode != http.StatusServiceUnavailable
	})

	for _, c := range []struct{ what, name, header, value, body string }{
		{"GitHub", "prod", "X-Hub-Signature-256", "sha256=" + right, hookBody},
		{"Gitea", "prod", "X-Gitea-Signature", right, hookBody},
		{"Forgejo", "prod", "X-Forgejo-Signature", right, hookBody},
		{"Bitbucket Server", "prod", "X-Hub-Signature", "sha256=" + right, hookBody},
		{"GitLab", "prod", "X-Gitlab-Token", hookToken, hookBody},
		{"no body", "prod", "X-Gitea-Signature", sign(sha256.New, hookToken, ""), ""},
	} {
		if answer, text := post(t, url+c.name, c.header, c.value, strings.NewReader(c.body)); answer.StatusCode != http.StatusAccepted || text != "" {
			t.Errorf("%s: %s: %q", c.what, answer.Status, text)
		}
	}
	refusals := map[string]bool{}
	for _, c := range []struct{ what, name, header, value, body string }{
		{"no signature", "prod", "", "", hookBody},
		{"another body", "prod", "X-Gitea-Signature", right, hookBody + " "},
		{"another token", "prod", "X-Hub-Signature-256", "sha256=" + sign(sha256.New, "other", hookBody), hookBody},
		{"no prefix", "prod", "X-Hub-Signature-256", right, hookBody},
		{"SHA-1", "prod", "X-Hub-Signature", "sha1=" + sign(sha1.New, hookToken, hookBody), hookBody},
		{"no hexadecimal number", "prod", "X-Gitea-Signature", hookToken, hookBody},
		{"an empty signature", "prod", "X-Gitea-Signature", "", hookBody},
		{"another token of GitLab", "prod", "X-Gitlab-Token", hookToken[1:], hookBody},
		{"an empty token of GitLab", "prod", "X-Gitlab-Token", "", hookBody},
		{"unknown", "none", "X-Gitea-Signature", right, hookBody},
		{"no webhookSecretRef", "without", "X-Gitea-Signature", right, hookBody},
		{"no Secret", "missing", "X-Gitea-Signature", right, hookBody},
		{"an empty Secret", "empty", "X-Gitea-Signature", sign(sha256.New, "", hookBody), hookBody},
		{"an empty Secret, GitLab", "empty", "X-Gitlab-Token", "", hookBody},
	} {
		answer, text := post(t, url+c.name, c.header, c.value, strings.NewReader(c.body))
		answer.Header.Del("Date")
		refusals[fmt.Sprintf("%v %s", answer.Header, text)] = true
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s", c.what, answer.Status)
		}
	}
	if len(refusals) != 1 {
		t.Errorf("refusals differ: %v", refusals)
	}

	large := func() io.Reader { return io.LimitReader(zeros{}, 25<<20+1) } // without Content-Length
	for name, body := range map[string]io.Reader{"prod": large(), "none": large(), "without": bytes.NewReader(make([]byte, 25<<20+1))} {
		if answer, _ := post(t, url+name, "X-Gitlab-Token", hookToken, body); answer.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("a large body to %s: %s", name, answer.Status)
		}
	}
	if answer, err := http.Get(url + "prod"); err != nil || answer.StatusCode != http.StatusMethodNotAllowed || answer.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %v %v", answer, err)
	}
	if answer, _ := post(t, at.URL+"/metrics", "", "", nil); answer.StatusCode != http.StatusNotFound {
		t.Errorf("another path: %s", answer.Status)
	}
	busy(t, url+"prod", right)
	for _, canary := range []string{hookToken, "b0dy-canary", right} {
		if strings.Contains(said.String(), canary) {
			t.Errorf("%q is shown", canary)
		}
	}
	if !strings.Contains(said.String(), "a webhook is refused") {
		t.Error("no refusal is logged")
	}
	metrics := httptest.NewServer(keeping.Metrics.Handler())
	t.Cleanup(metrics.Close)
	answer, err := http.Get(metrics.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range []string{"accepted", "refused", "busy"} {
		if !regexp.MustCompile(`poolwright_webhooks_total\{result="` + result + `"\} [1-9]`).Match(text) {
			t.Errorf("no webhook is counted as %s", result)
		}
	}
}

// busy sends bodies that do not end, until there is no room for one more.
func busy(t *testing.T, url, right string) {
	t.Helper()
	var stalled sync.WaitGroup
	var ends []*io.PipeWriter
	await(t, "there is no more room", func() bool {
		body, end := io.Pipe()
		ends = append(ends, end)
		stalled.Go(func() {
			if answer, err := http.Post(url, "application/json", body); err == nil {
				answer.Body.Close()
			}
		})
		answer, _ := post(t, url, "X-Gitea-Signature", right, strings.NewReader(hookBody))
		return answer.StatusCode == http.StatusTooManyRequests && answer.Header.Get("Retry-After") != ""
	})
	for _, end := range ends {
		if err := end.Close(); err != nil {
			t.Error(err)
		}
	}
	stalled.Wait()
	await(t, "there is room again", func() bool {
		answer, _ := post(t, url, "X-Gitea-Signature", right, strings.NewReader(hookBody))
		return answer.StatusCode == http.StatusAccepted
	})
}

// zeros is a body without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
