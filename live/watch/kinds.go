package watch

import (
	"time"

	"github.com/poolwright/poolwright/fn/system"
)

// Kinds come and go with their definitions, which are followed as facts. So the API server is asked which kinds
// it serves only after a definition changed, a kind was not found, or a watch was lost: a cluster at rest is
// asked nothing. Where definitions are not followed, it is asked now and then.

// afterNews are the pauses before the questions that follow news: an API server acts on a definition only some
// time after it has stored it, and what is missing is looked for twice.
var afterNews = [...]time.Duration{time.Second, 5 * time.Second, 15 * time.Second}

// questions say when to ask which kinds are served.
type questions struct{ left []time.Duration }

// news begins the pauses again, and returns the first.
func (q *questions) news() time.Duration {
	q.left = afterNews[1:]
	return afterNews[0]
}

// asked returns the pause after a question. told says that news come by themselves, and failed that there was no answer.
func (q *questions) asked(told, failed bool) (pause time.Duration, again bool) {
	switch {
	case failed:
		return discovery, true
	case len(q.left) > 0:
		pause, q.left = q.left[0], q.left[1:]
		return pause, true
	}
	return discovery, !told
}

// tellsOfKinds reports whether definitions are followed.
func (w *watcher) tellsOfKinds() bool {
	for _, s := range w.sources {
		if s.definitions() && s.synced() {
			return true
		}
	}
	return false
}

// definitions reports whether the objects are the definitions of kinds.
func (s *source) definitions() bool { return s.fact != nil && s.fact.Tells == system.TellsDefinitions }

// news says that kinds may have come or gone.
func (w *watcher) news() {
	select {
	case w.kinds <- struct{}{}:
	default:
	}
}
