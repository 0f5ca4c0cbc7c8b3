package keeper_test

import (
	"bytes"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	ocireg "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/controller/artifact"
	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/test/gitserver"
)

// artifacts is a registry that lets one user in.
type artifacts struct {
	host           string
	serve          http.Handler
	user, password string

	mu       sync.Mutex
	requests []string
	before   func(w http.ResponseWriter, r *http.Request) (done bool)
}

func newArtifacts(t *testing.T) *artifacts {
	t.Helper()
	a := &artifacts{user: "pusher", password: "s3cr3t-canary/0816", serve: ocireg.New(ocireg.Logger(stdlog.New(io.Discard, "", 0)))}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.requests = append(a.requests, r.Method+" "+r.URL.Path)
		before := a.before
		a.mu.Unlock()
		if user, password, _ := r.BasicAuth(); user != a.user || password != a.password {
			w.Header().Set("WWW-Authenticate", `Basic realm="artifacts"`)
			http.Error(w, fmt.Sprintf("%q is not let in", r.Header.Get("Authorization")), http.StatusUnauthorized)
			return
		}
		if before == nil || !before(w, r) {
			a.serve.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	a.host = strings.TrimPrefix(server.URL, "http://")
	return a
}

// watch has each request looked at first.
func (a *artifacts) watch(do func(w http.ResponseWriter, r *http.Request) (done bool)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.before = do
}

// pushes are the manifests that were sent since the last call.
func (a *artifacts) pushes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, r := range a.requests {
		if strings.HasPrefix(r, "PUT ") && strings.Contains(r, "/manifests/") {
			all = append(all, r[strings.LastIndex(r, "/")+1:])
		}
	}
	a.requests = nil
	return all
}

func (a *artifacts) auth() remote.Option {
	return remote.WithAuth(&authn.Basic{Username: a.user, Password: a.password})
}

