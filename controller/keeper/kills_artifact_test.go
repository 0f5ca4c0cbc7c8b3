package keeper_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/test/gitserver"
)

// killedArtifact is mode OCI.
type killedArtifact struct {
	k      kube
	team   string
	server *gitserver.Server
	at     *artifacts
	trap   *trap

	mu     sync.Mutex // people act while the controller runs
	size   int
	theirs []string // commits of people
	tagged []string // digests that got the tag, and were not checked yet
	output string   // of the last that was checked
}

func (m *killedArtifact) begin(t *testing.T, k kube, team string, trap *trap) {
	m.k, m.team, m.trap, m.server, m.at = k, team, trap, gitserver.New(t, filesOf(team)), newArtifacts(t)
	m.theirs = []string{m.server.Head(t, "main")}
	artifactOf(t, k, m.server, m.at, team, "prod", "")
	abort := func(r *http.Request, to http.Handler) bool {
		if trap.springs(r, to) {
			panic(http.ErrAbortHandler)
		}
		return false
	}
	m.server.Watch(func(_ http.ResponseWriter, r *http.Request) bool { return abort(r, m.server) })
	noting := http.HandlerFunc(m.note)
	m.at.watch(func(w http.ResponseWriter, r *http.Request) bool {
		if r.UserAgent() == "" || !strings.Contains(r.UserAgent(), "poolwright") {
			return false // of a person
		}
		abort(r, noting)
		noting(w, r)
		return true
	})
}

// note answers, and takes down what got the tag.
func (m *killedArtifact) note(w http.ResponseWriter, r *http.Request) {
	if !isTag(r) {
		m.at.serve.ServeHTTP(w, r)
		return
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	answer := httptest.NewRecorder()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at.serve.ServeHTTP(answer, r); answer.Code < 300 {
		m.tagged = append(m.tagged, fmt.Sprintf("sha256:%x", sha256.Sum256(text)))
	}
	w.WriteHeader(answer.Code)
}

func isTag(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/manifests/latest")
}

func (m *killedArtifact) joined(*testing.T, []string) {}

func (m *killedArtifact) requests() []request {
	return []request{
		{"a tag", 1, isTag}, {"a tag", 2, isTag},
		{"an artifact", 1, func(r *http.Request) bool {
			return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/sha256:")
		}},
		{"a file of an artifact", 4, func(r *http.Request) bool {
			return strings.Contains(r.URL.Path, "/blobs/") && r.Method != http.MethodGet
		}},
		{"a request of the registry", 8, func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v2/") }},
	}
}

func (m *killedArtifact) act(t *testing.T, random *rand.Rand) {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := map[string]string{dir + "/NOTES.md": fmt.Sprintln(random.Uint64())}
	if random.IntN(3) == 0 {
		changed = larger(m.team, &m.size)
	}
	m.theirs = append(m.theirs, m.server.Commit(t, "main", "of a person", changed))
}

// holds: what has got the tag is whole, is what a render gives, and says another thing than the artifact before;
// the status names one. Nothing is committed.
func (m *killedArtifact) holds(t *testing.T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, digest := range m.tagged {
		img := m.at.image(t, repository, digest)
		manifest, err := img.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		output := manifest.Annotations["io.poolwright.output"]
		// No registry moves a tag from one artifact to another as one step.
		if output == m.output && !m.trap.rivals {
			t.Errorf("%s publishes again what is published", digest)
		}
		m.output = output
		checkedAlone(t, img)
	}
	m.tagged = nil
	if all := strings.Fields(m.server.Git(t, "rev-list", "main")); len(all) != len(m.theirs) || !slices.Contains(m.theirs, all[0]) {
		t.Errorf("the commits are %q, and those of people %q", all, m.theirs)
	}
	if _, digest, found := strings.Cut(m.k.get(t, m.team, "prod").Status.Published.Revision, "@"); found {
		contents(t, m.at.image(t, repository, digest))
	}
}

func (m *killedArtifact) settle(t *testing.T, k kube, team string) {
	var h *hydrations.Hydration
	await(t, "nothing is left to publish", func() bool {
		h = k.reconcile(t, team, "prod")
		return h.Status.Condition("Ready").Reason == "UpToDate"
	})
	img := m.at.image(t, repository, "latest")
	if want := "latest@" + digestOf(t, img); h.Status.Published.Revision != want {
		t.Errorf("published is %+v, and the tag has %s", h.Status.Published, want)
	}
	if got, want := string(contents(t, img)["logs.yaml"]), m.server.Show(t, "main", dir+"/logs.yaml"); got != want {
		t.Errorf("the artifact has\n%s\nand the branch\n%s", got, want)
	}
	byHand(t, unpacked(t, img))
}
