package registry

import (
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/fn/hydration"
)

// The fields of a Hydration with the address and the credentials.
const (
	addressField = "spec.publish.oci.url"
	secretRef    = "spec.publish.oci.secretRef"
)

// scheme is that of the addresses of repositories.
const scheme = "oci://"

// Address is that of a tag. Two addresses are equal where their tags are the same.
type Address struct {
	host       string // HOST or HOST:PORT
	repository string
	tag        string
}

// Parse reads the URL of a repository, as oci://HOST/REPOSITORY. The error is a *remote.Error.
func Parse(url, tag string) (Address, error) {
	rest, found := strings.CutPrefix(url, scheme)
	host, repository, _ := strings.Cut(rest, "/")
	a := Address{host: hydration.Registry(host), repository: strings.TrimRight(repository, "/"), tag: tag}
	_, err := name.NewTag(a.host+"/"+a.repository+":"+a.tag, name.StrictValidation)
	if !found || host == "" || strings.Contains(host, "@") || err != nil {
		return a, &remote.Error{Reason: remote.Refused, Message: addressField + " cannot be read; write one such as oci://registry.example.com/storage/prod, in small letters"}
	}
	return a, nil
}

// URL is the address of the repository.
func (a Address) URL() string { return scheme + a.host + "/" + a.repository }

// Tag is the tag.
func (a Address) Tag() string { return a.tag }

// String is the address of the tag.
func (a Address) String() string { return a.URL() + ":" + a.tag }

// Revision names an artifact of the tag as Flux does: latest@sha256:<64 hex>.
func (a Address) Revision(digest string) string { return a.tag + "@" + digest }

// Digest is that of a revision of the tag; "" where it is none.
func (a Address) Digest(revision string) string {
	digest, found := strings.CutPrefix(revision, a.tag+"@sha256:")
	if !found {
		return ""
	}
	return "sha256:" + digest
}
