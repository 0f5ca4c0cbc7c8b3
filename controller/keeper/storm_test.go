package keeper_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/test/gitserver"
)

// pushes takes down when somebody pushes to a server.
type pushes struct {
	mu sync.Mutex
	at []time.Time
}

func (p *pushes) watch(server *gitserver.Server) {
	server.Watch(func(_ http.ResponseWriter, r *http.Request) bool {
		if isPush(r) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.at = append(p.at, time.Now())
		}
		return false
	})
}

func (p *pushes) all() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

func isPush(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "git-receive-pack")
}

// TestStorm: publishing starts debounce after the first change that was not judged, however many follow.
func TestStorm(t *testing.T) {
	t.Parallel()
	const ns, name, debounce = "storm", "prod", 4 * time.Second
	k := newKube(t)
	k.member(t, ns, "storm-0")
	server := gitserver.New(t, filesOf(ns))
	hydrate(t, k, server, ns, name)
	k.patch(t, ns, name, fmt.Sprintf(`{"spec":{"facts":{"debounce":"%v"}}}`, debounce))
	keep(t, ns)
	k.becomes(t, ns, name, "Published", "UpToDate")
	k.reconcile(t, ns, name) // its own commit is judged

	var seen pushes
	seen.watch(server)
	begin := time.Now()
	last := ""
	for i := 1; len(seen.all()) == 0; i++ { // it never rests
		if time.Since(begin) > patience {
			t.Fatal("the changes that follow put the first off")
		}
		last = fmt.Sprintf("storm-%d", i)
		k.member(t, ns, last)
		time.Sleep(200 * time.Millisecond)
	}
	if first := seen.all()[0].Sub(begin); first < debounce {
		t.Errorf("published %v after the first change, before the debounce", first)
	}
	await(t, "the last change is published", func() bool {
		return strings.Contains(server.Show(t, "main", rendered), last+"\n")
	})
	if took, got := time.Since(begin), len(seen.all()); got > 1+int(took/debounce) {
		t.Errorf("%d pushes in %v", got, took)
	}
	sound(t, server, nil)
	checked(t, server)
}

// TestFlapRests: what flaps is published when it has rested for the window, in a cluster that never does.
func TestFlapRests(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns, name = "flaprests", "prod"
	k.member(t, ns, "flaprests-0")
	k.member(t, ns, "flaprests-1")
	server := gitserver.New(t, filesOf(ns))
	hydrate(t, k, server, ns, name)
	k.patch(t, ns, name, `{"spec":{"facts":{"flapWindow":"20s"}}}`)
	keeper, _ := newKeeper(t, ns)
	if _, err := keeper.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	// It went twice; for a while, that is within the window.
	at := time.Now().Add(10 * time.Second).UTC().Format(time.RFC3339)
	entry := `{"time":"` + at + `","output":"sha256:00","changed":["Volume logs-flaprests-1"]}`
	if _, err := k.hydrations(ns).Patch(t.Context(), name, types.MergePatchType, []byte(`{"status":{"history":[`+entry+`,`+entry+`]}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	k.away(t, "flaprests-1")
	keep(t, ns)
	k.becomes(t, ns, name, "Flapping")
	await(t, "it is published", func() bool {
		k.member(t, "nobody", fmt.Sprintf("flaprests-%d", time.Now().UnixNano()))
		time.Sleep(2 * time.Second)
		return !strings.Contains(server.Show(t, "main", rendered), "flaprests-1")
	})
}

// TestFactsStale: facts that are older than those in Git are not published.
func TestFactsStale(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns, name = "stale", "prod"
	k.member(t, ns, "stale-1")
	server := gitserver.New(t, filesOf(ns))
	hydrate(t, k, server, ns, name)
	keep(t, ns)
	k.becomes(t, ns, name, "Published", "UpToDate")
	const nodes = dir + "/inventory/nodes.yaml"
	committed := server.Show(t, "main", nodes)
	newer := strings.Replace(committed, "    name: stale-1\n", "    name: stale-1\n    generation: 5\n", 1)
	if newer == committed {
		t.Fatalf("the node is not in\n%s", committed)
	}
	head := server.Commit(t, "main", "facts of later", map[string]string{nodes: newer})
	k.member(t, ns, "stale-2")
	k.reconcile(t, ns, name)
	h := k.becomes(t, ns, name, "FactsStale")
	if got := h.Status.Condition("Ready").Message; !strings.HasPrefix(got, nodes+": Node stale-1 has generation 0 in the cluster, and 5 in the committed inventory: ") {
		t.Errorf("the message is %q", got)
	}
	if server.Head(t, "main") != head {
		t.Error("published")
	}
	server.Commit(t, "main", "the cluster was restored", map[string]string{nodes: ""})
	k.reconcile(t, ns, name)
	await(t, "the facts of the cluster are published", func() bool { return strings.Contains(server.Show(t, "main", rendered), "stale-2") })
	checked(t, server)
}
