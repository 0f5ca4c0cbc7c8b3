package keeper_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/gitserver"
)

// TestFactsUnavailable: while the watch of one kind is lost, nothing is published; then it goes on.
func TestFactsUnavailable(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns, name = "lost", "prod"
	k.member(t, ns, "lost-1")
	server := gitserver.New(t, filesOf(ns))
	hydrate(t, k, server, ns, name)
	way := newWay(t)
	keepAt(t, way.kubeconfig, ns)
	k.becomes(t, ns, name, "Published", "UpToDate")

	way.close(func(r *http.Request) bool { return r.URL.Path == "/api/v1/nodes" })
	k.member(t, ns, "lost-2")
	h := k.becomes(t, ns, name, "FactsUnavailable")
	if got := h.Status.Condition("Ready").Message; !strings.HasPrefix(got, "the facts of the cluster are not known: ") {
		t.Errorf("the message is %q", got)
	}
	// What a person commits is not rendered with facts of which nobody knows whether they still hold.
	larger := strings.Replace(filesOf(ns)[dir+"/logs.yaml"], "1Gi", "2Gi", 1)
	theirs := server.Commit(t, "main", "a larger size", map[string]string{dir + "/logs.yaml": larger})
	k.reconcile(t, ns, name)
	if got := server.Head(t, "main"); got != theirs {
		t.Errorf("published without facts: %s after %s", got, theirs)
	}
	k.becomes(t, ns, name, "FactsUnavailable")

	way.close(nil)
	await(t, "the facts are published", func() bool {
		text := server.Show(t, "main", rendered)
		return strings.Contains(text, "lost-2") && strings.Contains(text, "2Gi")
	})
	sound(t, server, []string{theirs})
	checked(t, server)
}

// TestPartition: of two controllers the one with the lease is cut off from the API server, and not from Git. It
// stops before it publishes anything, and the other goes on.
func TestPartition(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns, name = "partition", "prod"
	k.member(t, ns, "partition-0")
	server := gitserver.New(t, filesOf(ns))
	hydrate(t, k, server, ns, name)
	way := newWay(t)
	args := []string{"--lease-namespace", ns, "--lease-duration", "6s"}
	first := start(t, ns, append(args, "--kubeconfig", way.kubeconfig)...)
	first.says(t, "holding the lease")
	await(t, "the first publishes", func() bool { return len(commits(t, server)) == 2 })
	second := start(t, ns, args...)
	second.says(t, "waiting for the lease")

	way.close(all)
	k.member(t, ns, "partition-1")
	if code := first.end(t); code != 1 || !strings.Contains(first.log.String(), "the lease was lost; another process goes on") {
		t.Errorf("the first ends with %d\n%s", code, first.log)
	}
	second.says(t, "holding the lease")
	await(t, "the second publishes", func() bool { return strings.Contains(server.Show(t, "main", rendered), "partition-1") })
	k.reconcile(t, ns, name)
	k.becomes(t, ns, name, "UpToDate")
	if got := commits(t, server); len(got) != 3 {
		t.Errorf("the commits are %q", got)
	}
	sound(t, server, nil)
	checked(t, server)
}

// TestGitPartition: the way to the Git server breaks: before a push, after it was carried out and before the
// answer, and for a while altogether. Each result is there once.
func TestGitPartition(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns, name = "gitpartition", "prod"
	k.member(t, ns, "gitpartition-0")
	server := gitserver.New(t, filesOf(ns))
	hydrate(t, k, server, ns, name)
	keep(t, ns)
	k.becomes(t, ns, name, "Published", "UpToDate")
	drop := func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
	var broken atomic.Bool
	for i, c := range []struct {
		name  string
		watch func(http.ResponseWriter, *http.Request) bool
	}{
		{"before", func(w http.ResponseWriter, r *http.Request) bool {
			return isPush(r) && broken.CompareAndSwap(false, true) && drop(w, r)
		}},
		{"after", func(w http.ResponseWriter, r *http.Request) bool {
			if isPush(r) && broken.CompareAndSwap(false, true) {
				server.Watch(nil)
				server.ServeHTTP(httptest.NewRecorder(), r)
				return drop(w, r)
			}
			return false
		}},
		{"altogether", drop},
	} {
		broken.Store(false)
		before := len(commits(t, server))
		server.Watch(c.watch)
		node := fmt.Sprintf("gitpartition-%d", i+1)
		k.member(t, ns, node)
		if c.name == "altogether" {
			k.becomes(t, ns, name, "SourceUnavailable")
			server.Watch(nil)
		}
		await(t, c.name+": the node is published", func() bool { return strings.Contains(server.Show(t, "main", rendered), node) })
		server.Watch(nil)
		await(t, c.name+": the status has it", func() bool {
			return k.get(t, ns, name).Status.Published.Revision == "main@sha1:"+server.Head(t, "main")
		})
		if got := len(commits(t, server)) - before; got != 1 {
			t.Errorf("%s: %d commits", c.name, got)
		}
	}
	sound(t, server, nil)
	checked(t, server)
}

// TestStopped: of two controllers one is stopped for longer than its lease, at random moments, also in the
// middle of a push.
func TestStopped(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns, name = "stopped", "prod"
	k.member(t, ns, "stopped-0")
	server := gitserver.New(t, filesOf(ns))
	hydrate(t, k, server, ns, name)
	args := []string{"--lease-namespace", ns, "--lease-duration", "3s"}
	holder, next := start(t, ns, args...), (*process)(nil)
	holder.says(t, "holding the lease")
	await(t, "the first node is rendered", func() bool { return len(commits(t, server)) == 2 })
	for i := range 3 {
		next = start(t, ns, args...)
		next.says(t, "waiting for the lease")
		node := fmt.Sprintf("stopped-%d", i+1)
		// In the middle of a push: while the server waits, the holder sleeps, and the lease passes on.
		var caught atomic.Bool
		server.Watch(func(_ http.ResponseWriter, r *http.Request) bool {
			if isPush(r) && caught.CompareAndSwap(false, true) {
				holder.signal(syscall.SIGSTOP)
				time.Sleep(time.Second)
			}
			return false
		})
		k.member(t, ns, node)
		next.says(t, "holding the lease")
		await(t, "the node is rendered", func() bool { return strings.Contains(server.Show(t, "main", rendered), node) })
		server.Watch(nil)
		holder.signal(syscall.SIGCONT)
		if code := holder.end(t); code != 1 {
			t.Errorf("who was stopped ends with %d\n%s", code, holder.log)
		}
		holder = next
	}
	k.reconcile(t, ns, name)
	k.becomes(t, ns, name, "UpToDate")
	if got := commits(t, server); len(got) != 5 {
		t.Errorf("the commits are %q", got)
	}
	sound(t, server, nil)
	checked(t, server)
}
