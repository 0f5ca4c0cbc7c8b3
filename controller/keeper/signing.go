package keeper

import (
	"context"
	"fmt"

	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/controller/signature"
	"github.com/poolwright/poolwright/controller/tree"
)

// signingKey reads the key that signs commits; nil where none is wanted.
func (w *worker) signingKey(ctx context.Context) (tree.Key, error) {
	const field = "spec.publish.signingKey"
	ref := w.object.Spec.Publish.SigningKey
	if ref == nil {
		return nil, nil
	}
	data, err := w.secret(ctx, ref, field)
	if err != nil {
		return nil, err
	}
	key, err := signature.Read(data)
	if err != nil {
		return nil, &remote.Error{Reason: remote.Unknown, Message: fmt.Sprintf("the Secret %s that %s names %v", ref.Name, field, err)}
	}
	return key, nil
}
