package keeper_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/gitea"
)

var (
	kills = flag.Int("kills", 6, "how often the controller is killed in each mode")
	first = flag.Uint64("first", 1, "the seed of the first life; each has at most 20 kills")
)

const killsOfLife = 20

// killed is a mode of publishing in which the controller is killed. A new one needs these steps, and a line in
// TestKills.
type killed interface {
	// begin makes the repository and the Hydration of a team. What the controller asks its servers goes through
	// the trap.
	begin(t *testing.T, k kube, team string, trap *trap)
	// act is what a person does now and then, also while the controller runs.
	act(t *testing.T, random *rand.Rand)
	// holds checks what has to hold at every moment.
	holds(t *testing.T)
	// settle helps a controller that runs to the end of its work, and checks the result.
	settle(t *testing.T, k kube, team string)
}

// TestKills kills the controller at random moments, before and after its requests, and sometimes two
// at the same time of which none knows of the other. Nothing is published twice, lost or overwritten, and the last
// one finishes the work. make kills-controller does it thousands of times.
func TestKills(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T) func() killed{
		"branch": func(*testing.T) func() killed { return func() killed { return &killedBranch{} } },
		"pull": func(t *testing.T) func() killed {
			s := gitea.Start(t)
			return func() killed { return &killedPull{forge: s} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mode := begin(t)
			for left, seed := *kills, *first; left > 0; left, seed = left-killsOfLife, seed+1 {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					live(t, mode(), fmt.Sprintf("%s-%d", name, seed), seed, min(left, killsOfLife))
				})
				if t.Failed() {
					t.Fatalf("run again with -run 'TestKills/%s' -kills=%d -first=%d", name, min(left, killsOfLife), seed)
				}
			}
		})
	}
}

// live is the life of one package, in which the controller is killed so many times.
func live(t *testing.T, mode killed, team string, seed uint64, kills int) {
	random := rand.New(rand.NewPCG(seed, 5))
	k := newKube(t)
	way, trap := newWay(t), &trap{}
	way.trap = trap
	k.member(t, team, team+"-0")
	mode.begin(t, k, team, trap)
	k.patch(t, team, "prod", `{"spec":{"facts":{"flapWindow":"0s"}}}`)
	nodes, made := []string{}, 0
	at := map[string]int{}
	defer func() { t.Logf("killed at %v", at) }()
	begin := func() *process { return start(t, team, "--leader-elect=false", "--kubeconfig", way.kubeconfig) }
	began := time.Now()
	p := begin()
	k.becomes(t, team, "prod", "Published", "UpToDate", "AwaitingMerge")
	whole := time.Since(began) // of a run, on this machine
	p.signal(syscall.SIGKILL)
	p.end(t)
	for range kills {
		if random.IntN(4) > 0 {
			if len(nodes) > 2 && random.IntN(2) == 0 {
				i := random.IntN(len(nodes))
				k.away(t, nodes[i])
				nodes = append(nodes[:i], nodes[i+1:]...)
			} else {
				made++
				nodes = append(nodes, fmt.Sprintf("%s-%d", team, made))
				k.member(t, team, nodes[len(nodes)-1])
			}
		}
		if random.IntN(2) == 0 {
			mode.act(t, random)
		}
		running := []*process{begin()}
		if random.IntN(5) == 0 {
			running = append(running, begin())
		}
		sprung := trap.set(random, func() {
			for _, p := range running {
				p.signal(syscall.SIGKILL)
			}
		})
		longest := time.After(time.Duration(random.Int64N(int64(2 * whole))))
		if random.IntN(3) == 0 {
			mode.act(t, random)
		}
		select {
		case <-sprung:
			at[trap.name]++
		case <-longest:
			at["some time"]++
		}
		for _, p := range running {
			p.signal(syscall.SIGKILL)
			if code := p.end(t); code != -1 {
				t.Fatalf("it ended by itself, with %d", code)
			}
		}
		trap.clear()
		if mode.holds(t); t.Failed() {
			return
		}
	}
	p = begin()
	mode.settle(t, k, team)
	mode.holds(t)
	p.signal(syscall.SIGTERM)
	if code := p.end(t); code != 0 {
		t.Errorf("SIGTERM ends it with %d", code)
	}
}

// trap kills at a request, before or after it was carried out.
type trap struct {
	mu     sync.Mutex
	left   int // requests until it springs; 0 for never
	is     func(*http.Request) bool
	after  bool
	name   string
	spring func()
}

// requests are those at which it kills, by name. A push is the place where most can go wrong.
var requests = []struct {
	name string
	most int // how many of them are let through before
	is   func(*http.Request) bool
}{
	{"a push", 2, isPush},
	{"a push", 2, isPush},
	{"a status", 2, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/status") }},
	{"a pull request", 2, func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/pulls") && r.Method != http.MethodGet
	}},
	{"a request of Git", 8, func(r *http.Request) bool { return strings.Contains(r.URL.Path, ".git/") }},
}

// set sets the trap for a random request. The channel is closed when it has sprung.
func (t *trap) set(random *rand.Rand, kill func()) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := requests[random.IntN(len(requests))]
	t.is, t.left, t.after, t.name = r.is, 1+random.IntN(r.most), random.IntN(2) == 0, "before "+r.name
	if t.after {
		t.name = "after " + r.name
	}
	sprung := make(chan struct{})
	t.spring = func() {
		kill()
		close(sprung)
	}
	return sprung
}

func (t *trap) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = 0
}

// springs says that the request was in the trap; it gets no answer.
func (t *trap) springs(r *http.Request, to http.Handler) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	if t.left == 0 || !t.is(r) {
		t.mu.Unlock()
		return false
	}
	if t.left--; t.left > 0 {
		t.mu.Unlock()
		return false
	}
	after, spring := t.after, t.spring
	t.mu.Unlock()
	if after {
		to.ServeHTTP(httptest.NewRecorder(), r)
	}
	spring()
	return true
}

// larger is the package with a larger size: it can never be smaller again.
func larger(team string, size *int) map[string]string {
	*size++
	return map[string]string{dir + "/logs.yaml": strings.Replace(filesOf(team)[dir+"/logs.yaml"], "1Gi", fmt.Sprintf("%dGi", 1+*size), 1)}
}

// byHand wants the output of a clone to be what a person with a shell gets from the cluster.
func byHand(t *testing.T, clone string) {
	t.Helper()
	pkg := filepath.Join(clone, dir)
	for _, args := range [][]string{{"render", pkg, "--check"}, {"inventory", "--kubeconfig", plane.Kubeconfig, "-O", filepath.Join(pkg, "inventory")}, {"render", pkg}} {
		if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			t.Fatalf("poolwright %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	// The nodes of other teams may be others by now, which are in the inventory alone.
	status := exec.Command("git", "-C", clone, "status", "--porcelain", "--", dir+"/rendered")
	if out, err := status.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("a person gets another output: %v\n%s", err, out)
	}
}
