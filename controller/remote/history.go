package remote

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/memory"
)

// History fetches the commit of a source and those before it with their trees, so many in a row. It has
// the contents of files only where the server cannot leave them out. The error is an *Error: Refused where
// the history is too large to be read.
func (r *Remote) History(ctx context.Context, s *Source, commits int) (*memory.Storage, error) {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	var history *memory.Storage
	err := r.fetching(ctx, func(session transport.UploadPackSession, refs *packp.AdvRefs) (err error) {
		history, err = r.unpack(ctx, session, refs, wanted{head: s.Head, depth: commits, bare: true})
		return err
	})
	return history, err
}
