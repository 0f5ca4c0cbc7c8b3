package keeper

import (
	"context"

	"github.com/poolwright/poolwright/controller/registry"
	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/live/hydrations"
)

// openTag reads the Secret of the registry, and opens the tag with it.
func (w *worker) openTag(ctx context.Context, to *hydrations.OCI, rules *remote.Rules) (*registry.Tag, error) {
	at, err := registry.Parse(to.URL, to.Tag)
	if err != nil {
		return nil, err
	}
	data, err := w.secret(ctx, to.SecretRef, "spec.publish.oci.secretRef")
	if err != nil {
		return nil, err
	}
	c, err := registry.ReadSecret(data, at)
	if err != nil {
		return nil, err
	}
	return registry.Open(at, rules, c)
}

// publishedAt is the digest of the artifact that was published to a tag last, "" for none.
func publishedAt(p hydrations.Published, at registry.Address) string {
	if p.URL != at.URL() {
		return ""
	}
	return at.Digest(p.Revision)
}
