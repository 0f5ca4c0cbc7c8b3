// Package health says whether storage is healthy: one status for each spec, and the tree
// of objects from a claim down to its disks. It holds the words and the way in
// which one status is made of many observations; what is observed is the
// business of the systems.
package health

import (
	"time"

	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/schema/finding"
)

// Phase is the health of something in one word.
type Phase string

// The phases. Progressing is what comes right by itself, or by the next step of the
// usual course (render, commit, apply), which the message then names. Error is what
// a person must look at; it may still heal.
const (
	OK          Phase = "OK"
	Progressing Phase = "PROGRESSING"
	Error       Phase = "ERROR"
)

// WorseThan orders phases.
func (p Phase) WorseThan(q Phase) bool { return p.rank() > q.rank() }

func (p Phase) rank() int {
	switch p {
	case Progressing:
		return 1
	case Error:
		return 2
	}
	return 0
}

// Reasons that are the same for every system, CamelCase as in Kubernetes
// conditions.
const (
	Healthy      = "Healthy"
	InvalidSpec  = "InvalidSpec"  // the only one that no change of the cluster can heal
	CannotRender = "CannotRender" // the spec is valid, and the cluster does not allow what it wants
	NotRendered  = "NotRendered"
	NotApplied   = "NotApplied"
)

// Status is the health of what one spec asks for.
type Status struct {
	Spec    finding.Ref
	Phase   Phase
	Reason  string    // one CamelCase word
	Message string    // one line: what is wrong, where, how many of how many
	Since   time.Time // of the cause, as the facts show; zero where they do not
	Details []Detail
	// Problems are all of them, and the status shows the worst.
	Problems []Observation
	// Transitions are those that are under way to what the spec says.
	Transitions []transition.Transition
}

// Detail is the health of a part of it: what is on one node, or one disk.
type Detail struct {
	Object  finding.Ref // the rendered object that stands for the part
	Node    string
	Phase   Phase
	Reason  string
	Message string
	Since   time.Time
}

// SinceAfter is since when a status is so, where another one came before it: what
// the facts show an error is older than what we saw, but a healthy status is no
// older than the end of the last unhealthy one. now is when it was seen.
func (s *Status) SinceAfter(before Phase, reason string, since, now time.Time) time.Time {
	same := before == s.Phase && reason == s.Reason
	switch {
	case same && s.Phase == OK && since.After(s.Since), same && s.Since.IsZero():
		return since
	case !same && before != "" && (s.Phase == OK || s.Since.IsZero()):
		return now
	}
	return s.Since
}
