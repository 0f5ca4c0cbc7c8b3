package worktree

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/poolwright/poolwright/controller/tree"
)

// ErrMoved says that the branch is no longer where it was: somebody else committed.
var ErrMoved = errors.New("the branch was moved meanwhile")

// Head is the commit of the current branch.
func (w *WorkTree) Head() (plumbing.Hash, error) {
	name, err := w.branch()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	hash, err := w.reference(name)
	if err == nil && hash.IsZero() {
		err = usage("%s: the branch %s has no commit yet; commit the package first", w.Dir, strings.TrimPrefix(name, "refs/heads/"))
	}
	return hash, err
}

// branch is the reference that HEAD names.
func (w *WorkTree) branch() (string, error) {
	data, err := os.ReadFile(filepath.Join(w.git, "HEAD"))
	if err != nil {
		return "", err
	}
	name, found := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: ")
	if !found {
		return "", usage("%s: HEAD is detached, so that a commit would be on no branch; check out a branch first", w.Dir)
	}
	return name, nil
}

// reference is the value of a reference, zero if it is not there.
func (w *WorkTree) reference(name string) (plumbing.Hash, error) {
	data, err := os.ReadFile(filepath.Join(w.common, filepath.FromSlash(name)))
	switch {
	case err == nil:
		text := strings.TrimSpace(string(data))
		if !plumbing.IsHash(text) {
			return plumbing.ZeroHash, fmt.Errorf("the reference %s is %q, and no commit", name, text)
		}
		return plumbing.NewHash(text), nil
	case !errors.Is(err, fs.ErrNotExist):
		return plumbing.ZeroHash, err
	}
	packed, err := os.ReadFile(filepath.Join(w.common, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return plumbing.ZeroHash, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(packed)); lines.Scan(); {
		if hash, ref, _ := strings.Cut(lines.Text(), " "); ref == name {
			return plumbing.NewHash(hash), nil
		}
	}
	return plumbing.ZeroHash, nil
}

// advance moves a branch from one commit to the next, under git's own lock: ErrMoved if it is not there, or
// HEAD is on another branch.
func (w *WorkTree) advance(name string, from, to plumbing.Hash) error {
	file := filepath.Join(w.common, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	lock := w.lockOf(file, ownReference)
	switch err := lock.take(fmt.Appendln(nil, to)); {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s is there: another git command moves the branch; if none runs, remove the file", lock.path)
	case err != nil:
		return err
	}
	defer lock.drop()
	now, err := w.reference(name)
	if err != nil {
		return err
	}
	if head, err := w.branch(); err != nil || head != name || now != from {
		return ErrMoved
	}
	return lock.commit()
}

// log adds a commit to the logs of the branch and of HEAD, as git does where they are kept. Nothing
// depends on them.
func (w *WorkTree) log(name string, from, to plumbing.Hash, who tree.Author, at time.Time, subject string) {
	line := fmt.Sprintf("%s %s %s <%s> %d %s\tcommit: %s\n", from, to, who.Name, who.Email, at.Unix(), at.Format("-0700"), subject)
	for _, file := range []string{filepath.Join(w.git, "logs", "HEAD"), filepath.Join(w.common, "logs", filepath.FromSlash(name))} {
		log, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			continue
		}
		_, _ = log.WriteString(line)
		_ = log.Close()
	}
}
