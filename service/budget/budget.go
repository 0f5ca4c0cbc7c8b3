// Package budget limits how many bytes are in memory at the same time.
package budget

import (
	"context"
	"sync"
)

// Budget is a number of bytes that several share.
type Budget struct {
	mu    sync.Mutex
	left  int64
	freed chan struct{} // closed when there is more
}

// New makes a budget of so many bytes.
func New(bytes int64) *Budget {
	return &Budget{left: bytes, freed: make(chan struct{})}
}

// Take waits for bytes. More than the whole budget are never there. The error is that of the context.
func (b *Budget) Take(ctx context.Context, bytes int64) error {
	for {
		b.mu.Lock()
		freed := b.freed
		if b.left >= bytes {
			b.left -= bytes
			b.mu.Unlock()
			return nil
		}
		b.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Give returns bytes that were taken.
func (b *Budget) Give(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += bytes
	close(b.freed)
	b.freed = make(chan struct{})
}

// Left is how many bytes nobody has.
func (b *Budget) Left() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left
}
