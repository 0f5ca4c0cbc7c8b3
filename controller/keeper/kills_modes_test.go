package keeper_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/poolwright/poolwright/controller/proposal"
	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/test/gitea"
	"github.com/poolwright/poolwright/test/gitserver"
)

// killedBranch is mode Branch.
type killedBranch struct {
	k      kube
	team   string
	server *gitserver.Server

	mu     sync.Mutex // people act while the controller runs
	size   int
	theirs []string // commits of people
	seen   string   // the last commit that was checked
	output string   // of the last of ours
}

func (m *killedBranch) begin(t *testing.T, k kube, team string, trap *trap) {
	m.k, m.team, m.server = k, team, gitserver.New(t, filesOf(team))
	m.seen = m.server.Head(t, "main")
	hydrate(t, k, m.server, team, "prod")
	m.server.Watch(func(_ http.ResponseWriter, r *http.Request) bool {
		if trap.springs(r, m.server) {
			panic(http.ErrAbortHandler)
		}
		return false
	})
}

func (m *killedBranch) joined(*testing.T, []string) {}

func (m *killedBranch) requests() []request { return pushRequests() }

func (m *killedBranch) act(t *testing.T, random *rand.Rand) {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := map[string]string{"README.md": fmt.Sprintln(random.Uint64())}
	if random.IntN(3) == 0 {
		changed = larger(m.team, &m.size)
	}
	m.theirs = append(m.theirs, m.server.Commit(t, "main", "of a person", changed))
}

// holds: one line of commits, in which each is of a person or what a render gives, and none says again what the
// last of ours said. The status names one of them.
func (m *killedBranch) holds(t *testing.T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	head := m.server.Head(t, "main")
	m.server.Git(t, "merge-base", "--is-ancestor", m.seen, head) // or it fails
	for line := range strings.Lines(m.server.Git(t, "log", "--reverse", "--format=%H|%P|%an|%(trailers:key=Poolwright-Output,valueonly,separator=%x2C)", m.seen+".."+head)) {
		part := strings.Split(strings.TrimSpace(line), "|")
		commit, output := part[0], part[3]
		switch {
		case strings.Contains(part[1], " "):
			t.Errorf("%s is a merge", commit)
		case output == "" && !slices.Contains(m.theirs, commit):
			t.Errorf("%s of %s is nobody's", commit, part[2])
		case output != "" && output == m.output:
			t.Errorf("%s publishes again what is published", commit)
		case output != "":
			m.output = output
			m.green(t, commit)
		}
	}
	all := strings.Fields(m.server.Git(t, "rev-list", head))
	for _, commit := range m.theirs {
		if !slices.Contains(all, commit) {
			t.Errorf("the commit %s of a person is lost", commit)
		}
	}
	if at := m.k.get(t, m.team, "prod").Status.Published.Revision; !slices.Contains(all, strings.TrimPrefix(at, "main@sha1:")) {
		t.Errorf("published is %s, which is not on the branch", at)
	}
	m.seen = head
}

// green wants render --check to succeed on a commit of ours, which changes nothing but what is its own.
func (m *killedBranch) green(t *testing.T, commit string) {
	for file := range strings.Lines(m.server.Git(t, "diff-tree", "-r", "--no-commit-id", "--name-only", commit)) {
		if file = strings.TrimSpace(file); !strings.HasPrefix(file, dir+"/inventory/") && !strings.HasPrefix(file, dir+"/rendered/") {
			t.Errorf("%s changes %s", commit, file)
		}
	}
	clone := m.clone(t, commit)
	if out, err := exec.Command(program, "render", filepath.Join(clone, dir), "--check").CombinedOutput(); err != nil {
		t.Errorf("%s: render --check: %v\n%s", commit, err, out)
	}
}

func (m *killedBranch) clone(t *testing.T, commit string) string {
	clone := filepath.Join(t.TempDir(), "clone")
	m.server.Git(t, "clone", "-q", "--shared", "--no-checkout", m.server.Dir, clone)
	m.server.Git(t, "-C", clone, "checkout", "-q", "--detach", commit)
	return clone
}

