// Package registry is a tag of a registry of artifacts: it looks up the artifact of the tag, reads its
// files, pushes an artifact by its digest, and moves the tag.
//
// Nothing is on a disk. What may be connected to, and who gets the credentials, are the rules of package
// remote. No registry moves a tag from one artifact to another as one step: who moves it last has it.
package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ocireg "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/poolwright/poolwright/controller/artifact"
	"github.com/poolwright/poolwright/controller/remote"
)

const (
	lookTimeout = 30 * time.Second // for the digest of a tag
	moveTimeout = 5 * time.Minute  // for a file or an artifact
)

// Tag is a tag of a registry, with the credentials for it.
type Tag struct {
	Address
	most   int64 // Rules.MaxSource
	guard  *remote.Guard
	ref    name.Tag
	puller *ocireg.Puller
	pusher *ocireg.Pusher
}

// Open opens a tag. Nothing is connected to yet; Close ends what is. The error is a *remote.Error.
func Open(a Address, rules *remote.Rules, c Credentials) (*Tag, error) {
	guard, err := rules.Guard(a.host, remote.Fields{Address: addressField, Secret: secretRef}, c.CA, c.secrets()...)
	if err != nil {
		return nil, err
	}
	t := &Tag{Address: a, most: rules.MaxSource, guard: guard}
	named := []name.Option{name.StrictValidation}
	if guard.Plain() {
		named = append(named, name.Insecure)
	}
	if t.ref, err = name.NewTag(a.host+"/"+a.repository+":"+a.tag, named...); err != nil {
		return nil, t.failed("%v", err)
	}
	options := []ocireg.Option{
		ocireg.WithTransport(guard), ocireg.WithAuth(authn.FromConfig(c.AuthConfig)), ocireg.WithUserAgent("poolwright"),
		ocireg.WithRetryBackoff(ocireg.Backoff{Steps: 1}), // the controller tries again
	}
	t.puller, err = ocireg.NewPuller(options...)
	if err == nil {
		t.pusher, err = ocireg.NewPusher(options...)
	}
	if err != nil {
		return nil, t.failed("%v", err)
	}
	return t, nil
}

// Close closes what is open.
func (t *Tag) Close() { t.guard.Close() }

// Head looks up the digest of the artifact that has the tag; "" where there is none. The error is a
// *remote.Error.
func (t *Tag) Head(ctx context.Context) (digest string, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	d, err := t.puller.Head(ctx, t.ref)
	if isNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", t.explain(err)
	}
	return d.Digest.String(), nil
}

// Pull reads an artifact, packed and unpacked of at most so many bytes, with the files for which want holds. found
// is false where the registry does not have it. The error is a *remote.Error, TooLarge where
// Rules.MaxSource would allow more, or artifact.ErrForeign.
func (t *Tag) Pull(ctx context.Context, digest string, most int64, want func(name string) bool) (files map[string][]byte, from artifact.Origin, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	d, err := t.puller.Get(ctx, t.ref.Digest(digest))
	if isNotFound(err) {
		return nil, from, false, nil
	}
	if err != nil {
		return nil, from, false, t.explain(err)
	}
	m, err := v1.ParseManifest(bytes.NewReader(d.Manifest))
	if err != nil {
		return nil, from, true, artifact.ErrForeign
	}
	layer, from, err := artifact.Layer(m)
	if err != nil {
		return nil, from, true, err
	}
	content, err := t.blob(ctx, layer, most)
	if err != nil {
		return nil, from, true, err
	}
	files, err = artifact.Unpack(bytes.NewReader(content), most, want)
	if errors.Is(err, artifact.ErrTooLarge) {
		return nil, from, true, t.tooLarge(most)
	}
	if err != nil {
		return nil, from, true, t.failed("artifact %s of %s cannot be read: %s; restore it, or publish to another tag", digest, t, t.guard.Clean(err.Error()))
	}
	return files, from, true, nil
}

