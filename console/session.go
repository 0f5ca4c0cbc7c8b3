package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	sessionTime = 8 * time.Hour
	mostWrong   = 9           // wrong tokens a minute; the next are refused unread
	mostOpen    = 1000        // sessions
	wrongTime   = time.Minute // in which wrong tokens are counted
)

// sessions are who is signed in. Nobody but the person who started the console knows the token.
type sessions struct {
	token  string
	cookie string // its name has the port: a cookie is sent to all ports of a host
	now    func() time.Time

	mu    sync.Mutex
	open  map[[32]byte]*session // by the hash of what the cookie has
	wrong []time.Time           // when wrong tokens came, in the last minute
}

// session is one browser that is signed in.
type session struct{ ends time.Time }

func newSessions(now func() time.Time) *sessions {
	return &sessions{token: secret(), now: now, open: map[[32]byte]*session{}}
}

// access is what a token gives.
type access int

const (
	refused access = iota
	granted
	tooMany // wrong tokens were tried
)

// try compares a token with the right one.
func (s *sessions) try(token string) access {
	a, b := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.token))
	if subtle.ConstantTimeCompare(a[:], b[:]) == 1 {
		return granted
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for len(s.wrong) > 0 && now.Sub(s.wrong[0]) >= wrongTime {
		s.wrong = s.wrong[1:]
	}
	if len(s.wrong) >= mostWrong {
		return tooMany
	}
	s.wrong = append(s.wrong, now)
	return refused
}

// start signs a browser in.
func (s *sessions) start(w http.ResponseWriter) {
	value, now := secret(), s.now()
	s.mu.Lock()
	for key, open := range s.open {
		if !now.Before(open.ends) {
			delete(s.open, key)
		}
	}
	if len(s.open) < mostOpen {
		s.open[sha256.Sum256([]byte(value))] = &session{ends: now.Add(sessionTime)}
	}
	s.mu.Unlock()
	http.SetCookie(w, &http.Cookie{
		Name: s.cookie, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: int(sessionTime / time.Second),
	})
}

// of is the session of a request by its cookie, or nil.
func (s *sessions) of(r *http.Request) *session {
	cookie, err := r.Cookie(s.cookie)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.open[sha256.Sum256([]byte(cookie.Value))]
	if found == nil || !s.now().Before(found.ends) {
		return nil
	}
	return found
}

// bearer is the token of the header Authorization.
func bearer(r *http.Request) (token string, given bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), strings.EqualFold(scheme, "Bearer")
}