func (m *killedBranch) settle(t *testing.T, k kube, team string) {
	var h *hydrations.Hydration
	await(t, "nothing is left to publish", func() bool {
		h = k.reconcile(t, team, "prod")
		return h.Status.Condition("Ready").Reason == "UpToDate"
	})
	if last := m.server.Git(t, "log", "-1", "--format=%H", "--grep=^Poolwright-Output: ", "main"); h.Status.Published.Revision != "main@sha1:"+last {
		t.Errorf("published is %+v, and the last commit is %s", h.Status.Published, last)
	}
	m.server.Git(t, "fsck", "--strict")
	byHand(t, filepath.Join(m.clone(t, m.server.Head(t, "main")), dir))
}

// killedPull is mode PullRequest.
type killedPull struct {
	forge *gitea.Server
	k     kube
	team  string
	r     *gitea.Repository

	mu     sync.Mutex // people act while the controller runs
	size   int
	theirs []string // commits of people on the base
	beside []string // those on the branch of the pull request
}

func (m *killedPull) begin(t *testing.T, k kube, team string, trap *trap) {
	m.k, m.team = k, team
	m.r = propose(t, k, m.forge, team, "")
	to, err := url.Parse(m.forge.URL)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(to)
	forward.ErrorHandler = func(http.ResponseWriter, *http.Request, error) {} // who was killed hears nothing
	var whole sync.Mutex
	way := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if trap.springs(r, forward) {
			panic(http.ErrAbortHandler)
		}
		// Gitea 1.26 keeps half of a pull request whose request ends in the middle, and then takes another for the
		// same branches. Here each request is answered to the end, before the next one.
		if strings.HasPrefix(r.URL.Path, "/api/") && r.Method == http.MethodPost {
			whole.Lock()
			defer whole.Unlock()
			r = r.WithContext(context.WithoutCancel(r.Context()))
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(way.Close)
	k.patch(t, team, "prod", `{"spec":{"source":{"url":"`+way.URL+`/bot/`+team+`.git"}}}`)
}

// open is the pull request that is open, with number 0 if there is none.
func (m *killedPull) open(t *testing.T) gitea.Pull {
	t.Helper()
	var open gitea.Pull
	for _, p := range m.r.Pulls(t) {
		if p.State != "open" {
			continue
		}
		if open.Number > 0 {
			t.Errorf("the pull requests %d and %d are open", open.Number, p.Number)
		}
		open = p
	}
	return open
}

func (m *killedPull) joined(*testing.T, []string) {}

func (m *killedPull) requests() []request {
	return append(pushRequests(), request{"a pull request", 2, func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/pulls") && r.Method != http.MethodGet
	}})
}

func (m *killedPull) act(t *testing.T, random *rand.Rand) {
	m.mu.Lock()
	defer m.mu.Unlock()
	open := m.open(t)
	what := random.IntN(12)
	switch {
	case len(m.beside) > 0 && what < 6:
		m.remove(t)
	case len(m.beside) == 0 && open.Number > 0 && what < 3:
		m.merge(t, open, []string{"merge", "squash", "rebase"}[random.IntN(3)])
	case open.Number > 0 && what == 3:
		m.r.Close(t, open.Number)
	case open.Number > 0 && what < 6:
		m.push(t, random)
	case what < 8:
		m.theirs = append(m.theirs, m.r.Commit(t, "main", "of a person", larger(m.team, &m.size)))
	default:
		m.theirs = append(m.theirs, m.r.Commit(t, "main", "of a person", map[string]string{"README.md": fmt.Sprintln(random.Uint64())}))
	}
}

// push pushes a commit to the branch of the pull request, unless the controller was faster.
func (m *killedPull) push(t *testing.T, random *rand.Rand) {
	m.r.Git(t, "fetch", "-q", "--prune", "origin")
	if m.r.Git(t, "branch", "-r", "--list", "origin/"+head) == "" {
		return
	}
	m.r.Git(t, "checkout", "-q", "-B", "beside", "origin/"+head)
	m.r.Git(t, "commit", "-q", "--allow-empty", "-m", fmt.Sprint("beside ", random.Uint64()))
	commit := m.r.Git(t, "rev-parse", "HEAD")
	if m.r.Try("push", "-q", "origin", "HEAD:refs/heads/"+head) == nil {
		m.beside = append(m.beside, commit)
	}
}

