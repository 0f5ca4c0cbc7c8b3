package publish

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/controller/forge"
	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/test/gitserver"
)

// pulls answers as the API of GitHub does that has these pull requests, and refuses each new one.
type pulls struct {
	open    []map[string]any
	refused func() // is called with each refusal
}

func (p *pulls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any = p.open
	switch {
	case r.Method == http.MethodPost:
		p.refused()
		w.WriteHeader(http.StatusUnprocessableEntity)
		answer = map[string]any{"message": "the words of the forge"}
	case strings.HasSuffix(r.URL.Path, "/pulls/1"):
		answer = p.open[0]
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (p *pulls) add(head string) {
	p.open = append(p.open, map[string]any{"number": 1, "state": "open", "head": map[string]any{"ref": "head", "sha": head}, "base": map[string]any{"ref": "main"}})
}

// propose makes a repository, a forge for it, and a change to propose.
func propose(t *testing.T, p *pulls) (*gitserver.Server, PullRequest, Change) {
	t.Helper()
	s := gitserver.New(t, map[string]string{"p/rendered/a.yaml": "old\n"})
	rules := remote.Rules{Hosts: []string{"127.0.0.1"}, MaxSource: 1 << 20}
	credentials := remote.Credentials{Username: s.User, Password: s.Password}
	r, err := remote.Open(s.Repository(), rules, credentials)
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(p)
	t.Cleanup(api.Close)
	f, err := forge.New(forge.Place{Source: "https://github.com/team/storage", Provider: forge.GitHub, API: api.URL}, &rules, credentials)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.End)
	source, err := r.Fetch(context.Background(), "main")
	if err != nil {
		t.Fatal(err)
	}
	digest := func(text string) string { return hydration.Digest(map[string][]byte{"a.yaml": []byte(text)}) }
	return s, PullRequest{Remote: r, Forge: f, Head: "head"}, Change{
		Source: source, Branch: "main", Dir: "p", Before: digest("old\n"), Output: digest("new\n"),
		Files: map[string][]byte{"rendered/a.yaml": []byte("new\n")}, Risk: change.Safe,
		Subject: "a change", Body: func(int) string { return "a body" }, Message: "a change\n\nPoolwright-Output: " + digest("new\n") + "\n",
		Author: tree.Author{Name: "Bot", Email: "bot@example.com"}, Time: time.Unix(1, 0), Step: func(bool, map[string][]byte) error { return nil },
	}
}

// TestRefusedByForge: a forge that does not take a pull request has its say, unless another one was
// there first.
func TestRefusedByForge(t *testing.T) {
	p := &pulls{refused: func() {}}
	_, requests, c := propose(t, p)
	_, err := requests.Publish(context.Background(), c)
	var refused *forge.Error
	if !errors.As(err, &refused) || refused.Reason != remote.Failed || !strings.Contains(refused.Message, "the words of the forge") {
		t.Errorf("refused: %v", err)
	}
	p.refused = func() { p.add("1") }
	_, err = requests.Publish(context.Background(), c)
	var moved *remote.Error
	if !errors.As(err, &moved) || moved.Reason != remote.Moved {
		t.Errorf("somebody was faster: %v", err)
	}
}

// TestSafeBesideRequest: where a safe change is pushed to the base, an older pull request is looked at
// soon.
func TestSafeBesideRequest(t *testing.T) {
	p := &pulls{}
	_, alone, c := propose(t, p)
	alone.Safe = true
	done, err := alone.Publish(context.Background(), c)
	if err != nil || done.Again || done.Reason != "Published" {
		t.Errorf("without a pull request: %+v, %v", done, err)
	}

	s, requests, c := propose(t, p)
	requests.Safe = true
	output := hydration.Digest(map[string][]byte{"a.yaml": []byte("older\n")})
	s.Git(t, "update-ref", "refs/heads/head", s.Head(t, "main"))
	p.add(s.Commit(t, "head", "older\n\nPoolwright-Output: "+output, map[string]string{"p/rendered/a.yaml": "older\n"}))
	c.Author = tree.Author{Name: "Ann", Email: "ann@example.com"} // whose the commit is
	done, err = requests.Publish(context.Background(), c)
	if err != nil || !done.Again || done.Reason != "Published" {
		t.Errorf("beside a pull request: %+v, %v", done, err)
	}
}
