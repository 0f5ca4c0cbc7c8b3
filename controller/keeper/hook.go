package keeper

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/poolwright/poolwright/live/hydrations"
)

const (
	betweenHooks = 5 * time.Second // between two looks at a branch that webhooks ask for
	maxHookBody  = 25 << 20        // bytes; GitHub sends no more
	maxHooks     = 16              // requests at the same time; each reads a Secret
	hookKey      = "token"         // of the Secret
)

// hooks answers the webhooks of forges.
type hooks struct {
	keeper *Keeper
	slots  chan struct{}
	nobody []byte // signs for a Hydration without a token

	mu   sync.Mutex
	said time.Time // when a refusal was logged last
}

// Hooks answers POST /hook/NAMESPACE/NAME: 202 where the signature is that of the Secret that
// source.webhookSecretRef names, and 401 for everything else, so that nobody finds out which Hydrations
// exist. Until Run has workers it answers 503.
func (k *Keeper) Hooks() http.Handler {
	h := &hooks{keeper: k, slots: make(chan struct{}, maxHooks), nobody: []byte(rand.Text())}
	mux := http.NewServeMux()
	mux.Handle("POST /hook/{namespace}/{name}", h)
	return mux
}

// ServeHTTP keeps nothing of the body: it is only hashed.
func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	code := h.answer(w, r)
	result := "refused"
	switch code {
	case http.StatusAccepted:
		result = "accepted"
		w.WriteHeader(code)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		result = "busy"
		w.Header().Set("Retry-After", "5")
		w.Header().Set("Connection", "close") // else the server reads what it can of the body first
		fallthrough
	default:
		http.Error(w, http.StatusText(code), code)
	}
	h.keeper.Metrics.hooked(result)
}

// answer is the status code.
func (h *hooks) answer(w http.ResponseWriter, r *http.Request) int {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		return http.StatusTooManyRequests
	}
	if r.ContentLength > maxHookBody {
		return http.StatusRequestEntityTooLarge
	}
	key := hydrations.Key{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	worker, working := h.keeper.worker(key)
	if !working {
		return http.StatusServiceUnavailable
	}
	token, why := h.token(r, worker)
	mac := hmac.New(sha256.New, token)
	if _, err := io.Copy(mac, http.MaxBytesReader(w, r.Body, maxHookBody)); err != nil {
		if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
			return http.StatusRequestEntityTooLarge
		}
		return http.StatusRequestTimeout
	}
	if !signed(r.Header, token, mac.Sum(nil)) && why == "" {
		why = "the signature is missing, or is not that of the Secret; write the same token in the Secret and at the forge"
	}
	if why != "" {
		if worker != nil {
			h.notice(key, why)
		}
		return http.StatusUnauthorized
	}
	worker.hook()
	return http.StatusAccepted
}

// token is that of a Hydration. Where there is none, why says so, and the token is one that nobody has: what
// follows takes the same time.
func (h *hooks) token(r *http.Request, w *worker) (token []byte, why string) {
	if w == nil {
		return h.nobody, "there is no such Hydration"
	}
	object := w.latest()
	ref := object.Spec.Source.WebhookSecretRef
	if ref == nil {
		return h.nobody, "the Hydration has no spec.source.webhookSecretRef; add it"
	}
	data, found, err := h.keeper.Store.Secret(r.Context(), object.Metadata.Namespace, ref.Name)
	if err != nil {
		return h.nobody, err.Error()
	}
	// A line end is of the file that the Secret was made of.
	token = []byte(strings.TrimRight(string(data[hookKey]), "\r\n"))
	if !found || len(token) == 0 {
		return h.nobody, "the Secret that spec.source.webhookSecretRef names is missing, or has no " + hookKey + "; create it"
	}
	return token, ""
}

// signed reports whether one of the headers that forges send is right. A signature by SHA-1, which GitHub
// sends beside the other, counts for nothing.
func signed(header http.Header, token, mac []byte) bool {
	for _, of := range []struct{ name, prefix string }{
		{"X-Hub-Signature-256", "sha256="}, // GitHub, Gitea, Forgejo
		{"X-Gitea-Signature", ""},
		{"X-Forgejo-Signature", ""},
		{"X-Hub-Signature", "sha256="}, // Bitbucket Server
	} {
		text, is := strings.CutPrefix(header.Get(of.name), of.prefix)
		if got, err := hex.DecodeString(text); is && err == nil && hmac.Equal(got, mac) {
			return true
		}
	}
	// The digests have one length, so that the time does not show that of the token.
	got, want := sha256.Sum256([]byte(header.Get("X-Gitlab-Token"))), sha256.Sum256(token)
	return hmac.Equal(got[:], want[:])
}

// notice logs why a webhook is refused, but not more often than once in a while: anybody may send them.
func (h *hooks) notice(key hydrations.Key, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); now.Sub(h.said) >= betweenHooks {
		h.said = now
		h.keeper.Log.Warn("a webhook is refused", "hydration", key.String(), "why", why)
	}
}

// worker is that of a Hydration, or nil. working is false while this process keeps no Hydrations.
func (k *Keeper) worker(key hydrations.Key) (w *worker, working bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.workers[key], k.working
}

// hook asks for a look at the branch.
func (w *worker) hook() {
	w.mu.Lock()
	w.hooked = true
	w.mu.Unlock()
	w.poke()
}

// noteHook moves the next look forward, if a webhook came.
func (w *worker) noteHook() {
	w.mu.Lock()
	hooked := w.hooked
	w.hooked = false
	w.mu.Unlock()
	if hooked {
		w.agenda.poll = earlier(w.agenda.poll, w.agenda.looked.Add(betweenHooks))
	}
}
