package keeper_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/poolwright/poolwright/controller/keeper"
	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/test/expected"
	"github.com/poolwright/poolwright/test/gitserver"
)

// template renders a Volume for each node.
const template = `apiVersion: poolwright.io/v1alpha1
kind: VolumeTemplate
metadata:
  name: logs
spec:
  template:
    kind: Volume
    spec:
      storageClassName: local
      sparseLoopDevice:
        size: 1Gi
`

const dir = "clusters/prod"

// files of a repository with a package in it.
func files() map[string]string {
	return map[string]string{dir + "/logs.yaml": template, "README.md": "storage\n"}
}

// log is written by the keeper while the test reads.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newKeeper makes one for a namespace, in this process.
func newKeeper(t *testing.T, namespace string) (*keeper.Keeper, *log) {
	t.Helper()
	return newKeeperAt(t, plane.Kubeconfig, namespace)
}

func newKeeperAt(t *testing.T, kubeconfig, namespace string) (*keeper.Keeper, *log) {
	t.Helper()
	k, store, l := keeperAt(t, kubeconfig, namespace)
	t.Cleanup(store.Close)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(l.String())
		}
	})
	return k, l
}

func keeperAt(t *testing.T, kubeconfig, namespace string) (*keeper.Keeper, *hydrations.Store, *log) {
	t.Helper()
	c, err := cluster.Connect(cluster.Options{Kubeconfig: kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	l := &log{}
	logger := slog.New(slog.NewTextHandler(l, nil))
	store, err := hydrations.NewStore(context.Background(), c, logger)
	if err != nil {
		t.Fatal(err)
	}
	return &keeper.Keeper{
		Cluster: c, Store: store, Function: function, Namespaces: []string{namespace},
		Rules: remote.Rules{Hosts: []string{"127.0.0.1"}, MaxSource: 16 << 20},
		Log:   logger, Metrics: keeper.NewMetrics("test"),
	}, store, l
}

// keep runs a keeper until the test ends.
func keep(t *testing.T, namespace string) *log {
	t.Helper()
	return keepAt(t, plane.Kubeconfig, namespace)
}

func keepAt(t *testing.T, kubeconfig, namespace string) *log {
	t.Helper()
	k, l := newKeeperAt(t, kubeconfig, namespace)
	run(t, k)
	return l
}

// run runs a keeper until the test ends.
func run(t *testing.T, k *keeper.Keeper) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// hydrate makes the namespace, the Secret and a Hydration for a server.
func hydrate(t *testing.T, k kube, server *gitserver.Server, namespace, name string) {
	t.Helper()
	k.must(t, `{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, namespace)
	secret(t, k, namespace, server.User, server.Password)
	k.must(t, `
apiVersion: poolwright.io/v1alpha1
kind: Hydration
metadata: {name: %s, namespace: %s}
spec:
  source: {url: "%s", path: %s, interval: 10s, secretRef: {name: git}}
  publish: {mode: Branch}
  facts: {debounce: 0s}
`, name, namespace, server.Repository(), dir)
}

func secret(t *testing.T, k kube, namespace, user, password string) {
	t.Helper()
	k.must(t, `{apiVersion: v1, kind: Secret, metadata: {name: git, namespace: %s}, stringData: {username: %q, password: %q}}`, namespace, user, password)
}

const wrongKeys expected.Text = "the Secret keys in namespace story has none of the keys username, password, bearerToken, identity and ca.crt; it has token, user; correct the keys"

// TestStory is the way from a fact to a commit, and of what may come in between.
func TestStory(t *testing.T) {
	t.Parallel()
	story := t
	k := newKube(t)
	const ns, name = "story", "prod"
	k.member(t, ns, "n1-story")
	server := gitserver.New(t, filesOf(ns))
	hydrate(t, k, server, ns, name)
	said := keep(t, ns)

	first := k.becomes(t, ns, name, "Published", "UpToDate")
	revision := "main@sha1:" + server.Head(t, "main")
	if first.Status.Published.Revision != revision || first.Status.Published.URL != server.Repository() {
		t.Errorf("published %+v, want %s", first.Status.Published, revision)
	}
	message := server.Git(t, "log", "-1", "--format=%an <%ae>%n%B", "main")
	for _, want := range []string{
		"Poolwright <poolwright@example.com>\n1 to create, 0 to change, 0 to remove; all safe\n",
		"\nPoolwright-Hydration: story/prod\nPoolwright-Source: main@sha1:", "\nPoolwright-Facts: sha256:",
		"\nPoolwright-Output: " + first.Status.Published.Digest + "\nPoolwright-Risk: safe",
	} {
		if !strings.Contains(message, want) {
			t.Errorf("no %q in\n%s", want, message)
		}
	}
	if first.Status.Risk != "safe" || first.Status.Facts.Digest == "" || first.Status.Facts.Cluster == "" {
		t.Errorf("status %+v", first.Status)
	}
	onlyBelow(t, server, dir)

	t.Run("node", func(t *testing.T) {
		k.member(story, ns, "n2-story")
		await(t, "a commit with the new node", func() bool {
			return strings.Contains(server.Show(t, "main", dir+"/rendered/volumetemplate.logs/volume.yaml"), "n2")
		})
		if !strings.Contains(server.Show(t, "main", dir+"/inventory/nodes.yaml"), "n2") {
			t.Error("the inventory has no n2")
		}
		onlyBelow(t, server, dir)
		var history []hydrations.Entry
		await(t, "the second entry of the history", func() bool {
			history = k.get(t, ns, name).Status.History
			return len(history) == 2
		})
		for _, e := range history {
			if len(e.Changed) > 0 {
				t.Errorf("what was added counts as changed: %q", e.Changed)
			}
		}
	})
	t.Run("elsewhere", func(t *testing.T) {
		head := server.Commit(t, "main", "another folder", map[string]string{"README.md": "more\n"})
		await(t, "the new revision was judged", func() bool {
			return k.get(t, ns, name).Status.Source.Revision == "main@sha1:"+head
		})
		if server.Head(t, "main") != head {
			t.Error("published although nothing of the package changed")
		}
	})
	t.Run("invalid", func(t *testing.T) {
		head := server.Commit(t, "main", "a mistake", map[string]string{dir + "/logs.yaml": strings.Replace(filesOf(ns)[dir+"/logs.yaml"], "1Gi", "large", 1)})
		k.reconcile(t, ns, name)
		h := k.becomes(t, ns, name, "Invalid")
		if h.Status.Condition("Stalled").Status != "True" || h.Status.Findings.Errors != 1 || !strings.Contains(h.Status.Findings.First[0], dir+"/logs.yaml:12:15: error: VolumeTemplate logs: spec.template.spec.sparseLoopDevice.size: ") {
			t.Errorf("status %+v, findings %+v", h.Status, h.Status.Findings)
		}
		if server.Head(t, "main") != head {
			t.Error("published although the package has an error")
		}
		server.Commit(t, "main", "mended", map[string]string{dir + "/logs.yaml": filesOf(ns)[dir+"/logs.yaml"]})
		k.reconcile(t, ns, name)
		k.becomes(t, ns, name, "UpToDate")
	})
	t.Run("protected", func(t *testing.T) {
		server.Hook(t, "pre-receive", `echo "main is protected" >&2; exit 1`)
		k.member(story, ns, "n3-story")
		h := k.becomes(t, ns, name, "Protected")
		if got := h.Status.Condition("Ready").Message; !strings.Contains(got, "main is protected") {
			t.Errorf("the message is %q", got)
		}
		server.Hook(t, "pre-receive", "")
		k.reconcile(t, ns, name)
		h = k.becomes(t, ns, name, "Published", "UpToDate")
		if got := "main@sha1:" + server.Head(t, "main"); h.Status.Published.Revision != got {
			t.Errorf("published %s, want %s", h.Status.Published.Revision, got)
		}
	})
	t.Run("contended", func(t *testing.T) {
		moves := 0
		server.Watch(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "git-receive-pack") {
				moves++
				server.Commit(t, "main", "faster", map[string]string{"README.md": fmt.Sprintf("%d\n", moves)})
			}
			return false
		})
		k.member(story, ns, "n5-story")
		h := k.becomes(t, ns, name, "Contended")
		if got := h.Status.Condition("Ready").Message; got != "branch main moved 5 times while a commit for it was made; the next try follows" {
			t.Errorf("the message is %q", got)
		}
		server.Watch(nil)
		k.reconcile(t, ns, name)
		k.becomes(t, ns, name, "Published", "UpToDate")
	})
	t.Run("cluster", func(t *testing.T) {
		cluster := server.Show(t, "main", dir+"/inventory/cluster.yaml")
		other := strings.Replace(cluster, k.get(t, ns, name).Status.Facts.Cluster, "00000000-0000-0000-0000-000000000000", 1)
		server.Commit(t, "main", "of another cluster", map[string]string{dir + "/inventory/cluster.yaml": other})
		k.reconcile(t, ns, name)
		k.becomes(t, ns, name, "ClusterChanged")
		server.Commit(t, "main", "of this one", map[string]string{dir + "/inventory/cluster.yaml": ""})
		k.reconcile(t, ns, name)
		k.becomes(t, ns, name, "UpToDate")
		server.Commit(t, "main", "as it was", map[string]string{dir + "/inventory/cluster.yaml": cluster})
	})
	t.Run("refused", func(t *testing.T) {
		server.Commit(t, "main", "a pointer", map[string]string{dir + "/big.yaml": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"})
		k.reconcile(t, ns, name)
		h := k.becomes(t, ns, name, "SourceRefused")
		if got := h.Status.Condition("Ready").Message; !strings.HasPrefix(got, dir+"/big.yaml is a pointer of Git LFS") {
			t.Errorf("the message is %q", got)
		}
		server.Commit(t, "main", "no pointer", map[string]string{dir + "/big.yaml": ""})
		k.reconcile(t, ns, name)
		k.becomes(t, ns, name, "UpToDate")
	})
	t.Run("credentials", func(t *testing.T) {
		secret(t, k, ns, server.User, "wrong-canary-0815")
		k.reconcile(t, ns, name)
		k.becomes(t, ns, name, "AuthenticationFailed")
		k.must(t, `{apiVersion: v1, kind: Secret, metadata: {name: keys, namespace: %s}, stringData: {user: u, token: t}}`, ns)
		k.patch(t, ns, name, `{"spec":{"source":{"secretRef":{"name":"keys"}}}}`)
		await(t, "the keys are named", func() bool {
			return strings.Contains(k.get(t, ns, name).Status.Condition("Ready").Message, string(wrongKeys))
		})
		k.patch(t, ns, name, `{"spec":{"source":{"secretRef":{"name":"git"}}}}`)
		secret(t, k, ns, server.User, server.Password)
		k.reconcile(t, ns, name)
		k.becomes(t, ns, name, "UpToDate")
	})
	t.Run("suspended", func(t *testing.T) {
		k.patch(t, ns, name, `{"spec":{"suspend":true}}`)
		k.becomes(t, ns, name, "Suspended")
		head := server.Head(t, "main")
		k.member(story, ns, "n4-story")
		time.Sleep(2 * time.Second)
		if server.Head(t, "main") != head {
			t.Error("published although suspended")
		}
		k.patch(t, ns, name, `{"spec":{"suspend":false}}`)
		k.becomes(t, ns, name, "Published", "UpToDate")
	})
	t.Run("conflict", func(t *testing.T) {
		time.Sleep(1100 * time.Millisecond) // ages are in seconds
		hydrate(t, k, server, ns, "younger")
		h := k.becomes(t, ns, "younger", "Conflict")
		if got := h.Status.Condition("Ready").Message; !strings.HasPrefix(got, "Hydration story/prod is older and writes to the same target: path clusters/prod of branch main of ") {
			t.Errorf("the message is %q", got)
		}
		k.patch(t, ns, name, `{"spec":{"source":{"path":"clusters/none"}}}`)
		k.becomes(t, ns, "younger", "UpToDate")
		if got := k.becomes(t, ns, name, "SourceRefused").Status.Condition("Ready").Message; !strings.HasPrefix(got, "there is no folder clusters/none on branch main; push it, or correct spec.source.path") {
			t.Errorf("the message is %q", got)
		}
	})
	noCredential(t, server, "wrong-canary-0815", said.String(), k.everything(t, ns), server.Git(t, "log", "-p", "--all"))
}

// commits lists the subjects of the branch, the last one first.
func commits(t *testing.T, server *gitserver.Server) []string {
	t.Helper()
	return strings.Split(server.Git(t, "log", "--format=%s", "main"), "\n")
}

// onlyBelow wants the last commit to change files of a folder alone.
func onlyBelow(t *testing.T, server *gitserver.Server, dir string) {
	t.Helper()
	for file := range strings.Lines(server.Git(t, "diff-tree", "-r", "--name-only", "main^", "main")) {
		if file = strings.TrimSpace(file); !strings.HasPrefix(file, dir+"/inventory/") && !strings.HasPrefix(file, dir+"/rendered/") {
			t.Errorf("%s was changed", file)
		}
	}
}

// noCredential wants no password in any form.
func noCredential(t *testing.T, server *gitserver.Server, wrong string, texts ...string) {
	t.Helper()
	for _, password := range []string{server.Password, wrong} {
		pair := server.User + ":" + password
		for _, form := range []string{
			password, url.QueryEscape(password), url.PathEscape(password),
			base64.StdEncoding.EncodeToString([]byte(password)), strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(pair)), "="),
		} {
			if i := slices.IndexFunc(texts, func(text string) bool { return strings.Contains(text, form) }); i >= 0 {
				t.Errorf("%q is in text %d", form, i)
			}
		}
	}
}

// TestRest: one more render at most comes of an own commit. Then nothing is asked of the server beside the
// interval.
func TestRest(t *testing.T) {
	k := newKube(t)
	k.node(t, "n1")
	server := gitserver.New(t, files())
	const ns, name = "rest", "prod"
	hydrate(t, k, server, ns, name)
	keep(t, ns)
	k.becomes(t, ns, name, "Published", "UpToDate")
	k.reconcile(t, ns, name)
	server.Requests()
	time.Sleep(3 * time.Second)
	if got := server.Requests(); len(got) > 2 {
		t.Errorf("at rest: %q", got)
	}
	if got := commits(t, server); len(got) != 2 {
		t.Errorf("the commits are %q", got)
	}
}

// TestOnce looks at each Hydration once.
func TestOnce(t *testing.T) {
	k := newKube(t)
	k.node(t, "n1")
	server := gitserver.New(t, files())
	const ns = "once"
	hydrate(t, k, server, ns, "prod")
	hydrate(t, k, server, ns, "lost")
	k.patch(t, ns, "lost", `{"spec":{"source":{"branch":"none"}}}`)
	keeper, _ := newKeeper(t, ns)
	for _, want := range []string{"Published", "UpToDate"} {
		results, err := keeper.Once(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(results) != 2 || results[0].Ready || results[0].Reason != "SourceUnavailable" || !results[1].Ready || results[1].Reason != want {
			t.Errorf("got %+v", results)
		}
	}
	if got := commits(t, server); len(got) != 2 {
		t.Errorf("the commits are %q", got)
	}
}

// TestFlapping: the third time that a node goes within the window, its volume stays in Git.
func TestFlapping(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns, name = "flapping", "prod"
	k.member(t, ns, "f0")
	server := gitserver.New(t, filesOf(ns))
	hydrate(t, k, server, ns, name)
	keep(t, ns)
	k.becomes(t, ns, name, "Published", "UpToDate")
	const volumes = dir + "/rendered/volumetemplate.logs/volume.yaml"
	has := func() bool { return strings.Contains(server.Show(t, "main", volumes), "logs-f1") }
	for i := range 3 {
		k.member(t, ns, "f1")
		await(t, "the volume comes", has)
		k.away(t, "f1")
		if i < 2 {
			await(t, "the volume goes", func() bool { return !has() })
		}
	}
	h := k.becomes(t, ns, name, "Flapping")
	if got := h.Status.Condition("Ready").Message; !strings.HasPrefix(got, "facts alone change Volume logs-f1 for the third time within 1h0m0s; nothing is published until it stays the same for as long; find out why it changes, or publish now with kubectl annotate hydration prod -n flapping ") {
		t.Errorf("the message is %q", got)
	}
	if !has() {
		t.Error("published although it flaps")
	}
	// What a person asks for is not forgotten where the first try fails.
	server.Watch(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	k.reconcile(t, ns, name)
	k.becomes(t, ns, name, "SourceUnavailable")
	server.Watch(nil)
	await(t, "the volume goes as asked for", func() bool { return !has() })
}
