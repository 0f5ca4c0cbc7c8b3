package keeper_test

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// request is a sort of request, by name.
type request struct {
	name string
	most int // how many of them are let through before
	is   func(*http.Request) bool
}

// trap kills at a request, before or after it was carried out, and has people act before another.
type trap struct {
	rivals bool                // two run that do not know of each other
	name   string              // of where it kills
	look   func(*http.Request) // sees what gets through

	mu     sync.Mutex
	life   int  // of controllers; a request that is answered late belongs to one before
	dead   bool // nothing gets through
	armed  bool
	kill   moment
	after  bool
	spring func()
	people moment
	act    func()
}

// moment is a request to come.
type moment struct {
	request
	left  int // requests until then; 0 for never
	again int // how often more, at the requests that follow
}

func newMoment(random *rand.Rand, places []request) moment {
	r := places[random.IntN(len(places))]
	return moment{request: r, left: 1 + random.IntN(r.most)}
}

// is says that the moment has come.
func (m *moment) comes(r *http.Request) bool {
	if m.left == 0 || !m.is(r) {
		return false
	}
	if m.left--; m.left > 0 {
		return false
	}
	if m.again > 0 {
		m.again--
		m.left = 1
	}
	return true
}

// set sets the trap for a random request. The channel is closed when it has sprung.
func (t *trap) set(random *rand.Rand, places []request, kill func()) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kill, t.after = newMoment(random, places), random.IntN(2) == 0
	if t.name = "before " + t.kill.name; t.after {
		t.name = "after " + t.kill.name
	}
	sprung := make(chan struct{})
	t.spring = func() {
		kill()
		close(sprung)
	}
	return sprung
}

// between has people act before a random request, and before some that follow.
func (t *trap) between(random *rand.Rand, places []request, act func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.people, t.act = newMoment(random, places), act
	t.people.again = random.IntN(3)
}

func (t *trap) arm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed = true
}

// shut lets nothing through any more, until clear is called.
func (t *trap) shut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dead, t.armed = true, false
}

func (t *trap) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.life++
	t.dead, t.armed, t.kill, t.people = false, false, moment{}, moment{}
}

// springs says that the request gets no answer.
func (t *trap) springs(r *http.Request, to http.Handler) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	dead := t.dead
	person := t.armed && !dead && t.people.comes(r)
	now := t.armed && !dead && t.kill.comes(r)
	life, after, act := t.life, t.after, t.act
	if now && !after {
		t.dead = true
	}
	t.mu.Unlock()
	if person {
		act()
	}
	if !dead && !(now && !after) && t.look != nil {
		t.look(r)
	}
	switch {
	case dead:
		return true
	case now && after:
		to.ServeHTTP(httptest.NewRecorder(), r)
	}
	if now {
		t.fire(life)
	}
	return now
}

// fire kills, unless that life has ended meanwhile.
func (t *trap) fire(life int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.life == life {
		t.dead, t.armed = true, false
		t.spring()
	}
}

func isWrite(r *http.Request, path string) bool {
	return r.Method != http.MethodGet && strings.HasSuffix(r.URL.Path, path)
}

func isGit(r *http.Request) bool { return strings.Contains(r.URL.Path, ".git/") }

// isAdvert is the request in which the server lists its branches before a push.
func isAdvert(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, ".git/info/refs") && r.URL.Query().Get("service") == "git-receive-pack"
}

// pushRequests are those of a push, where most can go wrong.
func pushRequests() []request {
	return []request{{"a push", 2, isPush}, {"a push", 1, isPush}, {"the branches before a push", 2, isAdvert}, {"the branches before a push", 1, isAdvert}}
}
