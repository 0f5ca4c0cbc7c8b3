package forge

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/poolwright/poolwright/controller/remote"
)

const (
	mostAnswer = 16 << 20 // bytes of an answer
	mostPages  = 20       // of a list, the newest first
	mostBody   = 60_000   // characters; GitHub takes 65,536
)

// Error is a forge's refusal, for people.
type Error struct {
	Reason  remote.Reason
	Status  int // of HTTP
	Message string
	After   time.Duration // when to ask again, 0 if the forge does not say
}

func (e *Error) Error() string { return e.Message }

func hasStatus(err error, statuses ...int) bool {
	var why *Error
	if errors.As(err, &why) {
		for _, s := range statuses {
			if why.Status == s {
				return true
			}
		}
	}
	return false
}

// IsConflict reports whether something else is there than was believed: a pull request of the same
// branches, or another head.
func IsConflict(err error) bool {
	return hasStatus(err, http.StatusConflict, http.StatusUnprocessableEntity)
}

// IsNotMergeable reports whether a pull request cannot be merged now: a check runs, an approval is
// missing, or its head is another one.
func IsNotMergeable(err error) bool {
	return hasStatus(err, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusConflict, http.StatusUnprocessableEntity)
}

// api asks for JSON.
type api struct {
	client        *remote.Client
	base          *url.URL
	root          string // of the repository, below base, escaped
	authorization string
	accept        string // "" for application/json
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func (a *api) End() { a.client.Close() }

func (a *api) MostBody() int { return mostBody }

// do sends a request about the repository; in and out are JSON, nil for none. The answer has the
// headers.
func (a *api) do(ctx context.Context, method, path string, query url.Values, in, out any) (http.Header, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	address := a.base.String() + a.root + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", a.authorization)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "poolwright")
	if a.accept != "" {
		req.Header.Set("Accept", a.accept)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	if err != nil {
		return nil, &remote.Error{Reason: remote.Unavailable, Message: fmt.Sprintf("the answer of %s broke off", a.base.Host)}
	}
	if res.StatusCode >= 300 {
		return nil, a.explain(res, text)
	}
	if out == nil || len(text) == 0 {
		return res.Header, nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return nil, &Error{Reason: remote.Failed, Status: res.StatusCode, Message: noAPI(a.base.Host)}
	}
	return res.Header, nil
}

// noAPI says that a server has another API than that of the provider, or none.
func noAPI(host string) string {
	return host + " does not answer as the API of this forge does; correct spec.publish.provider and spec.publish.apiURL"
}

// explain is the error of an answer.
func (a *api) explain(res *http.Response, text []byte) error {
	e := &Error{Reason: remote.Failed, Status: res.StatusCode, After: pause(res.Header, time.Now())}
	at, said := a.base.Host, a.client.Clean(words(text))
	if said != "" {
		said = ": " + said
	}
	limited := res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusForbidden &&
		(res.Header.Get("Retry-After") != "" || res.Header.Get("X-Ratelimit-Remaining") == "0")
	switch {
	case limited:
		e.Status = http.StatusTooManyRequests
		e.Message = fmt.Sprintf("%s permits no more requests for now (%d)%s", at, res.StatusCode, said)
	case res.StatusCode == http.StatusUnauthorized:
		e.Reason = remote.Unknown
		e.Message = fmt.Sprintf("the API of %s does not accept the credentials%s; correct the Secret that spec.source.secretRef names", at, said)
	case res.StatusCode == http.StatusForbidden:
		e.Reason = remote.Unknown
		e.Message = fmt.Sprintf("the API of %s does not permit this to the user of the credentials%s; allow it to read and write pull requests", at, said)
	case res.StatusCode == http.StatusNotFound:
		e.Message = fmt.Sprintf("the API of %s has no such repository or pull request, or the token may not read it%s; correct spec.publish.provider and spec.publish.apiURL, or allow the token to read and write pull requests", at, said)
	case res.StatusCode < 400:
		e.Reason = remote.Refused
		e.Message = fmt.Sprintf("the API of %s redirects a change, which is not followed; write the URL that it leads to in spec.source.url and spec.publish.apiURL", at)
	case res.StatusCode == http.StatusMethodNotAllowed && res.Request.Method == http.MethodGet:
		e.Message = noAPI(at)
	default:
		e.Message = fmt.Sprintf("the API of %s answers %d%s", at, res.StatusCode, said)
	}
	return e
}

// pause reads when to ask again: Retry-After in seconds or as a date, or the time of X-RateLimit-Reset.
func pause(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	if reset, err := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64); err == nil && h.Get("X-Ratelimit-Remaining") == "0" {
		return max(0, time.Unix(reset, 0).Sub(now))
	}
	return 0
}

// words are what a forge says: the texts of its JSON, or the answer itself.
func words(text []byte) string {
	var all any
	if json.Unmarshal(text, &all) != nil {
		return string(text)
	}
	var said []string
	var read func(v any)
	read = func(v any) {
		switch v := v.(type) {
		case string:
			said = append(said, v)
		case []any:
			for _, item := range v {
				read(item)
			}
		case map[string]any:
			for _, key := range []string{"message", "error", "error_description", "errors"} {
				read(v[key])
			}
		}
	}
	read(all)
	return strings.Join(said, "; ")
}

// list asks for all pages of a list, which Link leads through. More than mostPages are not read: they
// are old.
func list[T any](ctx context.Context, a *api, path string, query url.Values) ([]T, error) {
	var all []T
	for page := 1; page <= mostPages; page++ {
		query.Set("page", strconv.Itoa(page))
		var some []T
		header, err := a.do(ctx, http.MethodGet, path, query, nil, &some)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if !strings.Contains(header.Get("Link"), `rel="next"`) {
			break
		}
	}
	return all, nil
}
