package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Files in the folder of Git that are the controller's own. A lock of git is a second name of one of them,
// so that one that was left by a kill is known from that of a running git command.
const (
	ownLock      = "poolwright.lock"
	ownReference = "poolwright-reference"
	ownIndex     = "poolwright-index-" // and the commit that is being checked out
)

// gitLock is the lock that git takes on a file: the file of the new content, under a name that is taken once.
type gitLock struct {
	file string // that is locked
	path string // of the lock
	own  string // the same under our own name
}

func (w *WorkTree) lockOf(file, own string) *gitLock {
	return &gitLock{file: file, path: file + ".lock", own: filepath.Join(w.git, own)}
}

// take takes the lock with a content: fs.ErrExist if somebody has it.
func (l *gitLock) take(content []byte) error {
	if err := l.renew(content); err != nil {
		return err
	}
	err := os.Link(l.own, l.path)
	if err != nil {
		_ = os.Remove(l.own)
	}
	return err
}

// renew writes a content under our own name.
func (l *gitLock) renew(content []byte) error {
	// Never into a file that is there: it may be the locked file itself by now.
	if err := os.Remove(l.own); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(l.own, content, 0o666)
}

// again takes a lock that an interrupted commit had, and whose content it has left.
func (l *gitLock) again() error {
	err := os.Link(l.own, l.path)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there: another git command uses the work tree; if none runs, remove the file", l.path)
	}
	return err
}

// write replaces the content while the lock is held.
func (l *gitLock) write(content []byte) error { return os.WriteFile(l.own, content, 0o666) }

// commit puts the content in the place of the file.
func (l *gitLock) commit() error { return os.Rename(l.path, l.file) }

// drop gives up what is still held.
func (l *gitLock) drop() {
	l.release()
	_ = os.Remove(l.own)
}

// release removes the lock if it is ours.
func (l *gitLock) release() {
	own, err := os.Lstat(l.own)
	if err != nil {
		return
	}
	if held, err := os.Lstat(l.path); err == nil && os.SameFile(own, held) {
		_ = os.Remove(l.path)
	}
}