// image is the artifact of a tag or of a digest.
func (a *artifacts) image(t *testing.T, repository, tag string) v1.Image {
	t.Helper()
	at := a.host + "/" + repository + ":" + tag
	if strings.HasPrefix(tag, "sha256:") {
		at = a.host + "/" + repository + "@" + tag
	}
	ref, err := name.ParseReference(at, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref, a.auth())
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// give gives a tag to an image, as another client does.
func (a *artifacts) give(t *testing.T, repository, tag string, img v1.Image) {
	t.Helper()
	ref, err := name.ParseReference(a.host+"/"+repository+":"+tag, name.Insecure)
	if err == nil {
		err = remote.Write(ref, img, a.auth())
	}
	if err != nil {
		t.Error(err)
	}
}

func digestOf(t *testing.T, img v1.Image) string {
	t.Helper()
	d, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

// contents are the files of an artifact.
func contents(t *testing.T, img v1.Image) map[string][]byte {
	t.Helper()
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	in, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	files, err := artifact.Unpack(in, 1<<20, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// checkedAlone wants an artifact to be what a person with a shell makes of it, with nothing beside.
func checkedAlone(t *testing.T, img v1.Image) {
	t.Helper()
	if out, err := exec.Command(program, "render", unpacked(t, img), "--check").CombinedOutput(); err != nil {
		t.Errorf("render --check: %v\n%s", err, out)
	}
}

// unpacked is a folder with the files of an artifact.
func unpacked(t *testing.T, img v1.Image) string {
	t.Helper()
	work := t.TempDir()
	for file, data := range contents(t, img) {
		file = filepath.Join(work, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return work
}

const repository = "storage/prod"

// artifactOf makes the Secrets and a Hydration that publishes to a tag.
func artifactOf(t *testing.T, k kube, server *gitserver.Server, a *artifacts, ns, name, facts string) {
	t.Helper()
	k.must(t, `{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, ns)
	secret(t, k, ns, server.User, server.Password)
	config := fmt.Sprintf(`{"auths": {%q: {"username": %q, "password": %q}}}`, a.host, a.user, a.password)
	k.must(t, `{apiVersion: v1, kind: Secret, metadata: {name: registry, namespace: %s}, type: kubernetes.io/dockerconfigjson, stringData: {.dockerconfigjson: %q}}`, ns, config)
	k.must(t, `
apiVersion: poolwright.io/v1alpha1
kind: Hydration
metadata: {name: %s, namespace: %s}
spec:
  source: {url: "%s", path: %s, interval: 10s, secretRef: {name: git}}
  publish: {mode: OCI, oci: {url: "oci://%s/%s", secretRef: {name: registry}}}
  facts: {debounce: 0s%s}
`, name, ns, server.Repository(), dir, a.host, repository, facts)
}

const volumes = "rendered/volumetemplate.logs/volume.yaml"

// TestArtifact is the way from a fact to an artifact.
func TestArtifact(t *testing.T) {
	story := t
	k := newKube(t)
	k.node(t, "a1")
	withNotes := files()
	withNotes[dir+"/NOTES.md"] = "notes\n"
	server := gitserver.New(t, withNotes)
	a := newArtifacts(t)
	const ns, name = "artifact", "prod"
	artifactOf(t, k, server, a, ns, name, "")
	said := keep(t, ns)

	h := k.becomes(t, ns, name, "Published")
	commit := server.Head(t, "main")
	img := a.image(t, repository, "latest")
	digest := digestOf(t, img)
	if p := h.Status.Published; p.Revision != "latest@"+digest || p.URL != "oci://"+a.host+"/"+repository {
		t.Errorf("published %+v, want %s", p, digest)
	}
	if got := h.Status.Condition("Ready").Message; got != "1 to create, 0 to change, 0 to remove; all safe" {
		t.Errorf("the message is %q", got)
	}
	if got := a.pushes(); !slices.Equal(got, []string{digest, "latest"}) {
		t.Errorf("pushed %q: first under its digest, then the tag", got)
	}
	m, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"org.opencontainers.image.source": server.Repository(), "org.opencontainers.image.revision": "main@sha1:" + commit,
		"io.poolwright.facts": h.Status.Facts.Digest, "io.poolwright.output": h.Status.Published.Digest,
	}
	if fmt.Sprint(m.Annotations) != fmt.Sprint(want) {
		t.Errorf("annotations %v, want %v", m.Annotations, want)
	}
	has := contents(t, img)
	for file, data := range map[string]string{"logs.yaml": template, "NOTES.md": "notes\n"} {
		if string(has[file]) != data {
			t.Errorf("%s is %q", file, has[file])
		}
	}
	if !bytes.Contains(has[volumes], []byte("a1")) || !bytes.Contains(has["inventory/nodes.yaml"], []byte("a1")) {
		t.Errorf("the artifact has no a1: %s", has[volumes])
	}
	checkedAlone(t, img)
	if server.Head(t, "main") != commit {
		t.Error("something was committed")
	}

	t.Run("rest", func(t *testing.T) {
		k.reconcile(t, ns, name)
		k.becomes(t, ns, name, "UpToDate")
		a.pushes()
		server.Commit(t, "main", "another folder", map[string]string{"README.md": "more\n"})
		server.Commit(t, "main", "a note", map[string]string{dir + "/NOTES.md": "more\n"})
		k.reconcile(t, ns, name)
		h := k.becomes(t, ns, name, "UpToDate")
		if got := a.pushes(); len(got) > 0 {
			t.Errorf("an unchanged output was pushed: %q", got)
		}
		if h.Status.Published.Revision != "latest@"+digest || len(h.Status.History) != 1 {
			t.Errorf("status %+v", h.Status)
		}
	})
	t.Run("lock", func(t *testing.T) {
		// The next render starts from the artifact, whatever Git has.
		server.Commit(t, "main", "not of the lock", map[string]string{dir + "/" + volumes: "kind: Nothing\n", dir + "/inventory/nodes.yaml": "wrong\n"})
		k.node(story, "a2")
		await(t, "an artifact with the new node", func() bool {
			return bytes.Contains(contents(t, a.image(t, repository, "latest"))[volumes], []byte("a2"))
		})
		img := a.image(t, repository, "latest")
		checkedAlone(t, img)
		if got := string(contents(t, img)["NOTES.md"]); got != "more\n" {
			t.Errorf("the note is %q", got)
		}
		h := k.becomes(t, ns, name, "Published")
		if h.Status.Published.Revision != "latest@"+digestOf(t, img) {
			t.Errorf("published %+v", h.Status.Published)
		}
		server.Commit(t, "main", "removed", map[string]string{dir + "/" + volumes: "", dir + "/inventory/nodes.yaml": ""})
	})
	t.Run("gone", func(t *testing.T) {
		// A tag that somebody removed is given to what was published last.
		last := digestOf(t, a.image(t, repository, "latest"))
		hidden := true
		a.watch(func(w http.ResponseWriter, r *http.Request) bool {
			a.mu.Lock()
			defer a.mu.Unlock()
			if strings.HasSuffix(r.URL.Path, "/manifests/latest") {
				if r.Method == http.MethodPut {
					hidden = false
				}
				if hidden {
					http.Error(w, `{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "unknown tag"}]}`, http.StatusNotFound)
					return true
				}
			}
			return false
		})
		a.pushes()
		k.reconcile(t, ns, name)
		await(t, "the tag is back", func() bool { return slices.Equal(a.pushes(), []string{"latest"}) })
		if got := digestOf(t, a.image(t, repository, "latest")); got != last {
			t.Errorf("the tag has %s, want %s", got, last)
		}
		// Without that artifact, too, nothing is published: the lock is lost.
		a.watch(func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/manifests/") {
				http.Error(w, "{}", http.StatusNotFound)
				return true
			}
			return false
		})
		k.reconcile(t, ns, name)
		h := k.becomes(t, ns, name, "PublishFailed")
		if got := h.Status.Condition("Ready").Message; !strings.Contains(got, "has neither the tag nor artifact "+last) {
			t.Errorf("the message is %q", got)
		}
		a.watch(nil)
		k.reconcile(t, ns, name)
		k.becomes(t, ns, name, "UpToDate")
	})
	t.Run("foreign", func(t *testing.T) {
		mine := a.image(t, repository, "latest")
		a.give(t, repository, "latest", empty.Image)
		k.node(story, "a3")
		h := k.becomes(t, ns, name, "Conflict")
		if got := h.Status.Condition("Ready").Message; !strings.Contains(got, "was not made by Poolwright, and is not replaced; publish to another tag, or delete this one") {
			t.Errorf("the message is %q", got)
		}
		if got := digestOf(t, a.image(t, repository, "latest")); got != digestOf(t, empty.Image) {
			t.Errorf("replaced: %s", got)
		}
		a.give(t, repository, "latest", mine)
		await(t, "the third node is published", func() bool {
			return bytes.Contains(contents(t, a.image(t, repository, "latest"))[volumes], []byte("a3"))
		})
	})
	t.Run("contended", func(t *testing.T) {
		// Somebody else moves the tag each time between the look and the push.
		moves := 0
		a.watch(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodHead && strings.Contains(r.URL.Path, "/manifests/sha256:") && strings.Contains(r.UserAgent(), "poolwright") {
				moves++
				img, err := artifact.New(map[string][]byte{"logs.yaml": []byte(template)}, artifact.Origin{Output: fmt.Sprintf("sha256:%d", moves)})
				if err != nil {
					t.Error(err)
				}
				a.give(t, repository, "latest", img)
			}
			return false
		})
		k.node(story, "a4")
		h := k.becomes(t, ns, name, "Contended")
		if got := h.Status.Condition("Ready").Message; got != "tag latest moved 5 times while an artifact for it was made; the next try follows" {
			t.Errorf("the message is %q", got)
		}
		a.watch(nil)
		k.reconcile(t, ns, name)
		await(t, "the fourth node is published", func() bool {
			return bytes.Contains(contents(t, a.image(t, repository, "latest"))[volumes], []byte("a4"))
		})
	})
	t.Run("credentials", func(t *testing.T) {
		k.must(t, `{apiVersion: v1, kind: Secret, metadata: {name: other, namespace: %s}, stringData: {username: pusher, password: wrong-canary-0817}}`, ns)
		k.patch(t, ns, name, `{"spec":{"publish":{"oci":{"secretRef":{"name":"other"}}}}}`)
		h := k.becomes(t, ns, name, "AuthenticationFailed")
		if got := h.Status.Condition("Ready").Message; !strings.Contains(got, "does not accept the credentials: 401 Unauthorized; correct the Secret, and name it in spec.publish.oci.secretRef") {
			t.Errorf("the message is %q", got)
		}
		k.patch(t, ns, name, `{"spec":{"publish":{"oci":{"secretRef":{"name":"none"}}}}}`)
		await(t, "the Secret is missed", func() bool {
			return strings.Contains(k.get(t, ns, name).Status.Condition("Ready").Message, "there is no Secret none in namespace artifact; create it, or correct spec.publish.oci.secretRef")
		})
		k.patch(t, ns, name, `{"spec":{"publish":{"oci":{"secretRef":{"name":"registry"}}}}}`)
		k.becomes(t, ns, name, "UpToDate")
	})
	t.Run("conflict", func(t *testing.T) {
		time.Sleep(1100 * time.Millisecond) // ages are in seconds
		artifactOf(t, k, server, a, ns, "younger", "")
		h := k.becomes(t, ns, "younger", "Conflict")
		if got := h.Status.Condition("Ready").Message; !strings.Contains(got, "writes to the same target: tag oci:") {
			t.Errorf("the message is %q", got)
		}
		k.patch(t, ns, "younger", `{"spec":{"publish":{"oci":{"tag":"next"}}}}`)
		k.becomes(t, ns, "younger", "Published")
	})
	noCredential(t, server, "wrong-canary-0817", said.String(), k.everything(t, ns))
	noCredential(t, &gitserver.Server{User: a.user, Password: a.password}, "wrong-canary-0817", said.String(), k.everything(t, ns))
}

// TestArtifactKilled: what was pushed, and has no tag, gets it by the next run. What has the tag, and is in no
// status, gets there.
func TestArtifactKilled(t *testing.T) {
	k := newKube(t)
	k.node(t, "b1")
	server := gitserver.New(t, files())
	a := newArtifacts(t)
	const ns, name = "killed", "prod"
	artifactOf(t, k, server, a, ns, name, "")
	dead := make(chan struct{})
	var p *process
	a.watch(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/manifests/latest") {
			p.signal(syscall.SIGKILL)
			<-p.ended
			close(dead)
			return true
		}
		return false
	})
	p = start(t, ns, "--leader-elect=false")
	select {
	case <-dead:
	case <-time.After(patience):
		t.Fatalf("nothing was pushed: %+v", k.get(t, ns, name).Status)
	}
	pushed := a.pushes()
	if len(pushed) != 2 || pushed[1] != "latest" {
		t.Fatalf("pushed %q", pushed)
	}
	a.watch(nil)
	keeper, _ := newKeeper(t, ns)
	results, err := keeper.Once(t.Context())
	if err != nil || results[0].Reason != "Published" {
		t.Fatalf("%+v, %v", results, err)
	}
	if got := a.pushes(); !slices.Equal(got, []string{"latest"}) {
		t.Errorf("after the kill %q was pushed: the artifact was there", got)
	}
	if got := digestOf(t, a.image(t, repository, "latest")); got != pushed[0] {
		t.Errorf("the tag has %s, want %s: the same files make the same artifact", got, pushed[0])
	}
	// Deleted and made again, the Hydration finds what it published.
	if err := k.hydrations(ns).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	artifactOf(t, k, server, a, ns, name, "")
	if results, err = keeper.Once(t.Context()); err != nil || results[0].Reason != "UpToDate" {
		t.Fatalf("%+v, %v", results, err)
	}
	if got := k.get(t, ns, name).Status.Published.Revision; got != "latest@"+pushed[0] {
		t.Errorf("published %s", got)
	}
	if got := a.pushes(); len(got) != 0 {
		t.Errorf("pushed %q", got)
	}
}

// TestArtifactFacts: facts alone are pushed when those of the artifact are old.
func TestArtifactFacts(t *testing.T) {
	k := newKube(t)
	k.node(t, "c1")
	server := gitserver.New(t, files())
	a := newArtifacts(t)
	const ns, name = "oldfacts", "prod"
	artifactOf(t, k, server, a, ns, name, ", maxAge: 5s")
	keep(t, ns)
	k.becomes(t, ns, name, "Published")
	before := contents(t, a.image(t, repository, "latest"))
	k.must(t, `{apiVersion: v1, kind: Node, metadata: {name: c1, labels: {kubernetes.io/hostname: c1, rack: "7"}}}`)
	var h *hydrations.Hydration
	await(t, "the facts are published", func() bool {
		h = k.get(t, ns, name)
		return len(h.Status.History) == 2
	})
	img := a.image(t, repository, "latest")
	after := contents(t, img)
	if bytes.Equal(before["inventory/nodes.yaml"], after["inventory/nodes.yaml"]) || !bytes.Equal(before[volumes], after[volumes]) {
		t.Error("other files were published than the facts")
	}
	checkedAlone(t, img)
}
