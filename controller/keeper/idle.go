package keeper

import (
	"sync"
	"time"
)

// idle gives memory back to the system once no judgement runs. A judgement needs several times what is kept, and
// the runtime of Go keeps that for the next one.
type idle struct {
	release func()

	mu      sync.Mutex
	running int
	timer   *time.Timer // nil before the first
}

// idleAfter is how long no judgement has to run: a garbage collection costs as much as many judgements.
const idleAfter = 5 * time.Second

// begin says that a judgement does.
func (i *idle) begin() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.running++
	if i.timer != nil {
		i.timer.Stop()
	}
}

func (i *idle) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running--; i.running == 0 {
		i.timer = time.AfterFunc(idleAfter, i.release)
	}
}
