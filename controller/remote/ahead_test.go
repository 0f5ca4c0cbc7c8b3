package remote_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/test/gitserver"
)

// TestAnotherBranch: a branch beside that of the source is created, replaced and deleted, each only
// from the commit that it has.
func TestAnotherBranch(t *testing.T) {
	s := gitserver.New(t, map[string]string{"a.yaml": "a\n"})
	r := open(t, s.Repository(), onLoopback(), credentialsOf(s))
	ctx := context.Background()
	fetch := func() *remote.Source {
		t.Helper()
		source, err := r.Fetch(ctx, "main")
		if err != nil {
			t.Fatal(err)
		}
		return source
	}
	const head = "poolwright/main/root"
	heads := func() map[string]plumbing.Hash {
		t.Helper()
		found, err := r.Heads(ctx, "main", head)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	isMoved := func(what string, err error) {
		t.Helper()
		var why *remote.Error
		if !errors.As(err, &why) || why.Reason != remote.Moved {
			t.Errorf("%s: %v", what, err)
		}
	}
	source := fetch()
	one := write(t, source, "one.yaml", "1\n")
	if err := r.Move(ctx, head, plumbing.ZeroHash, one, source); err != nil {
		t.Fatal(err)
	}
	if err := r.Move(ctx, head, plumbing.ZeroHash, one, source); err != nil {
		t.Error("created already, as it is to be: ", err)
	}
	source = fetch()
	two := write(t, source, "two.yaml", "2\n")
	isMoved("created again", r.Move(ctx, head, plumbing.ZeroHash, two, source))
	isMoved("replaced from another commit", r.Move(ctx, head, two, source.Head, source))
	if err := r.Move(ctx, head, one, two, source); err != nil {
		t.Fatal(err)
	}
	if found := heads(); found[head] != two || found["main"] != source.Head {
		t.Errorf("the branches are %v", found)
	}
	isMoved("deleted from another commit", r.Move(ctx, head, one, plumbing.ZeroHash, fetch()))
	if err := r.Move(ctx, head, two, plumbing.ZeroHash, fetch()); err != nil {
		t.Fatal(err)
	}
	if found := heads(); len(found) != 1 {
		t.Errorf("after the deletion: %v", found)
	}
	if err := r.Move(ctx, head, two, plumbing.ZeroHash, fetch()); err != nil {
		t.Error("deleted already: ", err)
	}
}

// TestAhead: what a branch has and the source does not is known exactly, with the files of it and of
// the commit before.
func TestAhead(t *testing.T) {
	s := gitserver.New(t, map[string]string{"a.yaml": "a\n", "b.yaml": "b\n"})
	for range 3 {
		s.Commit(t, "main", "an older commit", map[string]string{"a.yaml": t.Name()})
		s.Commit(t, "main", "an older commit", map[string]string{"a.yaml": "a\n"})
	}
	r := open(t, s.Repository(), onLoopback(), credentialsOf(s))
	ahead := func() *remote.Ahead {
		t.Helper()
		source, err := r.Fetch(context.Background(), "main")
		if err != nil {
			t.Fatal(err)
		}
		found, err := r.Ahead(context.Background(), "head", source)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := ahead(); found != nil {
		t.Errorf("without the branch: %+v", found)
	}
	fork := s.Head(t, "main")
	s.Git(t, "update-ref", "refs/heads/head", fork)
	if found := ahead(); found == nil || len(found.Commits) != 0 {
		t.Errorf("at the base: %+v", found)
	}
	s.Commit(t, "main", "the base goes on", map[string]string{"a.yaml": "changed\n"})
	if found := ahead(); found == nil || len(found.Commits) != 0 {
		t.Errorf("behind the base: %+v", found)
	}
	own := s.Commit(t, "head", "one", map[string]string{"b.yaml": "changed\n"})
	check := func(want ...string) {
		t.Helper()
		found := ahead()
		if found == nil || len(found.Commits) != len(want) {
			t.Fatalf("%d commits, not %v", len(found.Commits), found.Commits)
		}
		files := func(c string, names int) {
			t.Helper()
			commit, err := object.GetCommit(found, plumbing.NewHash(c))
			if err != nil {
				t.Fatal(c, err)
			}
			tree, err := commit.Tree()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range tree.Entries {
				if _, err := object.GetBlob(found, e.Hash); err != nil {
					t.Errorf("%s: %s: %v", c, e.Name, err)
				}
			}
			if len(tree.Entries) != names {
				t.Errorf("%s: %d files", c, len(tree.Entries))
			}
		}
		files(fork, 2)
		for _, c := range want {
			files(c, 2)
		}
	}
	check(own)
	merge := s.Git(t, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit-tree", "-p", own, "-p", "main", "-m", "merge", own+"^{tree}")
	s.Git(t, "update-ref", "refs/heads/head", merge)
	check(own, merge)
}

// TestHistory: the commits before the last come with their trees, and without the contents of files where the
// server can leave them out.
func TestHistory(t *testing.T) {
	server := gitserver.New(t, map[string]string{"inventory/nodes.yaml": "one\n", "big.txt": strings.Repeat("b\n", 1000)})
	for i := range 5 {
		server.Commit(t, "main", "of a person", map[string]string{"big.txt": fmt.Sprint(i)})
	}
	r := open(t, server.Repository(), onLoopback(), credentialsOf(server))
	source := fetch(t, r)
	for _, c := range []struct {
		filters string
		commits int
		blobs   bool
		known   bool
	}{{"false", 3, true, false}, {"false", 8, true, true}, {"true", 3, false, false}, {"true", 8, false, true}} {
		server.Git(t, "config", "uploadpack.allowFilter", c.filters)
		history, err := r.History(t.Context(), source, c.commits)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(history.Commits); got != min(c.commits, 6) {
			t.Errorf("%+v: %d commits", c, got)
		}
		if got := len(history.Blobs) > 0; got != c.blobs {
			t.Errorf("%+v: contents of files: %v", c, got)
		}
		last, known, err := tree.LastChange(history, source.Head, "inventory", time.Time{})
		if err != nil || known != c.known || known && last.Hash.String() != server.Git(t, "rev-list", "--max-parents=0", "main") {
			t.Errorf("%+v: changed in %v, %v, %v", c, last, known, err)
		}
	}
}
