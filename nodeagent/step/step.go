// Package step is what the agent does to a machine: steps as values, which plan prints, and
// a journal that is on the disk before and after each of them.
package step

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Step is one change of the machine.
type Step struct {
	Object  string `json:"object"`  // Kind/name
	Kind    string `json:"kind"`    // such as make-filesystem
	Target  string `json:"target"`  // what is changed, with its identity
	Command string `json:"command"` // the program with its arguments, or the system call
	Before  string `json:"before"`  // what is checked before
	After   string `json:"after"`   // what is checked after
	// Destroys says that what is on the target is gone afterwards.
	Destroys bool `json:"destroys,omitempty"`

	// Alone names what no other object may change meanwhile: its disk, its group.
	Alone []string `json:"-"`
	// Entry is what the journal gets, but for Step and Done.
	Entry Entry `json:"-"`
	// Prepare checks, and holds what is to be written until it is closed. It may be nil.
	Prepare func(ctx context.Context) (io.Closer, error) `json:"-"`
	// Do writes.
	Do func(ctx context.Context, held io.Closer) error `json:"-"`
	// Check is nil if the step has had its effect.
	Check func(ctx context.Context) error `json:"-"`
}

// Points are the places of a run at which a test ends the process.
func Points() []string {
	return []string{"planned", "checked", "begun", "written", "verified", "ended"}
}

// Runner carries out steps.
type Runner struct {
	Journal Journal
	// At, if not nil, is called at every point.
	At func(s Step, point string)
	// Ended, if not nil, is called when a step that was begun has ended, in whichever way.
	Ended func(s Step, took time.Duration, err error)
}

// Run carries out one step. It has succeeded if Do says so and its effect is there. If Do
// fails, the facts decide next time whether anything is left to be done.
func (r Runner) Run(ctx context.Context, s Step) (err error) {
	at := func(point string) {
		if r.At != nil {
			r.At(s, point)
		}
	}
	at("planned")
	var held io.Closer
	if s.Prepare != nil {
		if held, err = s.Prepare(ctx); err != nil {
			return err
		}
		defer func() {
			if held != nil {
				err = errors.Join(err, held.Close())
			}
		}()
	}
	at("checked")
	entry := s.Entry
	entry.Step, entry.Done = s.Kind, false
	if err := r.Journal.Write(entry); err != nil {
		return err
	}
	at("begun")
	if begun := time.Now(); r.Ended != nil {
		defer func() { r.Ended(s, time.Since(begun), err) }()
	}
	done := s.Do(ctx, held)
	at("written")
	if done != nil {
		return fmt.Errorf("%s: %w", s.Kind, done)
	}
	if closing := held; closing != nil {
		held = nil
		if err := closing.Close(); err != nil {
			return fmt.Errorf("%s: %w", s.Kind, err)
		}
	}
	if err := s.Check(ctx); err != nil {
		return fmt.Errorf("%s: it ended without a failure, and has had no effect: %w", s.Kind, err)
	}
	at("verified")
	entry.Done = true
	if err := r.Journal.Write(entry); err != nil {
		return err
	}
	at("ended")
	return nil
}
