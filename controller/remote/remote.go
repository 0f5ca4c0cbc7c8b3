// Package remote is a Git repository on a server: it looks up a branch, fetches its last commit
// into memory, and pushes a commit that follows it.
//
// Nothing is on a disk, and no hook or filter is run here. A program is run for file:// alone:
// git-upload-pack and git-receive-pack of the machine, which run the hooks of that repository. What may be connected to is judged
// by the address that is dialled (Rules). A push moves a branch only from the commit that was
// fetched; whatever the answer of the server is, the branch itself decides whether it succeeded.
package remote

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

const (
	lookTimeout = 30 * time.Second // for the commit of a branch
	moveTimeout = 5 * time.Minute  // for a fetch or a push
)

// Remote is a repository, with the credentials for it. It keeps no connection.
type Remote struct {
	rules       Rules
	room        int64 // bytes of a pack, and of what is in it; at most Rules.MaxSource
	admit       func() error
	url         *url.URL
	credentials Credentials
	words       redactor
}

// Open checks the address of a repository. Nothing is connected to yet. The error is an *Error.
func Open(address string, rules Rules, c Credentials) (*Remote, error) {
	r := &Remote{rules: rules, room: rules.MaxSource, credentials: c, words: newRedactor(c.secrets()...)}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" && u.Scheme != "file" || u.Opaque != "" {
		return nil, &Error{Reason: Refused, Message: "the URL of the source cannot be read; write one such as https://git.example.com/team/storage.git"}
	}
	if u.User != nil {
		return nil, &Error{Reason: Refused, Message: "the URL of the source has a user or a password; put them in the Secret that spec.source.secretRef names"}
	}
	r.url = u
	return r, rules.checkScheme(u, c)
}

// Within limits what a pack may have to less than Rules.MaxSource, in bytes: packed, and unpacked. A
// larger one is an *Error with the reason TooLarge. admit is called when a pack begins to arrive, and
// the error is its error.
func (r *Remote) Within(room int64, admit func() error) {
	r.room, r.admit = min(room, r.rules.MaxSource), admit
}

// Rules are those that the repository was opened with.
func (r *Remote) Rules() *Rules { return &r.rules }

// Credentials are those that the repository was opened with.
func (r *Remote) Credentials() Credentials { return r.credentials }

// Head looks up the commit of a branch, with one request. The error is an *Error.
func (r *Remote) Head(ctx context.Context, branch string) (plumbing.Hash, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var head plumbing.Hash
	err := r.fetching(ctx, func(_ transport.UploadPackSession, refs *packp.AdvRefs) (err error) {
		head, err = commitOf(refs, branch)
		return err
	})
	return head, err
}

// Heads looks up the commits of branches, with one request; those that are not there are left out.
// The error is an *Error.
func (r *Remote) Heads(ctx context.Context, branches ...string) (map[string]plumbing.Hash, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	heads := map[string]plumbing.Hash{}
	err := r.fetching(ctx, func(_ transport.UploadPackSession, refs *packp.AdvRefs) error {
		for _, branch := range branches {
			if head, found := refs.References[plumbing.NewBranchReferenceName(branch).String()]; found {
				heads[branch] = head
			}
		}
		return nil
	})
	return heads, err
}

// Fetch gets the last commit of a branch, without those before it. The error is an *Error.
func (r *Remote) Fetch(ctx context.Context, branch string) (*Source, error) {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	var source *Source
	err := r.fetching(ctx, func(s transport.UploadPackSession, refs *packp.AdvRefs) error {
		head, err := commitOf(refs, branch)
		if err != nil {
			return err
		}
		pack, err := r.pack(ctx, s, refs, wanted{head: head, depth: 1})
		if err != nil {
			return err
		}
		source, err = newSource(pack, head, r.limit())
		return err
	})
	return source, err
}

// fetching opens a session that reads, and hands over the branches.
func (r *Remote) fetching(ctx context.Context, do func(transport.UploadPackSession, *packp.AdvRefs) error) error {
	c, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	s, err := c.transport.NewUploadPackSession(c.endpoint, c.auth)
	if err != nil {
		return r.explain(c, err)
	}
	defer s.Close()
	refs, err := s.AdvertisedReferencesContext(ctx)
	if err == nil {
		err = do(s, refs)
	}
	return r.explain(c, err)
}

// commitOf is the commit of a branch among those of a repository.
func commitOf(refs *packp.AdvRefs, branch string) (plumbing.Hash, error) {
	head, found := refs.References[plumbing.NewBranchReferenceName(branch).String()]
	if !found {
		return head, &Error{Reason: Unavailable, Message: fmt.Sprintf("the repository has no branch %s; create it, or correct spec.source.branch", branch)}
	}
	return head, nil
}

// wanted is what a pack is to have.
type wanted struct {
	head    plumbing.Hash
	depth   int           // so many commits in a row; 0 for all
	without plumbing.Hash // and those before it; zero for none
	bare    bool          // without the contents of files, where the server can
}

