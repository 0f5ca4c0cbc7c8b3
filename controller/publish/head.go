package publish

import (
	"errors"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/proposal"
	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/fn"
)

// headReader reads the commits of a head branch as package proposal judges them.
type headReader struct {
	*remote.Ahead
	dir   string
	most  int64                           // bytes of an output
	forks map[plumbing.Hash]plumbing.Hash // the last commit of the base in each
}

// readHead reads a head branch, with outputs of at most this many bytes; nil for none.
func readHead(a *remote.Ahead, dir string, most int64) (*proposal.Head, error) {
	if a == nil {
		return nil, nil
	}
	h := &proposal.Head{Side: proposal.Side{Commit: a.Head.String()}}
	if len(a.Commits) == 0 {
		return h, nil
	}
	r := headReader{Ahead: a, dir: dir, most: most, forks: map[plumbing.Hash]plumbing.Hash{}}
	for _, hash := range a.Commits {
		c, err := r.commit(hash)
		if err != nil {
			return nil, err
		}
		h.Commits = append(h.Commits, c)
		if hash == a.Head {
			h.Output = c.Output
		}
	}
	fork, err := r.fork(a.Head)
	if err != nil {
		return nil, err
	}
	c, err := object.GetCommit(r, fork)
	if err != nil {
		return nil, err
	}
	h.Fork.Commit = fork.String()
	found, err := tree.Find(r, c.TreeHash, dir)
	if h.Fork.Package = found.String(); isRefused(err) {
		h.Fork.Package, err = "", nil
	}
	return h, err
}

// filesOf are the files of a package in a head, as a render reads them, of at most this many bytes; nil where it
// has none of its own.
func filesOf(a *remote.Ahead, dir string, most int64) (map[string][]byte, error) {
	if len(a.Commits) == 0 {
		return nil, nil
	}
	c, err := object.GetCommit(a, a.Head)
	if err != nil {
		return nil, err
	}
	files, err := tree.Read(a, c.TreeHash, dir, most, hydration.Reads)
	if isRefused(err) {
		return nil, nil
	}
	return files.Content, err
}

func isRefused(err error) bool {
	var why *tree.RefusedError
	return errors.As(err, &why)
}

func (r *headReader) commit(hash plumbing.Hash) (proposal.Commit, error) {
	c, err := object.GetCommit(r, hash)
	if err != nil {
		return proposal.Commit{}, err
	}
	made := proposal.Commit{
		ID:     hash.String(),
		Author: proposal.Identity{Name: c.Author.Name, Email: c.Author.Email}, Committer: proposal.Identity{Name: c.Committer.Name, Email: c.Committer.Email},
		Trailer: hydration.TrailerOf(c.Message, hydration.TrailerOutput),
	}
	if made.Output, err = outputOf(r, c.TreeHash, r.dir, r.most); err != nil {
		return made, err
	}
	made.MergesBase, err = r.mergesBase(c)
	return made, err
}

// outputOf is the digest of the output in a tree; "" where it has what is no file, or more than most bytes.
func outputOf(s storer.EncodedObjectStorer, root plumbing.Hash, dir string, most int64) (string, error) {
	rendered := path.Join(dir, fn.RenderedFolder)
	if _, err := tree.Find(s, root, rendered); isRefused(err) {
		return hydration.Digest(nil), nil
	}
	files, err := tree.Read(s, root, rendered, most, func(string) bool { return true })
	if isRefused(err) {
		return "", nil
	}
	return hydration.Digest(files.Content), err
}

// sides are the parents of a merge of the base: the head before, and the commit of the base.
func (r *headReader) sides(c *object.Commit) (ours, theirs plumbing.Hash, found bool) {
	if len(c.ParentHashes) != 2 {
		return ours, theirs, false
	}
	for i, hash := range c.ParentHashes {
		if other := c.ParentHashes[1-i]; slices.Contains(r.Commits, hash) && !slices.Contains(r.Commits, other) {
			return hash, other, true
		}
	}
	return ours, theirs, false
}

// fork is the last commit of the base in a commit of the head; that of the first parent where there
// are several.
func (r *headReader) fork(hash plumbing.Hash) (plumbing.Hash, error) {
	if !slices.Contains(r.Commits, hash) {
		return hash, nil
	}
	if known, found := r.forks[hash]; found {
		return known, nil
	}
	c, err := object.GetCommit(r, hash)
	if err != nil {
		return hash, err
	}
	fork := hash
	if _, theirs, found := r.sides(c); found {
		fork = theirs
	} else if len(c.ParentHashes) > 0 {
		if fork, err = r.fork(c.ParentHashes[0]); err != nil {
			return hash, err
		}
	}
	r.forks[hash] = fork
	return fork, nil
}

// mergesBase reports whether a commit merges the base into the head, and changes nothing beside.
func (r *headReader) mergesBase(c *object.Commit) (bool, error) {
	ours, theirs, found := r.sides(c)
	if !found {
		return false, nil
	}
	from, err := r.fork(ours)
	if err != nil {
		return false, err
	}
	var trees [3]plumbing.Hash
	for i, hash := range []plumbing.Hash{from, ours, theirs} {
		side, err := object.GetCommit(r, hash)
		if err != nil {
			return false, err
		}
		trees[i] = side.TreeHash
	}
	return tree.IsMerge(r, trees[0], trees[1], trees[2], c.TreeHash)
}
