package controller

import (
	"context"
	"sync"
	"time"
)

// queue hands out keys, each once however often it was added meanwhile, and to one worker at a time. Unlike that
// of client-go it has no ticker: an idle agent does not wake up.
type queue struct {
	mu      sync.Mutex
	waiting []string
	there   map[string]bool
	at      map[string]bool // what workers are at, and whether it was added meanwhile
	wake    chan struct{}
	retries map[string]*retry
}

type retry struct {
	timer *time.Timer
	delay time.Duration
}

const (
	firstDelay = 2 * time.Second
	lastDelay  = 10 * time.Minute
)

func newQueue() *queue {
	return &queue{there: map[string]bool{}, at: map[string]bool{}, wake: make(chan struct{}, 1), retries: map[string]*retry{}}
}

// Add adds a key.
func (q *queue) Add(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, is := q.at[key]; is {
		q.at[key] = true
		return
	}
	q.add(key)
}

func (q *queue) add(key string) {
	if q.there[key] {
		return
	}
	q.there[key] = true
	q.waiting = append(q.waiting, key)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Done says that the worker has finished with a key.
func (q *queue) Done(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	again := q.at[key]
	delete(q.at, key)
	if again {
		q.add(key)
	}
}

// Retry adds a key later, each time after twice as long.
func (q *queue) Retry(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := q.retries[key]
	if r == nil {
		r = &retry{delay: firstDelay / 2}
		q.retries[key] = r
	} else {
		r.timer.Stop()
	}
	r.delay = min(2*r.delay, lastDelay)
	r.timer = time.AfterFunc(r.delay, func() { q.Add(key) })
}

// Forget ends retrying.
func (q *queue) Forget(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r := q.retries[key]; r != nil {
		r.timer.Stop()
		delete(q.retries, key)
	}
}

// Empty reports whether no key waits.
func (q *queue) Empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) == 0
}

// Next waits for a key.
func (q *queue) Next(ctx context.Context) (string, error) {
	for {
		q.mu.Lock()
		if len(q.waiting) > 0 {
			key := q.waiting[0]
			q.waiting = q.waiting[1:]
			delete(q.there, key)
			q.at[key] = false
			q.mu.Unlock()
			return key, nil
		}
		q.mu.Unlock()
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-q.wake:
		}
	}
}
