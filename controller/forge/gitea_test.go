package forge

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/controller/remote"
	server "github.com/poolwright/poolwright/test/gitea"
)

// TestGitea asks a real one.
func TestGitea(t *testing.T) {
	s := server.Start(t)
	r := s.Repository(t, "storage", map[string]string{"a.yaml": "1\n"})
	ctx := context.Background()
	connect := func(source, token string) Forge {
		t.Helper()
		f, err := New(Place{Source: source, Provider: Gitea}, rules(), remote.Credentials{Username: s.User, Password: token})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.End)
		return f
	}
	f := connect(r.URL, s.Token)
	find := func(want ...State) []Request {
		t.Helper()
		found, err := f.Find(ctx, head, "main")
		if err != nil {
			t.Fatal(err)
		}
		var states []State
		for _, q := range found {
			states = append(states, q.State)
		}
		if len(states) != len(want) {
			t.Fatalf("found %v, want %v", states, want)
		}
		for i := range want {
			if states[i] != want[i] {
				t.Fatalf("found %v, want %v", states, want)
			}
		}
		return found
	}
	find()
	if _, err := f.Create(ctx, head, "main", Text{"t", "b"}); err == nil || IsConflict(err) {
		t.Errorf("without a branch: %v", err)
	}
	first := r.Commit(t, head, "one", map[string]string{"a.yaml": "2\n"})
	q, err := f.Create(ctx, head, "main", Text{"a title", "a body\n<!-- poolwright: output sha256:1 -->\n"})
	if err != nil || q.Number != 1 || q.Head != first || q.State != Open || !strings.HasPrefix(q.URL, s.URL+"/bot/storage/pulls/") {
		t.Fatalf("%+v, %v", q, err)
	}
	if _, err := f.Create(ctx, head, "main", Text{"a title", "b"}); !IsConflict(err) {
		t.Errorf("a second one: %v", err)
	}
	// Others do not count: of another branch, and to another branch.
	r.Commit(t, "other", "two", map[string]string{"a.yaml": "3\n"})
	if _, err := f.Create(ctx, "other", "main", Text{"other", "b"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Create(ctx, head, "other", Text{"other", "b"}); err != nil {
		t.Fatal(err)
	}
	if got := find(Open)[0]; got.Text != (Text{"a title", "a body\n<!-- poolwright: output sha256:1 -->\n"}) || got.Conflict || got.Head != first {
		t.Errorf("%+v", got)
	}
	if err := f.Edit(ctx, q, Text{"another title", strings.Repeat("é", mostBody)}); err != nil {
		t.Fatal(err)
	}
	if got := find(Open)[0]; got.Title != "another title" || len([]rune(got.Body)) != mostBody {
		t.Errorf("%q with %d characters", got.Title, len([]rune(got.Body)))
	}

	// A conflict is seen, and one that is no more.
	r.Commit(t, "main", "in the way", map[string]string{"a.yaml": "4\n"})
	await(t, "conflict", func() bool { return find(Open)[0].Conflict })
	if err := f.Merge(ctx, q, first); !IsNotMergeable(err) {
		t.Errorf("merged with a conflict: %v", err)
	}
	r.Git(t, "push", "-q", "origin", "--delete", head)
	await(t, "closed with its branch", func() bool {
		all, err := f.Find(ctx, head, "main")
		return err == nil && len(all) == 1 && all[0].State == Closed
	})
	second := r.Commit(t, head, "again", map[string]string{"a.yaml": "5\n"})
	if q, err = f.Create(ctx, head, "main", Text{"t", "b"}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(ctx, q); err != nil {
		t.Fatal(err)
	}
	find(Closed, Closed)
	if q, err = f.Create(ctx, head, "main", Text{"t", "b"}); err != nil {
		t.Fatal(err)
	}

	// Only the judged head is merged, in a way that the repository allows.
	r.Must(t, http.MethodPatch, r.Path, map[string]any{"allow_merge_commits": false, "allow_squash_merge": true, "allow_rebase": false, "default_merge_style": "squash"}, nil)
	await(t, "refused for another head", func() bool {
		err := f.Merge(ctx, q, first)
		if !IsNotMergeable(err) {
			t.Fatalf("merged another head: %v", err)
		}
		return strings.Contains(err.Error(), "head out of date")
	})
	await(t, "merged", func() bool {
		err := f.Merge(ctx, q, second)
		if err != nil && !IsNotMergeable(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	if got := find(Merged, Closed, Closed)[0]; got.Head != second || got.Conflict {
		t.Errorf("%+v", got)
	}
	if got := r.Show(t, "main", "a.yaml"); got != "5" {
		t.Errorf("main has %q", got)
	}
	r.Git(t, "push", "-q", "origin", "--delete", head)
	if got := find(Merged, Closed, Closed)[0]; got.Head != second {
		t.Errorf("without the branch: %+v", got)
	}

	for source, token := range map[string]string{r.URL: "wrong-canary", s.URL + "/bot/none.git": s.Token} {
		_, err := connect(source, token).Find(ctx, head, "main")
		var why *Error
		if !errors.As(err, &why) || strings.Contains(why.Message, token) || (why.Reason == remote.Unknown) == (why.Status == http.StatusNotFound) {
			t.Errorf("%s: %+v", source, err)
		}
	}
}

// await waits until Gitea has done what it does beside a request.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not ", what)
		}
	}
}
