package publish

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/controller/tree"
)

// Branch pushes a commit to the branch of the specs.
type Branch struct{ Remote *remote.Remote }

// Publish commits after the commit that was judged, and moves the branch from there, without force.
func (b Branch) Publish(ctx context.Context, c Change) (Published, error) {
	commit, err := write(c)
	if err != nil {
		return Published{}, err
	}
	if err := c.Step(true, nil); err != nil {
		return Published{}, err
	}
	if err := b.Remote.Push(ctx, c.Branch, c.Source, commit); err != nil {
		return Published{}, err
	}
	return Published{Revision: Revision(c.Branch, commit), Head: commit, Reason: "Published", Message: c.Subject}, nil
}

// write makes the commit of a change, in memory.
func write(c Change) (plumbing.Hash, error) {
	head, err := object.GetCommit(c.Source, c.Source.Head)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	root, err := tree.Write(c.Source, head.TreeHash, c.Dir, c.Files)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return tree.Commit{Tree: root, Parent: c.Source.Head, Author: c.Author, Time: c.Time, Message: c.Message, Key: c.Key}.Write(c.Source)
}

// Revision names a commit of a branch as Flux does: main@sha1:<40 hex>.
func Revision(branch string, commit plumbing.Hash) string {
	return branch + "@sha1:" + commit.String()
}
