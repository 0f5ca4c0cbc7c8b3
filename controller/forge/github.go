package forge

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// github is GitHub: its REST API, version 2022-11-28.
type github struct {
	api
	owner string
}

type githubRequest struct {
	Number  int     `json:"number"`
	HTMLURL string  `json:"html_url"`
	State   string  `json:"state"`
	Title   string  `json:"title"`
	Body    *string `json:"body"`
	Merged  *string `json:"merged_at"`
	Head    struct {
		SHA string `json:"sha"`
		Ref string `json:"ref"`
	} `json:"head"`
	Base struct {
		Ref string `json:"ref"`
	} `json:"base"`
	// Only where one is asked for; null while GitHub finds it out.
	Mergeable      *bool  `json:"mergeable"`
	MergeableState string `json:"mergeable_state"`
}

func (r *githubRequest) request() Request {
	q := Request{Number: r.Number, URL: r.HTMLURL, State: State(r.State), Head: r.Head.SHA, Text: Text{Title: r.Title}}
	if r.Body != nil {
		q.Body = *r.Body
	}
	if r.Merged != nil {
		q.State = Merged
	}
	q.Conflict = q.State == Open && r.Mergeable != nil && !*r.Mergeable && r.MergeableState == "dirty"
	return q
}

// at is the path of a pull request.
func at(number int) string { return "/pulls/" + strconv.Itoa(number) }

func (f *github) Find(ctx context.Context, head, base string) ([]Request, error) {
	all, err := list[githubRequest](ctx, &f.api, "/pulls", url.Values{
		"state": {"all"}, "head": {f.owner + ":" + head}, "base": {base}, "per_page": {"100"}, "sort": {"created"}, "direction": {"desc"},
	})
	var found []Request
	for i := range all {
		r := &all[i]
		if r.Head.Ref != head || r.Base.Ref != base {
			continue
		}
		if r.State == string(Open) {
			if _, err := f.do(ctx, http.MethodGet, at(r.Number), nil, nil, r); err != nil {
				return nil, err
			}
		}
		found = append(found, r.request())
	}
	return found, err
}

func (f *github) Create(ctx context.Context, head, base string, t Text) (Request, error) {
	var r githubRequest
	_, err := f.do(ctx, http.MethodPost, "/pulls", nil, map[string]string{"head": head, "base": base, "title": t.Title, "body": t.Body}, &r)
	return r.request(), err
}

func (f *github) Edit(ctx context.Context, r Request, t Text) error {
	_, err := f.do(ctx, http.MethodPatch, at(r.Number), nil, map[string]string{"title": t.Title, "body": t.Body}, nil)
	return err
}

func (f *github) Close(ctx context.Context, r Request) error {
	_, err := f.do(ctx, http.MethodPatch, at(r.Number), nil, map[string]string{"state": "closed"}, nil)
	return err
}

func (f *github) Merge(ctx context.Context, r Request, head string) error {
	var allowed struct {
		Merge  *bool `json:"allow_merge_commit"`
		Squash *bool `json:"allow_squash_merge"`
		Rebase *bool `json:"allow_rebase_merge"`
	}
	if _, err := f.do(ctx, http.MethodGet, "", nil, nil, &allowed); err != nil {
		return err
	}
	_, err := f.do(ctx, http.MethodPut, at(r.Number)+"/merge", nil, map[string]string{
		"sha": head, "merge_method": style(allowed.Merge, allowed.Squash, allowed.Rebase),
	}, nil)
	return err
}

// style is a way to merge that a repository allows; nil means that the forge does not say.
func style(merge, squash, rebase *bool) string {
	refused := func(allowed *bool) bool { return allowed != nil && !*allowed }
	switch {
	case !refused(merge):
		return "merge"
	case !refused(squash):
		return "squash"
	case !refused(rebase):
		return "rebase"
	}
	return "merge"
}
