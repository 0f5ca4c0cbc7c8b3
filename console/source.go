package console

import (
	"bytes"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/poolwright/poolwright/console/view"
	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/controller/worktree"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
)

// source reads the package again whenever its files or its commit have changed.
type source struct {
	function *fn.Function
	dir      string
	given    *tree.Author // of commits; nil for that of Git

	mu      sync.Mutex
	key     string
	current *state
}

// state is a package at one time, with what Git knows of it.
type state struct {
	*view.View
	work     *worktree.WorkTree
	head     plumbing.Hash // zero for none
	readOnly error         // why nothing can be committed, nil if it can
	facts    time.Time     // of the inventory; zero for none

	once    sync.Once
	history []worktree.Entry
	failed  error
}

// newSource looks at a folder. The error is that of the folder.
func newSource(function *fn.Function, dir string, author *tree.Author) (*source, error) {
	_, err := worktree.Inspect(dir)
	return &source{function: function, dir: dir, given: author}, err
}

// author is who makes commits. The error says that nobody is known.
func (s *source) author(work *worktree.WorkTree) (tree.Author, error) {
	if s.given != nil {
		return *s.given, nil
	}
	a := work.Author(tree.Author{})
	if a.Name == "" || a.Email == "" {
		return a, errors.New("no author is known to Git: set user.name and user.email, or start the console with --author")
	}
	return a, nil
}

// at is a package of these files.
func (s *source) at(files map[string][]byte) (*view.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && maps.EqualFunc(s.current.Files, files, bytes.Equal) {
		return s.current.View, nil
	}
	return view.New(s.function, files)
}

// now is the package as it is. The error says why the folder is none.
func (s *source) now() (*state, error) {
	work, err := worktree.Inspect(s.dir)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	head, readOnly := work.At(), work.Writable()
	if readOnly == nil {
		_, readOnly = s.author(work)
	}
	key := head.String() + " " + work.Look()
	if readOnly != nil {
		key += readOnly.Error()
	}
	if s.current != nil && s.key == key {
		return s.current, nil
	}
	files, err := work.Files(hydration.Reads)
	if err != nil {
		return nil, err
	}
	v, err := view.New(s.function, files)
	if err != nil {
		return nil, err
	}
	next := &state{View: v, work: work, head: head, readOnly: readOnly, facts: work.FolderTime(head, inventory.Folder, files)}
	s.key, s.current = key, next
	return next, nil
}

// mostHistory is how many commits are listed.
const mostHistory = 10_000

// commits are those that changed the package, the last first.
func (s *state) commits() ([]worktree.Entry, error) {
	s.once.Do(func() {
		if !s.head.IsZero() {
			s.history, s.failed = s.work.History(s.head, mostHistory)
		}
	})
	return s.history, s.failed
}
