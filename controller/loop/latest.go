package loop

import (
	"sync"

	"github.com/poolwright/poolwright/controller/hydration"
)

// latest are the facts of the last snapshot, which the watch replaces at any time.
type latest struct {
	mu    sync.Mutex
	facts hydration.Facts
	known bool // no watch is lost
}

// set takes over facts, and reports whether they are news.
func (l *latest) set(facts hydration.Facts, known bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	news := facts.Digest != l.facts.Digest || known != l.known
	l.facts, l.known = facts, known
	return news
}

// forget says that the facts may have changed unseen.
func (l *latest) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = false
}

func (l *latest) get() (hydration.Facts, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.facts, l.known
}
