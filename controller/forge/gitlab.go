package forge

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// gitlab is GitLab: its REST API, version 4.
type gitlab struct{ api }

type gitlabRequest struct {
	IID         int    `json:"iid"`
	WebURL      string `json:"web_url"`
	State       string `json:"state"` // opened, closed, locked (while it is merged), merged
	Title       string `json:"title"`
	Description string `json:"description"`
	SHA         string `json:"sha"`
	Conflicts   bool   `json:"has_conflicts"`
	Source      string `json:"source_branch"`
	Target      string `json:"target_branch"`
	From        int64  `json:"source_project_id"`
	To          int64  `json:"target_project_id"`
}

func (r *gitlabRequest) request() Request {
	q := Request{Number: r.IID, URL: r.WebURL, State: Open, Head: r.SHA, Text: Text{Title: r.Title, Body: r.Description}}
	switch r.State {
	case "closed":
		q.State = Closed
	case "merged":
		q.State = Merged
	}
	q.Conflict = q.State == Open && r.Conflicts
	return q
}

func of(r Request) string { return "/merge_requests/" + strconv.Itoa(r.Number) }

func (f *gitlab) Find(ctx context.Context, head, base string) ([]Request, error) {
	all, err := list[gitlabRequest](ctx, &f.api, "/merge_requests", url.Values{
		"state": {"all"}, "source_branch": {head}, "target_branch": {base}, "per_page": {"100"}, "order_by": {"created_at"}, "sort": {"desc"},
	})
	var found []Request
	for i := range all {
		r := &all[i]
		if r.Source != head || r.Target != base || r.From != r.To {
			continue
		}
		if q := r.request(); q.State == Open { // in a list, the answer about conflicts may be old
			if _, err := f.do(ctx, http.MethodGet, of(q), nil, nil, r); err != nil {
				return nil, err
			}
		}
		found = append(found, r.request())
	}
	return newestFirst(found), err
}

func newestFirst(found []Request) []Request {
	slices.SortFunc(found, func(a, b Request) int { return cmp.Compare(b.Number, a.Number) })
	return found
}

func (f *gitlab) Create(ctx context.Context, head, base string, t Text) (Request, error) {
	var r gitlabRequest
	_, err := f.do(ctx, http.MethodPost, "/merge_requests", nil, map[string]string{
		"source_branch": head, "target_branch": base, "title": t.Title, "description": t.Body,
	}, &r)
	return r.request(), err
}

func (f *gitlab) Edit(ctx context.Context, r Request, t Text) error {
	_, err := f.do(ctx, http.MethodPut, of(r), nil, map[string]string{"title": t.Title, "description": t.Body}, nil)
	return err
}

func (f *gitlab) Close(ctx context.Context, r Request) error {
	_, err := f.do(ctx, http.MethodPut, of(r), nil, map[string]string{"state_event": "close"}, nil)
	return err
}

// Merge merges as the settings of the project say.
func (f *gitlab) Merge(ctx context.Context, r Request, head string) error {
	_, err := f.do(ctx, http.MethodPut, of(r)+"/merge", nil, map[string]string{"sha": head}, nil)
	return err
}