// pack asks for a commit and those before it, with their files.
func (r *Remote) pack(ctx context.Context, s transport.UploadPackSession, refs *packp.AdvRefs, want wanted) ([]byte, error) {
	req := packp.NewUploadPackRequestFromCapabilities(refs.Capabilities)
	req.Wants = []plumbing.Hash{want.head}
	if !want.without.IsZero() {
		req.Haves = []plumbing.Hash{want.without}
	}
	if want.depth > 0 && refs.Capabilities.Supports(capability.Shallow) {
		req.Depth = packp.DepthCommits(want.depth)
		if err := req.Capabilities.Set(capability.Shallow); err != nil {
			return nil, err
		}
	}
	if want.bare && refs.Capabilities.Supports(capability.Filter) {
		req.Filter = packp.FilterBlobNone()
		if err := req.Capabilities.Set(capability.Filter); err != nil {
			return nil, err
		}
	}
	if refs.Capabilities.Supports(capability.NoProgress) {
		if err := req.Capabilities.Set(capability.NoProgress); err != nil {
			return nil, err
		}
	}
	answer, err := s.UploadPack(ctx, req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Close() }()
	pack := bufio.NewReader(unband(req.Capabilities, answer))
	if _, err := pack.Peek(1); err == nil && r.admit != nil {
		if err := r.admit(); err != nil {
			return nil, err
		}
	}
	return readPack(pack, r.limit())
}

// Push moves a branch from the commit of the source to one that follows it, which was written into
// the source with all that belongs to it. The error is an *Error: Moved where the branch has
// another commit by now.
func (r *Remote) Push(ctx context.Context, branch string, s *Source, commit plumbing.Hash) error {
	return r.Move(ctx, branch, s.Head, commit, s)
}

// Move moves a branch from one commit to another: zero to create it, and zero to delete it. The new
// one was written into the source, and follows its commit. The error is an *Error: Moved where the
// branch has another commit by now.
func (r *Remote) Move(ctx context.Context, branch string, from, to plumbing.Hash, s *Source) error {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	failed := r.push(ctx, branch, from, to, s)
	if failed == nil {
		return nil
	}
	// A connection may break after the push. The time for this look is its own.
	look, cancelLook := context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
	defer cancelLook()
	heads, err := r.Heads(look, branch)
	switch head := heads[branch]; {
	case err != nil:
		return failed
	case head == to:
		return nil
	case head != from:
		return moved(branch)
	}
	return failed
}

func moved(branch string) error {
	return &Error{Reason: Moved, Message: fmt.Sprintf("branch %s has moved to another commit", branch)}
}

// besides is a reference that keeps another one from being created: the name of one begins with that of the
// other and a slash. "" if there is none.
func besides(all map[string]plumbing.Hash, name string) string {
	for _, other := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/") {
			return other
		}
	}
	return ""
}

func (r *Remote) push(ctx context.Context, branch string, from, to plumbing.Hash, source *Source) error {
	var pack io.ReadCloser
	if !to.IsZero() {
		var err error
		if pack, err = source.pack(); err != nil {
			return &Error{Reason: Failed, Message: "the commit cannot be packed: " + err.Error()}
		}
	}
	c, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	s, err := c.transport.NewReceivePackSession(c.endpoint, c.auth)
	if err != nil {
		return r.explain(c, err)
	}
	defer s.Close()
	refs, err := s.AdvertisedReferencesContext(ctx)
	if err != nil {
		return r.explainPush(c, err)
	}
	name := plumbing.NewBranchReferenceName(branch)
	if refs.References[name.String()] != from {
		return moved(branch)
	}
	if other := besides(refs.References, name.String()); other != "" && !to.IsZero() {
		return &Error{Reason: Protected, Message: fmt.Sprintf(
			"branch %s cannot be created beside branch %s, because Git has no branch within another; write another spec.publish.branch, or delete that one",
			branch, strings.TrimPrefix(other, "refs/heads/"))}
	}
	req := packp.NewReferenceUpdateRequestFromCapabilities(refs.Capabilities)
	for _, wanted := range []capability.Capability{capability.Sideband64k, capability.Atomic, capability.DeleteRefs} {
		if refs.Capabilities.Supports(wanted) {
			if err := req.Capabilities.Set(wanted); err != nil {
				return r.explain(c, err)
			}
		}
	}
	words := &saying{}
	req.Progress = words
	req.Commands = []*packp.Command{{Name: name, Old: from, New: to}}
	req.Packfile = pack
	report, err := s.ReceivePack(ctx, req)
	if err == nil || report == nil {
		return r.explainPush(c, err)
	}
	return &Error{Reason: Protected, Message: fmt.Sprintf(
		"the server does not accept a push to branch %s: %s; allow the user of spec.source.secretRef to push to it",
		branch, r.words.clean(words.String()+" "+err.Error()))}
}
