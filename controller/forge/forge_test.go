package forge

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/controller/remote"
)

const (
	head  = "poolwright/main/clusters/prod"
	token = "t0ken-canary/4711"
)

// exchange is a request that is expected next, and its answer.
type exchange struct {
	Request string            `json:"request"`
	Body    any               `json:"body"` // nil for any
	Status  int               `json:"status"`
	Header  map[string]string `json:"header"`
	Answer  any               `json:"answer"`
}

// play answers requests as a file of answers has them, in its order.
func play(t *testing.T, all []exchange) *httptest.Server {
	t.Helper()
	next := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil || next == len(all) {
			t.Errorf("%s %s: %v; %d requests are expected", r.Method, r.URL, err, len(all))
			return
		}
		e := all[next]
		next++
		if got := r.Method + " " + r.URL.RequestURI(); got != e.Request {
			t.Errorf("asked %s\n want %s", got, e.Request)
		}
		if got := r.Header.Get("Authorization"); got != "Bearer "+token {
			t.Errorf("%s: authorization %q", e.Request, got)
		}
		if e.Body != nil {
			var got any
			if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, e.Body) {
				t.Errorf("%s: body %s, want %v", e.Request, text, e.Body)
			}
		}
		for name, value := range e.Header {
			w.Header().Set(name, value)
		}
		if e.Status > 0 {
			w.WriteHeader(e.Status)
		}
		if err := json.NewEncoder(w).Encode(e.Answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(func() {
		s.Close()
		if next != len(all) {
			t.Errorf("not asked: %s", all[next].Request)
		}
	})
	return s
}

func rules() *remote.Rules { return &remote.Rules{Hosts: []string{"127.0.0.1"}} }