// remove removes the commits of people from the branch of the pull request, which keeps the controller from it.
func (m *killedPull) remove(t *testing.T) {
	m.r.Git(t, "push", "-q", "--force-with-lease="+head+":"+m.beside[len(m.beside)-1], "origin", "+"+m.beside[0]+"^:refs/heads/"+head)
	m.beside = nil
}

// merge merges, unless the controller was faster to close or replace it.
func (m *killedPull) merge(t *testing.T, p gitea.Pull, how string) {
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		code := m.r.Do(t, http.MethodPost, fmt.Sprintf("%s/pulls/%d/merge", m.r.Path, p.Number), map[string]string{"Do": how}, nil)
		if code < 300 || m.open(t).Number != p.Number {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("merging pull request %d: %d", p.Number, code)
		}
	}
}

// holds: at most one pull request is open, its branch has one commit on the base, no commit of a person is lost,
// and what a person has declined is not proposed again by the next. The status names a commit that is there.
func (m *killedPull) holds(t *testing.T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open(t)
	m.r.Git(t, "fetch", "-q", "--prune", "origin")
	all := strings.Fields(m.r.Git(t, "rev-list", "origin/main"))
	var ahead []string
	if m.r.Git(t, "branch", "-r", "--list", "origin/"+head) != "" {
		ahead = strings.Fields(m.r.Git(t, "rev-list", "origin/main..origin/"+head))
	}
	if len(ahead) > 1+len(m.beside) {
		t.Errorf("the branch of the pull request has the commits %q", ahead)
	}
	for _, commit := range m.theirs {
		if !slices.Contains(all, commit) {
			t.Errorf("the commit %s of a person is lost", commit)
		}
	}
	for _, commit := range m.beside {
		if !slices.Contains(ahead, commit) {
			t.Errorf("the commit %s of a person on the branch of the pull request is lost", commit)
		}
	}
	if _, commit, _ := strings.Cut(m.k.get(t, m.team, "prod").Status.Published.Revision, "@sha1:"); !m.r.Has(commit) {
		t.Errorf("published is %s, which is not in the repository", commit)
	}
	pulls := m.r.Pulls(t)
	for i := 1; i < len(pulls); i++ {
		was, next := proposal.ReadMarks(pulls[i].Body), proposal.ReadMarks(pulls[i-1].Body)
		if p := pulls[i]; p.State == "closed" && !p.Merged && !was.Withdrawn && was.Output == next.Output {
			t.Errorf("pull request %d proposes what was declined with %d", pulls[i-1].Number, p.Number)
		}
	}
}

func (m *killedPull) settle(t *testing.T, k kube, team string) {
	for i := 0; ; i++ {
		h := k.reconcile(t, team, "prod")
		switch got := h.Status.Condition("Ready"); got.Reason {
		case "UpToDate":
			m.r.Git(t, "fetch", "-q", "--prune", "origin")
			m.r.Git(t, "checkout", "-q", "-B", "work", "origin/main")
			byHand(t, filepath.Join(m.r.Git(t, "rev-parse", "--show-toplevel"), dir))
			return
		case "AwaitingMerge":
			m.r.Git(t, "fetch", "-q", "--prune", "origin") // the API of Gitea is behind its branches for a moment
			if at := m.r.Git(t, "rev-parse", "origin/"+head); h.Status.Published.Revision != head+"@sha1:"+at {
				t.Errorf("published is %+v, and the head is %s", h.Status.Published, at)
			} else {
				m.merge(t, m.open(t), "merge")
			}
		case "ForeignCommits":
			m.remove(t)
		case "Declined":
			k.member(t, team, fmt.Sprintf("%s-last-%d", team, i)) // another output
		default:
			if i > 20 {
				t.Fatalf("it is %s: %s", got.Reason, got.Message)
			}
			time.Sleep(time.Second)
		}
	}
}
