package keeper_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/gitserver"
)

// large are files that Git cannot pack into less than so many bytes.
func large(bytes int) map[string]string {
	random := rand.NewChaCha8([32]byte{})
	text := make([]byte, bytes)
	_, _ = random.Read(text)
	all := files()
	all["large.bin"] = string(text)
	return all
}

// TestSourceSize: what is read of a package is limited by what its files have together, not by what the pack has.
func TestSourceSize(t *testing.T) {
	k := newKube(t)
	k.node(t, "n1")
	all := files()
	for _, name := range strings.Split("abcdefghijklmnopqrst", "") {
		all[dir+"/"+name+".yaml"] = "# " + strings.Repeat("x", 1<<20) + "\n"
	}
	server := gitserver.New(t, all)
	const ns = "size"
	hydrate(t, k, server, ns, "prod")
	keep(t, ns)
	h := k.becomes(t, ns, "prod", "SourceRefused")
	if got, want := h.Status.Condition("Ready").Message, dir+"/p.yaml makes the package larger than is read; move what is no input out of it"; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
}

// TestLargeSources: of two sources that do not fit into memory together, one waits until the other is
// published.
func TestLargeSources(t *testing.T) {
	k := newKube(t)
	k.node(t, "n1")
	const ns = "large"
	arrived, pass := make(chan int, 2), make(chan struct{})
	for i := range 2 {
		server := gitserver.New(t, large(5<<20)) // more than a first try reads
		server.Watch(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "git-receive-pack") {
				arrived <- i
				<-pass
			}
			return false
		})
		hydrate(t, k, server, ns, fmt.Sprintf("prod-%d", i))
	}
	keep(t, ns)
	<-arrived
	select {
	case <-arrived:
		t.Error("both are in memory at the same time")
	case <-time.After(3 * time.Second):
	}
	close(pass)
	for i := range 2 {
		k.becomes(t, ns, fmt.Sprintf("prod-%d", i), "Published")
	}
}

// TestSlowServers: servers that do not answer keep nobody else from being judged.
func TestSlowServers(t *testing.T) {
	k := newKube(t)
	k.node(t, "n1")
	const ns = "slow"
	slow := gitserver.New(t, files())
	end := make(chan struct{})
	slow.Watch(func(http.ResponseWriter, *http.Request) bool {
		<-end
		return false
	})
	t.Cleanup(func() { close(end) }) // before the server is closed
	all := 4 * runtime.GOMAXPROCS(0)
	for i := range all {
		hydrate(t, k, slow, ns, fmt.Sprintf("slow-%d", i))
		k.patch(t, ns, fmt.Sprintf("slow-%d", i), fmt.Sprintf(`{"spec":{"source":{"path":"clusters/%d"}}}`, i))
	}
	keep(t, ns)
	asked := 0
	await(t, "all wait for the server", func() bool {
		asked += len(slow.Requests())
		return asked >= all
	})
	hydrate(t, k, gitserver.New(t, files()), ns, "prod")
	k.becomes(t, ns, "prod", "Published")
}
