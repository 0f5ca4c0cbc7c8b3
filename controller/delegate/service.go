// Package delegate renders packages by poolwright serve, in another process or on another machine.
//
// A package is sent as a ResourceList, and comes back with its output. The changes, their risks and the
// text of a plan are made from both here, by the same code as after a render in this process. Only which
// step of a transition a change is cannot be seen in the output: where something changes, a second request
// asks for the plan.
package delegate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/finding"
)

const (
	connectTimeout = 10 * time.Second
	// A request may wait in the queue of the service, and its own --timeout begins after that.
	answerTimeout = 10 * time.Minute
)

// Options say where the service is. The files are in PEM, and are read for each connection.
type Options struct {
	URL       string // https://HOST:PORT; http for loopback, and for Hosts
	CA        string // who signs the certificate of the service; "" for the public authorities
	Cert, Key string // of the client, as --client-ca of the service asks for; "" for none
	Hosts     []string
	MaxOutput int64 // bytes of an answer beside what was sent
}

// Service is a poolwright serve.
type Service struct {
	Function *fn.Function

	options Options
	url     *url.URL
}

// Error says why there is no answer, for people. The same is asked again, after a pause.
type Error struct {
	Message string
	After   time.Duration // how long the pause is at least
}

func (e *Error) Error() string { return e.Message }

// New checks the options. The error says which flag is wrong.
func New(function *fn.Function, o Options) (*Service, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("--service %q: write a URL such as https://HOST:PORT, or http://127.0.0.1:PORT", o.URL)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return nil, fmt.Errorf("--service: write only the scheme, the host and the port of the URL")
	case u.Scheme == "http" && !isLoopback(u.Hostname()) && !allowed(o.Hosts, u):
		return nil, fmt.Errorf("--service %s: without TLS only loopback is used; write https://, or add --allow-host %s", o.URL, u.Hostname())
	case (o.Cert == "") != (o.Key == ""):
		return nil, errors.New("--service-cert and --service-key need each other: add the one that is missing")
	case u.Scheme == "http" && (o.CA != "" || o.Cert != ""):
		return nil, errors.New("--service-ca and --service-cert are for https://; leave them out, or correct --service")
	}
	return &Service{Function: function, options: o, url: u}, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func allowed(hosts []string, u *url.URL) bool {
	for _, h := range hosts {
		if h == u.Hostname() || h == u.Host {
			return true
		}
	}
	return false
}

// Render is folder.Package.Render, elsewhere. What was not read completely is only checked, here. The
// error is an *Error, or that of the context.
func (s *Service) Render(ctx context.Context, p folder.Package, findings []finding.Finding) (fn.Result, error) {
	if finding.Failed(findings) {
		return p.Render(s.Function, findings), nil
	}
	sent, list := p.Send()
	answer, err := s.post(ctx, "/v1/fn", "application/yaml", list)
	if err != nil {
		return fn.Result{}, err
	}
	result, err := sent.Receive(s.Function, answer)
	if err != nil {
		return fn.Result{}, s.fail(0, "answers with something else than a ResourceList: %v", err)
	}
	if changes(p, result) {
		if result.Transitions, err = s.transitions(ctx, list); err != nil {
			return fn.Result{}, err
		}
	}
	result.Findings = finding.Sort(append(result.Findings, findings...))
	return result, nil
}

// changes reports whether an object of the output does.
func changes(p folder.Package, result fn.Result) bool {
	if finding.Failed(result.Findings) {
		return false
	}
	same := map[any]bool{}
	for _, o := range p.Ours() {
		same[o] = true
	}
	for _, r := range result.Objects {
		if !same[r.Object] {
			return true
		}
	}
	return len(result.Objects) != len(same)
}

