package publish

import (
	"context"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/proposal"
	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/test/gitserver"
)

// TestReadHead reads the commits of a head from a server: whose they are, what they have, and which of
// them merge the base alone.
func TestReadHead(t *testing.T) {
	s := gitserver.New(t, map[string]string{"p/spec.yaml": "1\n", "p/rendered/a.yaml": "old\n", "README.md": "1\n"})
	r, err := remote.Open(s.Repository(), remote.Rules{Hosts: []string{"127.0.0.1"}, MaxSource: 1 << 20}, remote.Credentials{Username: s.User, Password: s.Password})
	if err != nil {
		t.Fatal(err)
	}
	read := func() *proposal.Head {
		t.Helper()
		source, err := r.Fetch(context.Background(), "main")
		if err != nil {
			t.Fatal(err)
		}
		ahead, err := r.Ahead(context.Background(), "head", source)
		if err != nil {
			t.Fatal(err)
		}
		h, err := readHead(ahead, "p", r.Rules().MaxSource)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if h := read(); h != nil {
		t.Errorf("without a branch: %+v", h)
	}
	fork := s.Head(t, "main")
	s.Git(t, "update-ref", "refs/heads/head", fork)
	if h := read(); h == nil || len(h.Commits) != 0 || h.Commit != fork {
		t.Errorf("at the base: %+v", h)
	}
	output := hydration.Digest(map[string][]byte{"a.yaml": []byte("new\n")})
	one := s.Commit(t, "head", "one\n\nPoolwright-Output: "+output, map[string]string{"p/rendered/a.yaml": "new\n"})
	ann := proposal.Identity{Name: "Ann", Email: "ann@example.com"}
	pkg := s.Git(t, "rev-parse", fork+":p")
	check := func(name, tip, base string, merges map[string]bool) {
		t.Helper()
		h := read()
		if h.Commit != tip || h.Output != output || h.Fork.Commit != base || len(h.Commits) != 1+len(merges) {
			t.Errorf("%s: %+v", name, h)
		}
		for _, c := range h.Commits {
			if c.Author != ann || c.Committer != ann || c.Output != output || c.MergesBase != merges[c.ID] || (c.Trailer == output) != (c.ID == one) {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
	check("one commit", one, fork, nil)
	if got := read().Fork.Package; got != pkg {
		t.Errorf("the package at the fork is %s, not %s", got, pkg)
	}

	base := s.Commit(t, "main", "elsewhere", map[string]string{"README.md": "2\n"})
	merge := func(files map[string]string) string {
		t.Helper()
		s.Git(t, "update-ref", "refs/heads/scratch", base)
		s.Commit(t, "scratch", "for its tree", files)
		c := s.Git(t, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit-tree", "-p", one, "-p", base, "-m", "merge", "scratch^{tree}")
		s.Git(t, "update-ref", "refs/heads/head", c)
		return c
	}
	m := merge(map[string]string{"p/rendered/a.yaml": "new\n"})
	check("a mere merge", m, base, map[string]bool{m: true})
	m = merge(map[string]string{"p/rendered/a.yaml": "new\n", "p/spec.yaml": "mine\n"})
	check("a merge with a change", m, base, map[string]bool{m: false})

	large := strings.Repeat("x", 600<<10)
	s.Git(t, "update-ref", "refs/heads/head", one)
	s.Commit(t, "head", "twice the same", map[string]string{"p/rendered/a.yaml": large, "p/rendered/b.yaml": large})
	if h := read(); h.Output != "" {
		t.Errorf("an output that is too large: %+v", h)
	}
}
