package publish

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/poolwright/poolwright/controller/artifact"
	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/registry"
	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/controller/tree"
)

// OCI publishes the package as an artifact, and gives it a tag of a registry.
type OCI struct {
	Remote *remote.Remote
	Tag    *registry.Tag
	Before string // digest of what was published there last, as far as that is known; "" for nothing

	at   string // the artifact that had the tag when Last was called, "" for none
	lock map[string][]byte
	of   string // the artifact of the lock
}

// Look looks up the branch of the specs and the tag.
func (o *OCI) Look(ctx context.Context, base string) (head plumbing.Hash, outside string, err error) {
	if head, err = o.Remote.Head(ctx, base); err != nil {
		return head, "", err
	}
	at, err := o.Tag.Head(ctx)
	return head, outsideOf(at), err
}

// outsideOf is never "", which is for what is not known.
func outsideOf(digest string) string { return "tag " + digest }

// Last reads inventory and output of the artifact that has the tag. Where the tag is gone, it is what
// was published last: a render without it could choose other disks.
func (o *OCI) Last(ctx context.Context, most int64) (Lock, error) {
	var err error
	if o.at, err = o.Tag.Head(ctx); err != nil {
		return Lock{}, err
	}
	o.of = o.at
	if o.of == "" {
		o.of = o.Before
	}
	if o.of == "" {
		return Lock{}, nil
	}
	files, _, found, err := o.Tag.Pull(ctx, o.of, most, hydration.Made)
	switch {
	case errors.Is(err, artifact.ErrForeign):
		return Lock{}, &Occupied{fmt.Sprintf("artifact %s of %s was not made by Poolwright, and is not replaced; publish to another tag, or delete this one", o.of, o.Tag)}
	case err != nil:
		return Lock{}, err
	case !found && o.at != "":
		return Lock{}, &remote.Error{Reason: remote.Moved, Message: "the artifact was removed"}
	case !found:
		return Lock{}, &remote.Error{Reason: remote.Failed, Message: fmt.Sprintf("%s has neither the tag nor artifact %s, which was published last and has the lock; push it again, or publish to another tag, which begins with inventory/ and rendered/ in Git", o.Tag, o.of)}
	}
	o.lock = files
	return Lock{Files: files, Revision: o.Tag.Revision(o.of), Name: o.Tag.String()}, nil
}

// Publish pushes the whole package under its digest, and moves the tag there from the artifact that
// Last found. Whoever is killed between both pushes the same artifact again, which the registry has.
func (o *OCI) Publish(ctx context.Context, c Change) (Published, error) {
	done := Published{URL: o.Tag.URL(), Reason: "UpToDate", Message: "the output in the registry is that of the specs and the cluster"}
	digest := o.of
	if len(c.Files) > 0 || digest == "" {
		files, err := o.whole(c)
		if err != nil {
			return Published{}, err
		}
		img, err := artifact.New(files, artifact.Origin{Source: c.URL, Revision: Revision(c.Branch, c.Source.Head), Facts: c.Facts, Output: c.Output})
		if err != nil {
			return Published{}, &remote.Error{Reason: remote.Failed, Message: fmt.Sprintf("the artifact cannot be made: %v", err)}
		}
		if err := c.Step(true, nil); err != nil {
			return Published{}, err
		}
		if digest, err = o.Tag.Push(ctx, img); err != nil {
			return Published{}, err
		}
		done.Reason, done.Message = "Published", c.Subject
	}
	if digest != o.at {
		if err := c.Step(false, nil); err != nil {
			return Published{}, err
		}
		if err := o.Tag.Move(ctx, o.at, digest); err != nil {
			return Published{}, err
		}
	}
	done.Revision, done.Outside = o.Tag.Revision(digest), outsideOf(digest)
	return done, nil
}

// whole is the package with the changes: every file of its folder, with inventory and output of the lock.
func (o *OCI) whole(c Change) (map[string][]byte, error) {
	head, err := object.GetCommit(c.Source, c.Source.Head)
	if err != nil {
		return nil, err
	}
	files, err := tree.Read(c.Source, head.TreeHash, c.Dir, o.Remote.Rules().MaxSource, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	p := hydration.Package{Files: files.Content}
	if o.of != "" {
		p = p.On(o.lock)
	}
	return p.With(c.Files).Files, nil
}
