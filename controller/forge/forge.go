// Package forge keeps pull requests on a forge: it finds those of two branches, creates, edits,
// closes and merges them. One interface stands for GitHub, GitLab, Gitea with Forgejo, and Bitbucket
// Server. What may be connected to is judged as for Git (package remote).
package forge

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/poolwright/poolwright/controller/remote"
)

// Forge keeps the pull requests of one repository. Errors are *Error, or *remote.Error where the forge
// was not reached.
type Forge interface {
	// Find finds the pull requests from one branch of the repository to another, of any state, the
	// newest first.
	Find(ctx context.Context, head, base string) ([]Request, error)
	// Create creates one. With IsConflict there is one already.
	Create(ctx context.Context, head, base string, t Text) (Request, error)
	// Edit gives it another text.
	Edit(ctx context.Context, r Request, t Text) error
	// Close closes it without merging.
	Close(ctx context.Context, r Request) error
	// Merge merges it, if its head is still this commit. With IsNotMergeable it may be tried again.
	Merge(ctx context.Context, r Request, head string) error
	// MostBody is how many characters a body may have.
	MostBody() int
	// End closes the connections.
	End()
}

// Text is what people read of a pull request.
type Text struct{ Title, Body string }

// State is the state of a pull request.
type State string

// The states. Closed means without merging.
const (
	Open   State = "open"
	Closed State = "closed"
	Merged State = "merged"
)

// Request is a pull request.
type Request struct {
	Number   int
	URL      string // of its page
	State    State
	Head     string // the commit that it proposes, or proposed
	Conflict bool   // it is open, and the forge says that it cannot be merged as it is
	Text

	edition edition
}

// edition is what Bitbucket Server wants back with each change.
type edition struct {
	Version   int   `json:"version"`
	Reviewers []any `json:"reviewers,omitempty"`
}

// The providers.
const (
	GitHub          = "github"
	GitLab          = "gitlab"
	Gitea           = "gitea" // also Forgejo
	BitbucketServer = "bitbucketserver"
)

// Place says where a repository is.
type Place struct {
	Source   string // the URL for Git: https or ssh
	Provider string // "" for the one that follows from the host of Source
	API      string // the URL of the API, "" for the one that follows from Source
}

// ProviderOf guesses a provider by the name of a host; "" if it cannot be guessed.
func ProviderOf(host string) string {
	host = strings.ToLower(host)
	if host == "codeberg.org" {
		return Gitea
	}
	for label := range strings.SplitSeq(host, ".") {
		switch label {
		case GitHub, GitLab, Gitea:
			return label
		case "forgejo":
			return Gitea
		case "bitbucket":
			if host != "bitbucket.org" {
				return BitbucketServer
			}
		}
	}
	return ""
}

// New makes the client for a repository. Nothing is connected to yet. The error is a *remote.Error.
func New(at Place, rules *remote.Rules, c remote.Credentials) (Forge, error) {
	refuse := func(format string, args ...any) error {
		return &remote.Error{Reason: remote.Refused, Message: fmt.Sprintf(format, args...)}
	}
	source, err := url.Parse(at.Source)
	if err != nil || source.Host == "" {
		return nil, refuse("a pull request needs a repository on a forge; write its https:// or ssh:// address in spec.source.url, or set spec.publish.mode to Branch")
	}
	provider := at.Provider
	if provider == "" {
		provider = ProviderOf(source.Hostname())
	}
	field := "spec.publish.apiURL"
	text := at.API
	if text == "" {
		field, text = "spec.source.url", apiOf(provider, source)
	}
	base, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || base.Host == "" && provider != "" {
		return nil, refuse("spec.publish.apiURL cannot be read; write an address such as https://git.example.com/api/v1")
	}
	if provider == "" {
		return nil, refuse("the forge cannot be recognized by the name %s; write github, gitlab, gitea or bitbucketserver in spec.publish.provider", source.Hostname())
	}
	header, err := authorization(provider, source, c)
	if err != nil {
		return nil, err
	}
	client, err := rules.Client(base, field, c)
	if err != nil {
		return nil, err
	}
	a := api{client: client, base: base, authorization: header}
	parts := strings.Split(strings.Trim(strings.TrimSuffix(path.Clean(source.Path), ".git"), "/"), "/")
	if len(parts) < 2 {
		return nil, refuse("%s has no owner and name of a repository; correct spec.source.url", source.Path)
	}
	owner, name := url.PathEscape(parts[len(parts)-2]), url.PathEscape(parts[len(parts)-1])
	switch provider {
	case GitHub:
		a.root = "/repos/" + owner + "/" + name
		return &github{api: a, owner: parts[len(parts)-2]}, nil
	case Gitea:
		a.root = "/repos/" + owner + "/" + name
		return &gitea{api: a}, nil
	case GitLab:
		// Groups are nested; the address of a GitLab below a path begins with that path.
		if below, _, found := strings.Cut(base.Path, "/api/"); found {
			if rest, inside := strings.CutPrefix(strings.Join(parts, "/"), strings.Trim(below, "/")+"/"); inside && below != "" {
				parts = strings.Split(rest, "/")
			}
		}
		a.root = "/projects/" + url.PathEscape(strings.Join(parts, "/"))
		return &gitlab{api: a}, nil
	case BitbucketServer:
		a.root = "/projects/" + owner + "/repos/" + name
		return &bitbucket{api: a}, nil
	}
	return nil, refuse("%q is no forge; write github, gitlab, gitea or bitbucketserver in spec.publish.provider", provider)
}

// apiOf is the address of the API of a forge beside that of its repositories.
func apiOf(provider string, source *url.URL) string {
	at := "https://" + source.Hostname() // an address for SSH has the port of SSH
	if source.Scheme != "ssh" {
		at = source.Scheme + "://" + source.Host
	}
	switch provider {
	case GitHub:
		if strings.EqualFold(source.Hostname(), "github.com") || strings.EqualFold(source.Hostname(), "ssh.github.com") {
			return "https://api.github.com"
		}
		return at + "/api/v3"
	case GitLab:
		return at + "/api/v4"
	case Gitea:
		return at + "/api/v1"
	case BitbucketServer:
		return at + "/rest/api/1.0"
	}
	return ""
}

// authorization is the header for the credentials of Git. For SSH, a password is that of the key.
func authorization(provider string, source *url.URL, c remote.Credentials) (string, error) {
	token := c.BearerToken
	if source.Scheme != "ssh" && token == "" {
		// A token is written as the password of Git. Gitea and Bitbucket Server take a password, too.
		if c.Username != "" && c.Password != "" && (provider == Gitea || provider == BitbucketServer) {
			return basic(c.Username, c.Password), nil
		}
		token = c.Password
	}
	if token == "" {
		return "", &remote.Error{Reason: remote.Unknown, Message: "a pull request needs a token for the API of the forge; add it to the Secret that spec.source.secretRef names, as password for https and as bearerToken for SSH"}
	}
	return "Bearer " + token, nil
}