// blob reads a file of an artifact, and checks its digest.
func (t *Tag) blob(ctx context.Context, of v1.Descriptor, most int64) ([]byte, error) {
	if of.Size > most {
		return nil, t.tooLarge(most)
	}
	l, err := t.puller.Layer(ctx, t.ref.Digest(of.Digest.String()))
	if err != nil {
		return nil, t.explain(err)
	}
	in, err := l.Compressed()
	if err != nil {
		return nil, t.explain(err)
	}
	defer func() { _ = in.Close() }()
	content, err := io.ReadAll(io.LimitReader(in, of.Size+1))
	if err == nil && int64(len(content)) != of.Size {
		err = errors.New("the file has another size than its manifest says")
	}
	if err != nil {
		return nil, t.explain(err)
	}
	return content, nil
}

// Push pushes an artifact under its digest alone. What the registry has is not sent again. The error is
// a *remote.Error.
func (t *Tag) Push(ctx context.Context, img v1.Image) (digest string, err error) {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	hash, err := img.Digest()
	if err != nil {
		return "", t.failed("the artifact cannot be made: %v", err)
	}
	if err := t.pusher.Push(ctx, t.ref.Digest(hash.String()), img); err != nil {
		return "", t.explain(err)
	}
	return hash.String(), nil
}

// Move gives the tag to an artifact of the registry, if another one has it than before, "" for none.
// Whatever the registry answers, the tag decides. The error is a *remote.Error: Moved where the tag
// was moved to a third artifact.
func (t *Tag) Move(ctx context.Context, before, to string) error {
	if at, err := t.Head(ctx); err != nil || at == to {
		return err
	} else if at != before {
		return t.moved()
	}
	put, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	d, err := t.puller.Get(put, t.ref.Digest(to))
	if err == nil {
		err = t.pusher.Put(put, t.ref, d)
	}
	// A connection may break after the tag was moved. The time for this look is its own.
	at, lookErr := t.Head(context.WithoutCancel(ctx))
	switch {
	case lookErr == nil && at == to:
		return nil
	case err != nil:
		return t.explain(err)
	case lookErr != nil:
		return lookErr
	}
	return t.moved()
}

func (t *Tag) moved() error {
	return &remote.Error{Reason: remote.Moved, Message: fmt.Sprintf("tag %s has moved to another artifact", t.tag)}
}

func (t *Tag) tooLarge(most int64) error {
	if most < t.most {
		return &remote.Error{Reason: remote.TooLarge, Message: "the artifact needs more memory"}
	}
	return &remote.Error{Reason: remote.Refused, Message: fmt.Sprintf("the artifact of %s is larger than is read; publish the package to another tag, or start the controller with a larger --max-source", t)}
}

func (t *Tag) failed(format string, args ...any) error {
	return &remote.Error{Reason: remote.Failed, Message: fmt.Sprintf(format, args...)}
}

// isNotFound is true where a registry has no such artifact, and false where its address is wrong.
func isNotFound(err error) bool {
	var refused *transport.Error
	return errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound && refused.Request != nil && strings.Contains(refused.Request.URL.Path, "/manifests/")
}

// explain turns an error of the library into a *remote.Error.
func (t *Tag) explain(err error) error {
	var refused *transport.Error
	if !errors.As(err, &refused) {
		return t.guard.Explain(err)
	}
	words := fmt.Sprintf("%d %s", refused.StatusCode, http.StatusText(refused.StatusCode))
	for _, d := range refused.Errors {
		words += fmt.Sprintf(" %s: %s", d.Code, d.Message)
	}
	words = t.guard.Clean(words)
	switch refused.StatusCode {
	case http.StatusUnauthorized:
		return &remote.Error{Reason: remote.Unknown, Message: fmt.Sprintf("%s does not accept the credentials: %s; correct the Secret, and name it in %s", t.host, words, secretRef)}
	case http.StatusForbidden:
		return &remote.Error{Reason: remote.Unknown, Message: fmt.Sprintf("%s does not permit this to the user of the credentials: %s; allow it to pull from and push to %s, or correct %s", t.host, words, t.URL(), secretRef)}
	}
	return t.failed("%s refuses a request for %s: %s", t.host, t.repository, words)
}
