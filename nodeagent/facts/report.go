package facts

import (
	"sync"

	"github.com/poolwright/poolwright/nodeagent/lvm"
)

// Report is what LVM said last. Many objects are looked at one after the other, and each would
// else have LVM read all disks. The zero value has nothing.
type Report struct {
	mu    sync.Mutex
	state *lvm.State
	turn  int // counts what was forgotten
}

// Forget drops it: LVM is asked anew.
func (r *Report) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = nil
	r.turn++
}

func (r *Report) last() (*lvm.State, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state, r.turn
}

// keep keeps what was read in a turn, unless that is over.
func (r *Report) keep(state *lvm.State, turn int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turn == turn {
		r.state = state
	}
}
