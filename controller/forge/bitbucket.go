package forge

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/poolwright/poolwright/controller/remote"
)

// bitbucket is Bitbucket Server, or Data Center: its REST API, version 1.0.
type bitbucket struct{ api }

// MostBody is less than elsewhere: Bitbucket Server takes 32,768 characters.
func (f *bitbucket) MostBody() int { return 32_000 }

type bitbucketRequest struct {
	edition
	ID          int       `json:"id"`
	State       string    `json:"state"` // OPEN, DECLINED, MERGED
	Title       string    `json:"title"`
	Description string    `json:"description"`
	From        refOfPull `json:"fromRef"`
	To          refOfPull `json:"toRef"`
	Links       struct {
		Self []struct {
			Href string `json:"href"`
		} `json:"self"`
	} `json:"links"`
}

type refOfPull struct {
	ID         string `json:"id"`
	Latest     string `json:"latestCommit"`
	Repository struct {
		ID int64 `json:"id"`
	} `json:"repository"`
}

func (r *bitbucketRequest) request() Request {
	q := Request{Number: r.ID, State: Open, Head: r.From.Latest, Text: Text{Title: r.Title, Body: r.Description}, edition: r.edition}
	switch r.State {
	case "DECLINED":
		q.State = Closed
	case "MERGED":
		q.State = Merged
	}
	if len(r.Links.Self) > 0 {
		q.URL = r.Links.Self[0].Href
	}
	return q
}

func full(branch string) string { return "refs/heads/" + branch }

func pull(r Request) string { return "/pull-requests/" + strconv.Itoa(r.Number) }

func (f *bitbucket) Find(ctx context.Context, head, base string) ([]Request, error) {
	query := url.Values{"state": {"ALL"}, "direction": {"OUTGOING"}, "at": {full(head)}, "order": {"NEWEST"}, "limit": {"100"}}
	var found []Request
	for range mostPages {
		var page struct {
			Values []bitbucketRequest `json:"values"`
			Last   bool               `json:"isLastPage"`
			Next   int                `json:"nextPageStart"`
		}
		if _, err := f.do(ctx, http.MethodGet, "/pull-requests", query, nil, &page); err != nil {
			return nil, err
		}
		for i := range page.Values {
			r := &page.Values[i]
			if r.From.ID != full(head) || r.To.ID != full(base) || r.From.Repository.ID != r.To.Repository.ID {
				continue
			}
			q := r.request()
			if q.State == Open {
				var test struct {
					Conflicted bool `json:"conflicted"`
				}
				if _, err := f.do(ctx, http.MethodGet, pull(q)+"/merge", nil, nil, &test); err != nil {
					return nil, err
				}
				q.Conflict = test.Conflicted
			}
			found = append(found, q)
		}
		if page.Last {
			break
		}
		query.Set("start", strconv.Itoa(page.Next))
	}
	return newestFirst(found), nil
}

func (f *bitbucket) Create(ctx context.Context, head, base string, t Text) (Request, error) {
	var r bitbucketRequest
	_, err := f.do(ctx, http.MethodPost, "/pull-requests", nil, map[string]any{
		"title": t.Title, "description": t.Body, "fromRef": map[string]string{"id": full(head)}, "toRef": map[string]string{"id": full(base)},
	}, &r)
	return r.request(), err
}

// Edit sends the reviewers, too: those that are left out are removed.
func (f *bitbucket) Edit(ctx context.Context, r Request, t Text) error {
	_, err := f.do(ctx, http.MethodPut, pull(r), nil, struct {
		edition
		Title       string `json:"title"`
		Description string `json:"description"`
	}{r.edition, t.Title, t.Body}, nil)
	return err
}

// Close asks for the version first: an edit just before has changed it.
func (f *bitbucket) Close(ctx context.Context, r Request) error {
	var now bitbucketRequest
	if _, err := f.do(ctx, http.MethodGet, pull(r), nil, nil, &now); err != nil {
		return err
	}
	_, err := f.do(ctx, http.MethodPost, pull(r)+"/decline", url.Values{"version": {strconv.Itoa(now.Version)}}, struct{}{}, nil)
	return err
}

// Merge leaves it to a person: Bitbucket Server merges what the head is by then.
func (f *bitbucket) Merge(context.Context, Request, string) error {
	return &Error{Reason: remote.Failed, Status: http.StatusMethodNotAllowed, Message: "Bitbucket Server cannot merge for exactly one commit; merge the pull request by hand"}
}