func client(t *testing.T, provider, source, api string) Forge {
	t.Helper()
	f, err := New(Place{Source: source, Provider: provider, API: api}, rules(), remote.Credentials{BearerToken: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.End)
	return f
}

// TestRecorded: each forge is asked as its documents say. The answers are made after them, too.
func TestRecorded(t *testing.T) {
	for provider, source := range map[string]string{
		GitHub: "https://github.com/team/storage.git", GitLab: "https://gitlab.com/team/sub/storage.git", BitbucketServer: "https://bitbucket.example.com/scm/TEAM/storage.git",
	} {
		t.Run(provider, func(t *testing.T) {
			text, err := os.ReadFile("testdata/" + provider + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var file struct{ Exchanges []exchange }
			if err := json.Unmarshal(text, &file); err != nil {
				t.Fatal(err)
			}
			f := client(t, provider, source, play(t, file.Exchanges).URL)
			ctx := context.Background()
			found, err := f.Find(ctx, head, "main")
			if err != nil {
				t.Fatal(err)
			}
			type brief struct {
				Number   int
				State    State
				Head     byte
				Conflict bool
			}
			var got []brief
			for _, r := range found {
				got = append(got, brief{r.Number, r.State, r.Head[0], r.Conflict})
				if r.Title == "" || len(r.Head) != 40 || !strings.HasSuffix(r.URL, "/"+string(r.Title[6:])) {
					t.Errorf("%+v", r)
				}
			}
			if want := []brief{{9, Open, '9', true}, {7, Closed, '7', false}, {5, Merged, '5', false}}; !reflect.DeepEqual(got, want) {
				t.Errorf("found %v, want %v", got, want)
			}
			r, err := f.Create(ctx, head, "main", Text{"a title", "a body"})
			if err != nil || r.Number != 10 || r.State != Open || r.Conflict {
				t.Errorf("created %+v, %v", r, err)
			}
			if _, err := f.Create(ctx, head, "main", Text{"a title", "a body"}); !IsConflict(err) || !strings.Contains(err.Error(), "open") && !strings.Contains(err.Error(), "already exists") {
				t.Errorf("created again: %v", err)
			}
			if err := f.Edit(ctx, r, Text{"a title", "a body"}); err != nil {
				t.Error(err)
			}
			if err := f.Close(ctx, r); err != nil {
				t.Error(err)
			}
			err = f.Merge(ctx, r, r.Head)
			if provider != BitbucketServer {
				if err != nil {
					t.Error(err)
				}
				err = f.Merge(ctx, r, r.Head)
			}
			if !IsNotMergeable(err) {
				t.Errorf("merged: %v", err)
			}
		})
	}
}

// TestErrors: an answer that is no success is an error with a reason, and without the credentials.
func TestErrors(t *testing.T) {
	soon := time.Now().Add(time.Hour)
	for _, c := range []struct {
		status int
		header map[string]string
		answer any
		reason remote.Reason
		is     func(error) bool
		after  time.Duration
		words  string
	}{
		{401, nil, map[string]any{"message": "Bad credentials " + token}, remote.Unknown, nil, 0, "does not accept the credentials: Bad credentials ***; correct the Secret"},
		{403, nil, map[string]any{"message": "Resource not accessible"}, remote.Unknown, nil, 0, "allow it to read and write pull requests"},
		{403, map[string]string{"Retry-After": "7"}, map[string]any{"message": "secondary rate limit"}, remote.Failed, nil, 7 * time.Second, "permits no more requests for now (403)"},
		{403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}, "x", remote.Failed, nil, 0, "permits no more requests"},
		{429, map[string]string{"Retry-After": soon.UTC().Format(http.TimeFormat)}, "x", remote.Failed, nil, time.Hour, "permits no more requests for now (429)"},
		{404, nil, map[string]any{"message": "404 Project Not Found"}, remote.Failed, nil, 0, "no such repository"},
		{409, nil, map[string]any{"errors": []any{map[string]any{"message": "one"}, "two"}}, remote.Failed, IsConflict, 0, "answers 409: one; two"},
		{500, nil, "broken", remote.Failed, nil, 0, "answers 500: broken"},
		{307, map[string]string{"Location": "https://other.example.com/"}, "x", remote.Refused, nil, 0, "redirects a change"},
	} {
		f := client(t, GitHub, "https://github.com/team/storage", play(t, []exchange{{Request: "POST /repos/team/storage/pulls", Status: c.status, Header: c.header, Answer: c.answer}}).URL)
		_, err := f.Create(context.Background(), head, "main", Text{})
		var why *Error
		if !errors.As(err, &why) || why.Reason != c.reason || !strings.Contains(why.Message, c.words) || strings.Contains(why.Message, token) || c.is != nil && !c.is(err) {
			t.Errorf("%d: %+v", c.status, err)
			continue
		}
		if off := why.After - c.after; off > 0 || off < -time.Minute {
			t.Errorf("%d: ask again after %v", c.status, why.After)
		}
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	defer s.Close()
	if _, err := client(t, GitHub, "https://github.com/team/storage", s.URL).Find(context.Background(), head, "main"); err == nil || !strings.Contains(err.Error(), "does not answer as the API of this forge does") {
		t.Errorf("no JSON: %v", err)
	}
}

// TestPlaces: provider, API and repository follow from the address of the source.
func TestPlaces(t *testing.T) {
	for _, c := range []struct{ source, provider, api, want string }{
		{"https://github.com/team/storage.git", "", "", "https://api.github.com/repos/team/storage"},
		{"ssh://git@github.com/team/storage.git", "", "", "https://api.github.com/repos/team/storage"},
		{"ssh://ssh.github.com:443/team/storage", "", "", "https://api.github.com/repos/team/storage"},
		{"https://github.example.com/team/storage", "", "", "https://github.example.com/api/v3/repos/team/storage"},
		{"https://GitLab.example.com:8443/a/b/storage.git", "", "", "https://GitLab.example.com:8443/api/v4/projects/a%2Fb%2Fstorage"},
		{"https://git.example.com/lab/a/b/storage.git", GitLab, "https://git.example.com/lab/api/v4/", "https://git.example.com/lab/api/v4/projects/a%2Fb%2Fstorage"},
		{"ssh://git@gitlab.com:2222/a/storage.git", "", "", "https://gitlab.com/api/v4/projects/a%2Fstorage"},
		{"https://codeberg.org/team/storage.git", "", "", "https://codeberg.org/api/v1/repos/team/storage"},
		{"https://forgejo.example.com/team/storage.git", "", "", "https://forgejo.example.com/api/v1/repos/team/storage"},
		{"http://127.0.0.1:3000/team/storage.git", Gitea, "", "http://127.0.0.1:3000/api/v1/repos/team/storage"},
		{"https://example.com/git/team/storage.git", Gitea, "https://example.com/git/api/v1", "https://example.com/git/api/v1/repos/team/storage"},
		{"https://bitbucket.example.com/scm/~ann/storage.git", "", "", "https://bitbucket.example.com/rest/api/1.0/projects/~ann/repos/storage"},
		{"ssh://git@bitbucket.example.com:7999/TEAM/storage.git", "", "", "https://bitbucket.example.com/rest/api/1.0/projects/TEAM/repos/storage"},
		{"https://git.example.com/team/storage.git", "", "", "write github, gitlab, gitea or bitbucketserver in spec.publish.provider"},
		{"https://bitbucket.org/team/storage.git", "", "", "write github, gitlab, gitea or bitbucketserver in spec.publish.provider"},
		{"https://git.example.com/team/storage.git", "svn", "https://git.example.com/x", "is no forge"},
		{"https://github.com/storage.git", "", "", "no owner and name"},
		{"file:///srv/storage.git", "", "", "needs a repository on a forge"},
		{"https://github.com/team/storage.git", "", "http://api.example.com", "--allow-host api.example.com"},
		{"https://github.com/team/storage.git", "", "https://ann:secret@api.example.com", "spec.publish.apiURL has a user or a password"},
		{"https://github.com/team/storage.git", "", "api", "spec.publish.apiURL cannot be read"},
	} {
		f, err := New(Place{c.source, c.provider, c.api}, rules(), remote.Credentials{BearerToken: token})
		got := ""
		switch f := f.(type) {
		case *github:
			got = f.base.String() + f.root
		case *gitlab:
			got = f.base.String() + f.root
		case *gitea:
			got = f.base.String() + f.root
		case *bitbucket:
			got = f.base.String() + f.root
		default:
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestAuthorization: the Secret of Git is enough. The password of a key is no token.
func TestAuthorization(t *testing.T) {
	const https, ssh = "https://git.example.com/team/storage", "ssh://git@git.example.com/team/storage"
	password := remote.Credentials{Username: "bot", Password: "p"}
	for _, c := range []struct {
		provider, source string
		credentials      remote.Credentials
		want             string
	}{
		{GitHub, https, password, "Bearer p"},
		{GitLab, https, password, "Bearer p"},
		{Gitea, https, password, "Basic Ym90OnA="},
		{BitbucketServer, https, password, "Basic Ym90OnA="},
		{Gitea, https, remote.Credentials{Password: "p"}, "Bearer p"},
		{Gitea, https, remote.Credentials{Username: "bot", Password: "p", BearerToken: "b"}, "Bearer b"},
		{Gitea, ssh, remote.Credentials{Password: "p", BearerToken: "b"}, "Bearer b"},
		{Gitea, ssh, password, ""},
		{GitHub, https, remote.Credentials{}, ""},
	} {
		f, err := New(Place{Source: c.source, Provider: c.provider}, rules(), c.credentials)
		var why *remote.Error
		switch {
		case c.want == "" && errors.As(err, &why) && why.Reason == remote.Unknown && strings.Contains(why.Message, "bearerToken"):
		case err != nil:
			t.Errorf("%+v: %v", c, err)
		default:
			var a *api
			switch f := f.(type) {
			case *github:
				a = &f.api
			case *gitlab:
				a = &f.api
			case *gitea:
				a = &f.api
			case *bitbucket:
				a = &f.api
			}
			if a.authorization != c.want {
				t.Errorf("%+v: %s", c, a.authorization)
			}
		}
	}
}