// transitions asks which changes are steps. Of each transition there is only the step under way.
func (s *Service) transitions(ctx context.Context, list []byte) ([]transition.Transition, error) {
	answer, err := s.post(ctx, "/v1/plan", "application/json", list)
	if err != nil {
		return nil, err
	}
	var plan struct {
		Changes []struct {
			Object finding.Ref `json:"object"`
			Step   *struct {
				Number, Of int
				Kind       string
			}
		}
	}
	if err := json.Unmarshal(answer, &plan); err != nil {
		return nil, s.fail(0, "answers with something else than a plan: %v", err)
	}
	var all []transition.Transition
	for _, c := range plan.Changes {
		if c.Step == nil || c.Step.Number < 1 || c.Step.Number > c.Step.Of || c.Step.Of > mostSteps {
			continue
		}
		t := transition.Transition{Object: c.Object, Steps: make([]transition.Step, c.Step.Of)}
		t.Steps[c.Step.Number-1] = transition.Step{State: transition.Now, Kind: c.Step.Kind, Objects: []finding.Ref{c.Object}}
		all = append(all, t)
	}
	return all, nil
}

// mostSteps is more than a transition has.
const mostSteps = 10_000

func (s *Service) fail(after time.Duration, format string, args ...any) *Error {
	return &Error{s.url.Host + " (--service) " + fmt.Sprintf(format, args...), after}
}

// post sends a list, and returns the answer: also one with errors of the package.
func (s *Service) post(ctx context.Context, path, form string, list []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	settings, err := s.certificates()
	if err != nil {
		return nil, err
	}
	// One connection a request: there are few, and each takes the certificates as they are.
	client := &http.Client{
		Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: connectTimeout}).DialContext, TLSClientConfig: settings, TLSHandshakeTimeout: connectTimeout,
			ForceAttemptHTTP2: true, DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url.JoinPath(path).String(), bytes.NewReader(list))
	if err != nil {
		return nil, s.fail(0, "cannot be asked: %v", err)
	}
	req.Header.Set("Content-Type", "application/yaml")
	req.Header.Set("Accept", form)
	res, err := client.Do(req)
	if err != nil {
		return nil, s.unanswered(ctx, err)
	}
	defer res.Body.Close()
	most := int64(len(list)) + s.options.MaxOutput
	answer, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	switch {
	case err != nil:
		return nil, s.unanswered(ctx, err)
	case int64(len(answer)) > most:
		return nil, s.fail(0, "answers with more than %d bytes; start the controller with a larger --max-source", most)
	case kind == form && (res.StatusCode == http.StatusOK || res.StatusCode == http.StatusUnprocessableEntity):
		return answer, nil
	}
	return nil, s.refused(res, answer)
}

// unanswered says why there is no answer.
func (s *Service) unanswered(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return s.fail(0, "cannot be asked: %v; start poolwright serve there, or correct --service", err)
}

// mostWords is how much of what the service says a message has, in bytes.
const mostWords = 500

// refused says with the words of the service why it did not render.
func (s *Service) refused(res *http.Response, answer []byte) *Error {
	var problem struct{ Detail string }
	_ = json.Unmarshal(answer, &problem) // what is no problem has no words
	words := strings.ToValidUTF8(problem.Detail[:min(mostWords, len(problem.Detail))], "")
	if words == "" {
		words = http.StatusText(res.StatusCode)
	}
	return s.fail(retryAfter(res.Header.Get("Retry-After")), "answers %d: %s", res.StatusCode, words)
}

// longestAfter is how long a service may ask for.
const longestAfter = 5 * time.Minute

// retryAfter reads the header of this name: seconds, or a time.
func retryAfter(text string) time.Duration {
	after := time.Duration(0)
	if seconds, err := strconv.Atoi(text); err == nil {
		after = time.Duration(min(seconds, int(longestAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		after = time.Until(at)
	}
	return max(0, min(after, longestAfter))
}

// certificates reads the files.
func (s *Service) certificates() (*tls.Config, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if name := s.options.CA; name != "" {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, s.fail(0, "cannot be asked: --service-ca: %v", err)
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(text) {
			return nil, s.fail(0, "cannot be asked: --service-ca %s has no certificate in PEM", name)
		}
	}
	if s.options.Cert != "" {
		pair, err := tls.LoadX509KeyPair(s.options.Cert, s.options.Key)
		if err != nil {
			return nil, s.fail(0, "cannot be asked: --service-cert and --service-key: %v", err)
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	return settings, nil
}
