package argocd

import (
	"context"
	"path/filepath"
	"time"

)

// Follow syncs all levels as one Application, in waves, and again until the context ends:
// a sync that fails is tried again, as the examples have it (syncPolicy.retry).
func (a *Application) Follow(ctx context.Context, dir string, _ []string) error {
	for {
		_, err := a.Sync(ctx, filepath.Join(dir, "rendered"))
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}
