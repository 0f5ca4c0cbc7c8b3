package keeper_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	// joined gets the nodes that there are from now on, for the next controller.
	joined(t *testing.T, nodes []string)
	// requests are those at which something happens, beside those of every mode.
	requests() []request
	// act is what a person does now and then, also while the controller runs.
	act(t *testing.T, random *rand.Rand)
	// holds checks what has to hold at every moment.
	holds(t *testing.T)
	// settle helps a controller that runs to the end of its work, and checks the result.
	settle(t *testing.T, k kube, team string)
}

// TestKills kills the controller at random moments, before and after its requests, and sometimes two
// at the same time of which none knows of the other. People push between its requests. Nothing is published twice,
// lost or overwritten, and the last one finishes the work. make kills-controller does it thousands of times.
func TestKills(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T) func() killed{
		"branch": func(*testing.T) func() killed { return func() killed { return &killedBranch{} } },
		"pull": func(t *testing.T) func() killed {
			s := gitea.Start(t)
			return func() killed { return &killedPull{forge: s} }
		},
		"oci":   func(*testing.T) func() killed { return func() killed { return &killedArtifact{} } },
		"apply": func(*testing.T) func() killed { return func() killed { return &killedApply{} } },
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

// live is the life of one package, in which the controller is killed so many times. The first time it is a
// process; then it is one in this process, of which from one moment on nothing gets through to any server. To
// everybody else that is the same, and it costs a tenth.
func live(t *testing.T, mode killed, team string, seed uint64, kills int) {
	random := rand.New(rand.NewPCG(seed, 5))
	k := newKube(t)
	way, trap := newWay(t), &trap{}
	way.trap = trap
	nodes, made := []string{team + "-0"}, 0
	k.member(t, team, nodes[0])
	mode.begin(t, k, team, trap)
	k.patch(t, team, "prod", `{"spec":{"facts":{"flapWindow":"0s"}}}`)
	at := map[string]int{}
	defer func() { t.Logf("killed at %v", at) }()
	var running []victim
	kill := func() {
		for _, v := range running {
			v.kill()
		}
	}
	end := func() {
		trap.shut()
		way.close(all)
		kill()
		for _, v := range running {
			v.gone(t)
		}
		running = nil
		trap.clear()
		way.close(nil)
	}
	t.Cleanup(end)
	// A run to its end takes this long on this machine.
	began := time.Now()
	running = []victim{startInside(t, way.kubeconfig, team)}
	k.becomes(t, team, "prod", "Published", "UpToDate", "AwaitingMerge")
	whole := time.Since(began)
	end()
	for i := range kills {
		if random.IntN(4) > 0 {
			if len(nodes) > 3 && random.IntN(2) == 0 {
				i := 1 + random.IntN(len(nodes)-1)
				k.away(t, nodes[i])
				nodes = append(nodes[:i], nodes[i+1:]...)
			} else {
				made++
				nodes = append(nodes, fmt.Sprintf("%s-%d", team, made))
				k.member(t, team, nodes[len(nodes)-1])
			}
		}
		mode.joined(t, nodes)
		if random.IntN(2) == 0 {
			mode.act(t, random)
		}
		places := append(everywhere(), mode.requests()...)
		trap.rivals = random.IntN(5) == 0
		sprung := trap.set(random, places, func() {
			way.close(all)
			kill()
		})
		if random.IntN(3) > 0 {
			theirs := rand.New(rand.NewPCG(seed, uint64(1000+i)))
			trap.between(random, places, func() { mode.act(t, theirs) })
		}
		begin := func() victim { return startInside(t, way.kubeconfig, team) }
		longest := 2*whole + time.Second // then there is no such request
		if i == 0 {
			longest += 2 * time.Second
			begin = func() victim { return start(t, team, "--leader-elect=false", "--kubeconfig", way.kubeconfig) }
		}
		if random.IntN(5) == 0 {
			longest = time.Duration(random.Int64N(int64(whole)))
		}
		running = []victim{begin()}
		if trap.rivals {
			running = append(running, begin())
		}
		trap.arm()
		if random.IntN(3) == 0 {
			mode.act(t, random)
		}
		select {
		case <-sprung:
			at[trap.name]++
		case <-time.After(longest):
			at["some time"]++
		}
		end()
		if mode.holds(t); t.Failed() {
			t.Logf("after kill %d", i+1)
			return
		}
	}
	running = []victim{startInside(t, way.kubeconfig, team)}
	mode.settle(t, k, team)
	mode.holds(t)
	end()
}

// everywhere are requests of each mode.
func everywhere() []request {
	return []request{
		{"a status", 2, func(r *http.Request) bool { return isWrite(r, "/hydrations/prod/status") }},
		{"a request of Git", 8, func(r *http.Request) bool { return isGit(r) }},
	}
}

// larger is the package with a larger size: it can never be smaller again.
func larger(team string, size *int) map[string]string {
	*size++
	return map[string]string{dir + "/logs.yaml": strings.Replace(filesOf(team)[dir+"/logs.yaml"], "1Gi", fmt.Sprintf("%dGi", 1+*size), 1)}
}

// byHand wants the output of a package to be what a person with a shell gets from the cluster.
func byHand(t *testing.T, pkg string) {
	t.Helper()
	before := outputIn(t, pkg)
	for _, args := range [][]string{{"render", pkg, "--check"}, {"inventory", "--kubeconfig", plane.Kubeconfig, "-O", filepath.Join(pkg, "inventory")}, {"render", pkg}} {
		if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			t.Fatalf("poolwright %v: %v\n%s", args, err, out)
		}
	}
	// The nodes of other teams may be others by now, which are in the inventory alone.
	if after := outputIn(t, pkg); !maps.Equal(before, after) {
		t.Errorf("a person gets another output:\n%v\ninstead of\n%v", after, before)
	}
}

// outputIn are the texts of the output of a package.
func outputIn(t *testing.T, pkg string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(filepath.Join(pkg, "rendered"), func(file string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		texts[file] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
