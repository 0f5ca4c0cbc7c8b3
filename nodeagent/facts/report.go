package facts

import "sync"

// Report is what the node was when it was last looked at. Many objects are looked at one after the other, and each
// would else have all devices, and LVM, be read. The zero value has nothing.
type Report struct {
	mu    sync.Mutex
	facts *Facts
	asked map[string]bool // who has seen it
}

// Forget drops it: the node is looked at again.
func (r *Report) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.facts = nil
}

// Facts are those that are there, for whoever has not seen them yet, or else new ones. They are shared if they were
// read for others: whoever comes a second time wants what is now.
func (r *Report) Facts(asker string, read func() (*Facts, error)) (f *Facts, shared bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.facts != nil && !r.asked[asker] {
		r.asked[asker] = true
		return r.facts, true, nil
	}
	if f, err = read(); err != nil {
		return nil, false, err
	}
	r.facts, r.asked = f, map[string]bool{asker: true}
	return f, false, nil
}
