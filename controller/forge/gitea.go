package forge

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// gitea is Gitea or Forgejo: its REST API, version 1.
type gitea struct{ api }

type giteaRequest struct {
	Number    int    `json:"number"`
	HTMLURL   string `json:"html_url"`
	State     string `json:"state"`
	Title     string `json:"title"`
	Body      string `json:"body"`
	Merged    bool   `json:"merged"`
	Mergeable bool   `json:"mergeable"`
	Draft     bool   `json:"draft"`
	Head      branch `json:"head"`
	Base      branch `json:"base"`
}

type branch struct {
	Name string `json:"label"` // ref is that of the pull request once the branch is deleted
	SHA  string `json:"sha"`
	Repo int64  `json:"repo_id"`
}

func (r *giteaRequest) request() Request {
	q := Request{Number: r.Number, URL: r.HTMLURL, State: State(r.State), Head: r.Head.SHA, Text: Text{Title: r.Title, Body: r.Body}}
	if r.Merged {
		q.State = Merged
	}
	q.Conflict = q.State == Open && !r.Mergeable && !r.Draft
	return q
}

const (
	looks = 8                      // at a pull request that cannot be merged: it may be under examination
	rest  = 250 * time.Millisecond // between two of them
)

func (f *gitea) Find(ctx context.Context, head, base string) ([]Request, error) {
	// Gitea finds one by head and base too, but of any state.
	all, err := list[giteaRequest](ctx, &f.api, "/pulls", url.Values{"state": {"all"}, "base_branch": {base}, "sort": {"recentupdate"}, "limit": {"50"}})
	var found []Request
	for i := range all {
		r := &all[i]
		if r.Head.Name != head || r.Base.Name != base || r.Head.Repo != r.Base.Repo {
			continue
		}
		for look := 0; look < looks && r.request().Conflict; look++ {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(rest):
			}
			if _, err := f.do(ctx, http.MethodGet, at(r.Number), nil, nil, r); err != nil {
				return nil, err
			}
		}
		found = append(found, r.request())
	}
	return newestFirst(found), err
}

func (f *gitea) Create(ctx context.Context, head, base string, t Text) (Request, error) {
	var r giteaRequest
	_, err := f.do(ctx, http.MethodPost, "/pulls", nil, map[string]string{"head": head, "base": base, "title": t.Title, "body": t.Body}, &r)
	q := r.request()
	q.Conflict = false // it was not examined yet
	return q, err
}

func (f *gitea) Edit(ctx context.Context, r Request, t Text) error {
	_, err := f.do(ctx, http.MethodPatch, at(r.Number), nil, map[string]string{"title": t.Title, "body": t.Body}, nil)
	return err
}

func (f *gitea) Close(ctx context.Context, r Request) error {
	_, err := f.do(ctx, http.MethodPatch, at(r.Number), nil, map[string]string{"state": "closed"}, nil)
	return err
}

func (f *gitea) Merge(ctx context.Context, r Request, head string) error {
	var allowed struct {
		Merge  *bool `json:"allow_merge_commits"`
		Squash *bool `json:"allow_squash_merge"`
		Rebase *bool `json:"allow_rebase"`
	}
	if _, err := f.do(ctx, http.MethodGet, "", nil, nil, &allowed); err != nil {
		return err
	}
	_, err := f.do(ctx, http.MethodPost, at(r.Number)+"/merge", nil, map[string]string{
		"Do": style(allowed.Merge, allowed.Squash, allowed.Rebase), "head_commit_id": head,
	}, nil)
	return err
}
