package service

import (
	"context"
	"errors"
	"sync/atomic"
)

// smallBody is how much of a body is read before its request has a slot, in bytes.
const smallBody = 1 << 20

// MemoryPerByte is how much memory the work on a large body takes, in bytes for each of its
// bytes: the text, the same as files, the nodes of both, and the answer.
const MemoryPerByte = 12

// MostBody is the largest body, in bytes, of which two can be worked on at the same time with a
// memory limit in bytes.
func MostBody(memory int64) int64 { return memory / (2 * MemoryPerByte) }

// errBusy says that all slots are taken, and the queue is full.
var errBusy = errors.New("all slots are taken, and the queue is full")

// slots limits how many requests are worked on, and how many wait for that.
type slots struct {
	free   chan struct{} // an entry for each slot that is taken
	most   int64
	queued atomic.Int64

	reading atomic.Int64 // requests whose body arrives, without a slot
}

// mostReading is how many small bodies arrive at the same time, for each slot and each place in
// the queue: together they have at most as many MiB.
const mostReading = 16

// read counts a request whose body arrives. The error is errBusy.
func (s *slots) read() error {
	if s.reading.Add(1) > mostReading*(int64(cap(s.free))+s.most) {
		s.reading.Add(-1)
		return errBusy
	}
	return nil
}

func (s *slots) hasRead() { s.reading.Add(-1) }

// full reports whether a request would not even find a place in the queue.
func (s *slots) full() bool {
	return len(s.free) == cap(s.free) && s.queued.Load() >= s.most
}

// take waits for a slot. The error is errBusy, or that of the context.
func (s *slots) take(ctx context.Context) error {
	select {
	case s.free <- struct{}{}:
		return nil
	default:
	}
	if s.queued.Add(1) > s.most {
		s.queued.Add(-1)
		return errBusy
	}
	defer s.queued.Add(-1)
	select {
	case s.free <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slots) give() { <-s.free }
