package worktree

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/poolwright/poolwright/controller/tree"
)

// Day is the last version of a folder on a day in UTC.
type Day struct {
	Time  time.Time // of the author of the commit
	Files map[string][]byte
}

// Days reads the versions of a folder below a package from the commits that changed it, one for each day by the date of the author,
// the oldest first: the files for which want holds, at most so many bytes of each version. It only reads, and HEAD may be detached. The
// error is a *folder.UsageError where there is no work tree.
func Days(dir, name string, most int64, want func(name string) bool) ([]Day, error) {
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return nil, usage("%s: no such folder", dir)
	}
	w := &WorkTree{Dir: dir}
	if err := w.find(real); err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(w.root, real)
	if err != nil {
		return nil, err
	}
	head, err := w.look()
	if err != nil {
		return nil, err
	}
	commits, err := w.changing(head, strings.TrimPrefix(path.Join(filepath.ToSlash(rel), name), "./"))
	if err != nil {
		return nil, err
	}
	var days []Day
	for _, c := range commits {
		files, err := tree.Read(w.storage, c.folder, "", most, want)
		if err != nil {
			return nil, err
		}
		days = append(days, Day{c.at, files.Content})
	}
	return days, nil
}

// look is the commit of HEAD, on whatever branch or on none.
func (w *WorkTree) look() (plumbing.Hash, error) {
	if data, err := os.ReadFile(filepath.Join(w.git, "HEAD")); err == nil {
		if text := strings.TrimSpace(string(data)); plumbing.IsHash(text) {
			return plumbing.NewHash(text), nil
		}
	}
	return w.Head()
}

// change is a commit that changed a folder.
type change struct {
	at     time.Time
	folder plumbing.Hash
}

// changing lists the commits that changed a folder, the last of each day in UTC by the date of the author, the oldest first. A commit
// changes it that has it otherwise than all of its parents. What a shallow clone lacks is left out.
func (w *WorkTree) changing(head plumbing.Hash, dir string) ([]change, error) {
	found := map[plumbing.Hash]plumbing.Hash{} // folders, by commit
	last := map[string]change{}
	queue, seen := []plumbing.Hash{head}, map[plumbing.Hash]bool{head: true}
	folderOf := func(hash plumbing.Hash) (*object.Commit, plumbing.Hash, error) {
		c, err := object.GetCommit(w.storage, hash)
		if err != nil {
			return nil, plumbing.ZeroHash, err
		}
		if is, known := found[hash]; known {
			return c, is, nil
		}
		is, err := tree.Find(w.storage, c.TreeHash, dir)
		if errors.As(err, new(*tree.RefusedError)) {
			is, err = plumbing.ZeroHash, nil
		}
		found[hash] = is
		return c, is, err
	}
	for len(queue) > 0 {
		hash := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		c, is, err := folderOf(hash)
		if err != nil {
			return nil, err
		}
		changed := true
		for _, parent := range c.ParentHashes {
			_, was, err := folderOf(parent)
			if errors.Is(err, plumbing.ErrObjectNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			changed = changed && was != is
			if !seen[parent] {
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
		at := c.Author.When.UTC()
		if of, known := last[at.Format(time.DateOnly)]; changed && !is.IsZero() && (!known || !at.Before(of.at)) {
			last[at.Format(time.DateOnly)] = change{at, is}
		}
	}
	var all []change
	for _, c := range last {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b change) int { return a.at.Compare(b.at) })
	return all, nil
}
