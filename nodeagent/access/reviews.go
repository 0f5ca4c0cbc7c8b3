// Package access serves a path over TLS. The API server authenticates and authorizes each reader, as with kube-rbac-proxy.
package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

const (
	// Lifetime is how long an approval of the API server is reused.
	Lifetime = time.Minute
	// atOnce limits the requests that wait for the API server; further ones are refused.
	atOnce = 4
	// maxAllowed limits the approvals that are kept.
	maxAllowed = 64
	// patience is how long a request waits for the API server.
	patience = 10 * time.Second
)

// Reviews has the API server decide who may read a path: a TokenReview identifies the user, and a SubjectAccessReview
// checks that the user may get the nonResourceURL. It fails closed.
type Reviews struct {
	// Client creates the reviews. It needs a rate limit of its own, so that anonymous requests cannot delay other work.
	Client dynamic.Interface
	// Path is the only path that is served.
	Path     string
	Lifetime time.Duration
	Log      *slog.Logger

	mu      sync.Mutex
	allowed map[key]time.Time // expiry, by token; refusals are not kept, so that anonymous requests cannot fill it
	asking  int
}

// key is the hash of a token; the token itself is not kept.
type key [sha256.Size]byte

// refusal is an answer to a request that is not served.
type refusal struct {
	code int
	text string
}

func (r refusal) Error() string { return r.text }

// Guard serves the requests that the API server allows.
func (r *Reviews) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		err := r.check(request)
		if err == nil {
			next.ServeHTTP(w, request)
			return
		}
		answer := refusal{http.StatusServiceUnavailable, "the API server does not answer: access cannot be checked"}
		if !errors.As(err, &answer) {
			r.Log.Warn("a request was refused", "path", request.URL.Path, "error", err)
		}
		w.Header().Set("Connection", "close") // a refused client does not keep one
		if answer.code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		http.Error(w, answer.text, answer.code)
	})
}

// check is nil for a request that may be served; otherwise it is the reason.
func (r *Reviews) check(request *http.Request) error {
	if request.URL.Path != r.Path {
		return refusal{http.StatusNotFound, "only " + r.Path + " is served"}
	}
	if request.Method != http.MethodGet {
		return refusal{http.StatusMethodNotAllowed, "only GET is served"}
	}
	kind, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(kind, "Bearer") || token == "" {
		return refusal{http.StatusUnauthorized, "send the token of a ServiceAccount: Authorization: Bearer TOKEN"}
	}
	known := key(sha256.Sum256([]byte(token)))
	if r.remembers(known) {
		return nil
	}
	leave, err := r.enter()
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(request.Context(), patience)
	defer cancel()
	user, err := r.authenticate(ctx, token)
	if err != nil {
		return err
	}
	if err := r.authorize(ctx, user); err != nil {
		return err
	}
	r.remember(known)
	return nil
}

func (r *Reviews) remembers(known key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.allowed[known])
}

func (r *Reviews) remember(known key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(r.allowed, func(_ key, until time.Time) bool { return now.After(until) })
	if r.allowed == nil || len(r.allowed) >= maxAllowed {
		r.allowed = map[key]time.Time{}
	}
	r.allowed[known] = now.Add(r.Lifetime)
}

// enter counts a request that waits for the API server, until leave.
func (r *Reviews) enter() (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking >= atOnce {
		return nil, refusal{http.StatusTooManyRequests, "too many requests wait for the API server"}
	}
	r.asking++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asking--
	}, nil
}

// authenticate returns the user of a token, as UserInfo of the authentication API.
func (r *Reviews) authenticate(ctx context.Context, token string) (map[string]any, error) {
	reviews := schema.GroupVersionResource{Group: "authentication.k8s.io", Version: "v1", Resource: "tokenreviews"}
	status, err := r.review(ctx, reviews, "TokenReview", map[string]any{"token": token})
	if err != nil {
		return nil, err
	}
	user, _, _ := unstructured.NestedMap(status, "user")
	name, _, _ := unstructured.NestedString(user, "username")
	if is, _, _ := unstructured.NestedBool(status, "authenticated"); !is || name == "" {
		return nil, refusal{http.StatusUnauthorized, "the API server does not accept the token"}
	}
	return user, nil
}

func (r *Reviews) authorize(ctx context.Context, user map[string]any) error {
	reviews := schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"}
	spec := map[string]any{
		"user":                  user["username"],
		"nonResourceAttributes": map[string]any{"path": r.Path, "verb": "get"},
	}
	for _, field := range []string{"uid", "groups", "extra"} {
		if value, has := user[field]; has {
			spec[field] = value
		}
	}
	status, err := r.review(ctx, reviews, "SubjectAccessReview", spec)
	if err != nil {
		return err
	}
	allowed, _, _ := unstructured.NestedBool(status, "allowed")
	denied, _, _ := unstructured.NestedBool(status, "denied")
	if !allowed || denied {
		return refusal{http.StatusForbidden, fmt.Sprintf("%s may not get the nonResourceURL %s: bind it to the ClusterRole poolwright-node-agent-metrics", user["username"], r.Path)}
	}
	return nil
}

// review creates a review and returns its status.
func (r *Reviews) review(ctx context.Context, resource schema.GroupVersionResource, kind string, spec map[string]any) (map[string]any, error) {
	answer, err := r.Client.Resource(resource).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": resource.GroupVersion().String(), "kind": kind, "metadata": map[string]any{}, "spec": spec,
	}}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) {
		r.Log.Warn("a request was refused", "error", err)
		return nil, refusal{http.StatusServiceUnavailable, "the node agent may not create " + resource.GroupResource().String() + ": apply deploy/nodeagent/rbac.yaml"}
	}
	if err != nil {
		return nil, err
	}
	status, _, err := unstructured.NestedMap(answer.Object, "status")
	return status, err
}
