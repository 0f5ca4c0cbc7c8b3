package argocd

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// Levels are one Application, which syncs all of them in waves.
type Levels struct{ *Application }

// Follow syncs until the context ends: a sync that fails is tried again, as the examples
// have it (syncPolicy.retry). An operation goes on with the commit that it began with, so a
// new one ends it, as a person does (argocd app terminate-op).
func (l Levels) Follow(ctx context.Context, dir string, _ []string) error {
	for {
		err := l.operate(ctx, filepath.Join(dir, "rendered"))
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

// operate syncs once, and no longer than until the folder is another one.
func (l Levels) operate(ctx context.Context, dir string) error {
	began, err := os.Stat(dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if now, err := os.Stat(dir); err == nil && !os.SameFile(began, now) {
				cancel()
			}
			time.Sleep(200 * time.Millisecond)
		}
	}()
	_, err = l.Sync(ctx, dir)
	return err
}
