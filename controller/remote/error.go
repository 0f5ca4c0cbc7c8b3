package remote

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

// Reason is what is wrong, in one word: the reason of a condition.
type Reason string

// The reasons. Moved and TooLarge lead to no condition: the caller fetches again, with more room in memory
// where it had less than it may have (Remote.Within).
const (
	Unavailable Reason = "SourceUnavailable"
	Unknown     Reason = "AuthenticationFailed"
	Refused     Reason = "SourceRefused"
	Protected   Reason = "Protected"
	Failed      Reason = "PublishFailed"
	Moved       Reason = "Moved"
	TooLarge    Reason = "TooLarge"
)

// Error says what is wrong with a repository, for people. It wraps nothing: the text of a server or
// a library may have a credential in it, and only the cleaned text is kept.
type Error struct {
	Reason  Reason
	Message string
}

func (e *Error) Error() string { return e.Message }

// explain turns the error of a library into an *Error; nil stays nil.
func (r *Remote) explain(c *connection, err error) error {
	var explained *Error
	switch {
	case err == nil:
		return nil
	case c.refused() != nil:
		return c.refused()
	case errors.As(err, &explained):
		return explained
	}
	at := r.name()
	said := r.words.clean(err.Error())
	is := func(target error) bool { return errors.Is(inner(err), target) }
	var authority x509.UnknownAuthorityError
	switch {
	case is(transport.ErrAuthenticationRequired), is(transport.ErrInvalidAuthMethod), r.url.Scheme == "ssh" && strings.Contains(said, noSSHMethod):
		return &Error{Unknown, fmt.Sprintf("%s does not accept the credentials: %s; %s", at, said, r.remedy())}
	case is(transport.ErrAuthorizationFailed):
		return &Error{Unknown, fmt.Sprintf("%s does not permit this to the user of the credentials: %s; %s", at, said, r.remedy())}
	case is(transport.ErrRepositoryNotFound):
		return &Error{Unavailable, fmt.Sprintf("%s has no such repository, or the credentials may not read it; correct spec.source.url, or the Secret that spec.source.secretRef names", at)}
	case is(transport.ErrEmptyRemoteRepository):
		return &Error{Unavailable, fmt.Sprintf("the repository of %s is empty; push the branch of spec.source.branch", at)}
	case is(context.DeadlineExceeded):
		return &Error{Unavailable, fmt.Sprintf("%s did not answer in time; is the address right, and does a network policy permit the port?", at)}
	case errors.As(inner(err), &authority):
		return &Error{Unavailable, fmt.Sprintf("the certificate of %s is from an unknown authority; add its certificate to the Secret as ca.crt", at)}
	}
	return &Error{Unavailable, fmt.Sprintf("%s cannot be asked: %s; is the address right, and does a network policy permit the port?", at, said)}
}

// noSSHMethod is how golang.org/x/crypto/ssh says that a server takes no key; the error has no type.
const noSSHMethod = "unable to authenticate"

// explainPush is explain for a push, which fails by another reason where the server cannot be asked.
func (r *Remote) explainPush(c *connection, err error) error {
	var explained *Error
	if errors.As(r.explain(c, err), &explained) {
		if explained.Reason == Unavailable {
			explained.Reason = Failed
		}
		return explained
	}
	return nil
}

// inner is the error inside of one of go-git that hides it.
func inner(err error) error {
	var unexpected *plumbing.UnexpectedError
	if errors.As(err, &unexpected) {
		return inner(unexpected.Err)
	}
	var permanent *plumbing.PermanentError
	if errors.As(err, &permanent) {
		return inner(permanent.Err)
	}
	return err
}

func (r *Remote) remedy() string {
	if r.credentials.isEmpty() {
		return "name a Secret with them in spec.source.secretRef"
	}
	return "correct the Secret that spec.source.secretRef names"
}

// name is the server, for messages.
func (r *Remote) name() string {
	if r.url.Scheme == "file" {
		return "the folder of the repository"
	}
	return r.url.Host
}

// mostWords is how much of the words of a server a message has, in bytes.
const mostWords = 500

// saying keeps the beginning of what a server says.
type saying struct{ strings.Builder }

func (s *saying) Write(p []byte) (int, error) {
	if room := 4*mostWords - s.Len(); room > 0 {
		s.Builder.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
