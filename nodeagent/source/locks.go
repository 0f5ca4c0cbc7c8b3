package source

import (
	"context"
	"slices"
	"sync"
)

// locks keep objects from changing the same thing at the same time: a disk, a volume group, the folder of sparse
// files. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when it is given back
}

// take waits for what is named, and returns what gives it back.
func (l *locks) take(ctx context.Context, names []string) (func(), error) {
	names = slices.Compact(slices.Sorted(slices.Values(names))) // all take them in the same order
	var taken []string
	give := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, name := range taken {
			close(l.held[name])
			delete(l.held, name)
		}
	}
	for _, name := range names {
		for {
			l.mu.Lock()
			by := l.held[name]
			if by == nil {
				if l.held == nil {
					l.held = map[string]chan struct{}{}
				}
				l.held[name] = make(chan struct{})
				taken = append(taken, name)
				l.mu.Unlock()
				break
			}
			l.mu.Unlock()
			select {
			case <-by:
			case <-ctx.Done():
				give()
				return nil, ctx.Err()
			}
		}
	}
	return give, nil
}
