package kpt

import (
	"context"
	"path/filepath"
	"time"
)

// Follow applies all levels as one package, in the order of its annotations, and again
// until it is through: what is not as it should be in time ends a run of kpt.
func (p *Package) Follow(ctx context.Context, dir string, _ []string) error {
	for {
		_, err := p.apply(ctx, filepath.Join(dir, "rendered"))
		if ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}
