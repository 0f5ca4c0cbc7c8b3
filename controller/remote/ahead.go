package remote

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Ahead is a branch with the commits that a source does not have.
type Ahead struct {
	*memory.Storage // these commits, and one before each of them, with their files
	Head            plumbing.Hash
	Commits         []plumbing.Hash // base..head in no order; none if the source has all
}

// Ahead fetches what a branch has and a source does not; nil if there is no such branch. The error is
// an *Error.
func (r *Remote) Ahead(ctx context.Context, branch string, base *Source) (*Ahead, error) {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	var ahead *Ahead
	err := r.fetching(ctx, func(s transport.UploadPackSession, refs *packp.AdvRefs) (err error) {
		head, found := refs.References[plumbing.NewBranchReferenceName(branch).String()]
		if !found {
			return nil
		}
		ahead = &Ahead{Storage: memory.NewStorage(), Head: head}
		if head == base.Head {
			return nil
		}
		// A server that believes that all of the base is here sends exactly the commits that are not
		// in it, but not all of their files.
		commits, err := r.unpack(ctx, s, refs, wanted{head: head, without: base.Head})
		if err != nil {
			return err
		}
		for hash := range commits.Commits {
			ahead.Commits = append(ahead.Commits, hash)
		}
		slices.SortFunc(ahead.Commits, func(a, b plumbing.Hash) int { return strings.Compare(a.String(), b.String()) })
		return nil
	})
	if err != nil || ahead == nil || len(ahead.Commits) == 0 {
		return ahead, err
	}
	err = r.fetching(ctx, func(s transport.UploadPackSession, refs *packp.AdvRefs) (err error) {
		ahead.Storage, err = r.unpack(ctx, s, refs, wanted{head: ahead.Head, depth: len(ahead.Commits) + 1})
		return err
	})
	return ahead, err
}

// unpack asks for a pack, and unpacks it.
func (r *Remote) unpack(ctx context.Context, s transport.UploadPackSession, refs *packp.AdvRefs, want wanted) (*memory.Storage, error) {
	pack, err := r.pack(ctx, s, refs, want)
	if err != nil {
		return nil, err
	}
	into := memory.NewStorage()
	if len(pack) == 0 {
		return into, nil
	}
	if err := measure(pack, r.limit()); err != nil {
		return nil, err
	}
	return into, packfile.UpdateObjectStorage(into, bytes.NewReader(pack))
}
