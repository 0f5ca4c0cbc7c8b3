// Package proposal decides about the rolling pull request of a package: one head branch with one
// commit on the branch of the specs, and one pull request for it. It is pure: from what is on the
// branches and on the forge to the next steps. Whoever is stopped between two of them, or does one
// twice, comes to the same end, because each decision begins with what is there.
package proposal

import (
	"slices"

	"github.com/poolwright/poolwright/controller/forge"
)

// State is what there is.
type State struct {
	Base    Side            // the branch of the specs
	Judged  string          // digest of the output that it is to have
	Text    string          // digest of the text that people are to read: Compose
	Me      Identity        // whose commits are the controller's
	Head    *Head           // nil if there is no such branch
	Request []forge.Request // of these branches, of any state, the newest first
}

// Side is a commit with the package in it.
type Side struct {
	Commit  string
	Output  string // digest of the output
	Package string // digest of the package with all of its files
}

// Head is the head branch.
type Head struct {
	Side
	Fork    Side     // the last commit of the base in it; its output is not used
	Commits []Commit // base..head; none if the base has all of it
}

// Identity is an author or a committer.
type Identity struct{ Name, Email string }

// Commit is a commit of base..head.
type Commit struct {
	ID                string
	Author, Committer Identity
	Trailer           string // the digest of the output that its message names, "" for none
	Output            string // the digest of the output in it
	// MergesBase says that it merges a commit of the base, with what git makes of the two alone.
	MergesBase bool
}

func (c *Commit) isOwn(me Identity) bool {
	return c.Author == me && c.Committer == me && c.Trailer != "" && c.Trailer == c.Output
}

// Verdict is what is said of a package after the steps of a decision.
type Verdict string

// The verdicts.
const (
	UpToDate       Verdict = "UpToDate"      // nothing is to be proposed
	AwaitingMerge  Verdict = "AwaitingMerge" // a pull request is open
	ForeignCommits Verdict = "ForeignCommits"
	Declined       Verdict = "Declined"
)

// Decision is what is to be done, in this order, and what is said afterwards.
type Decision struct {
	// Duplicates are younger pull requests of the controller's for the same branches, which are marked and closed: a
	// forge may make two where the controller was stopped while it created one.
	Duplicates []*forge.Request

	Push     bool // the head is made, or replaced from the commit that it has
	Create   bool // a pull request
	Edit     bool // its text
	Withdraw bool // it is marked as withdrawn, and closed
	Delete   bool // the head branch, if it still has its commit
	Verdict  Verdict
	Request  *forge.Request // that the verdict is about; nil if there is none
	Foreign  []string       // commits that are not the controller's
	Merged   bool           // the last pull request was merged
}

// Decide decides.
func Decide(s *State) Decision {
	open, duplicates := s.open()
	d := s.decide(open)
	d.Duplicates = duplicates
	return d
}

// open is the open pull request: of those that are the controller's the oldest, or else the newest. duplicates
// are the others that are the controller's.
func (s *State) open() (open *forge.Request, duplicates []*forge.Request) {
	var own []*forge.Request
	for i := range s.Request {
		switch r := &s.Request[i]; {
		case r.State != forge.Open:
		case ReadMarks(r.Body).Output != "":
			own = append(own, r)
		case open == nil:
			open = r
		}
	}
	if len(own) == 0 {
		return open, nil
	}
	for len(own) > 1 {
		duplicates, own = append(duplicates, own[0]), own[1:]
	}
	return own[0], duplicates
}

// decide decides about one pull request, nil if none is open.
func (s *State) decide(open *forge.Request) Decision {
	var last *forge.Request
	if len(s.Request) > 0 {
		last = &s.Request[0]
	}
	strangers := s.strangers()
	foreign := strangers
	if s.isMerged() {
		foreign = nil
	}
	switch {
	case s.Judged != s.Base.Output:
		return s.propose(open, foreign)
	case open != nil && len(foreign) > 0:
		return Decision{Verdict: ForeignCommits, Request: open, Foreign: foreign}
	case open != nil:
		return Decision{Verdict: UpToDate, Request: open, Withdraw: true, Delete: s.Head != nil}
	}
	return Decision{
		Verdict: UpToDate, Request: last, Delete: s.isLeftOver(last, len(strangers) > 0),
		Merged: last != nil && last.State == forge.Merged,
	}
}

// strangers are the commits of the head that are not the controller's.
func (s *State) strangers() []string {
	if s.Head == nil {
		return nil
	}
	var found []string
	for i := range s.Head.Commits {
		if c := &s.Head.Commits[i]; !c.MergesBase && !c.isOwn(s.Me) {
			found = append(found, c.ID)
		}
	}
	return found
}

// isMerged reports whether the head was merged as it is: squashing makes another commit of it.
func (s *State) isMerged() bool {
	return s.Head != nil && slices.ContainsFunc(s.Request, func(r forge.Request) bool {
		return r.State == forge.Merged && r.Head == s.Head.Commit
	})
}

// propose decides where the output differs from that of the base.
func (s *State) propose(open *forge.Request, foreign []string) Decision {
	if open == nil {
		if r := s.declined(); r != nil {
			return Decision{Verdict: Declined, Request: r}
		}
	}
	if len(foreign) > 0 {
		return Decision{Verdict: ForeignCommits, Request: open, Foreign: foreign}
	}
	d := Decision{Verdict: AwaitingMerge, Request: open, Create: open == nil}
	d.Push = s.isStale(open)
	if open != nil {
		marks := ReadMarks(open.Body)
		d.Edit = marks.Withdrawn || marks.Output != s.Judged || marks.Text != s.Text
	}
	return d
}

// isStale reports whether the head is to be replaced.
func (s *State) isStale(open *forge.Request) bool {
	h := s.Head
	switch {
	case h == nil, len(h.Commits) == 0:
		return true
	case h.Output != s.Judged:
		return true
	case h.Fork.Package != s.Base.Package:
		return true
	}
	// A head on top of the base cannot conflict with it, whatever the forge believes.
	return open != nil && open.Conflict && h.Fork.Commit != s.Base.Commit
}

// declined finds a pull request with this output that a person has closed.
func (s *State) declined() *forge.Request {
	for i := range s.Request {
		r := &s.Request[i]
		if marks := ReadMarks(r.Body); r.State == forge.Closed && !marks.Withdrawn && marks.Output == s.Judged {
			return r
		}
	}
	return nil
}

// isLeftOver reports whether the head branch is there for nothing: the controller was stopped before
// it made a pull request or removed the branch, or the pull request was merged. One that a person has
// closed stays, so that it can be opened again.
func (s *State) isLeftOver(last *forge.Request, others bool) bool {
	switch {
	case s.Head == nil, others:
		return false
	case last == nil:
		return len(s.Head.Commits) > 0
	}
	return last.State == forge.Merged || ReadMarks(last.Body).Withdrawn
}
