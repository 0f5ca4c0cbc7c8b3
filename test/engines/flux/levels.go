package flux

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/poolwright/poolwright/test/engines/scenario"
)

// Levels are Kustomizations in a cluster where kustomize-controller runs, one a level, each
// of which depends on the one before.
type Levels struct {
	cluster *scenario.Cluster
	source  *Source
	checks  []any
}

// NewLevels names Kustomizations that were never reconciled.
func NewLevels(c *scenario.Cluster, s *Source, checks []any) *Levels {
	return &Levels{cluster: c, source: s, checks: checks}
}

// Follow publishes what the folder has, whenever that is something else. The controller
// does the rest.
func (l *Levels) Follow(ctx context.Context, dir string, levels []string) error {
	published := ""
	for {
		artifact, err := l.source.artifact("levels", dir)
		if digest := fmt.Sprint(artifact["digest"]); err == nil && digest != published {
			if err = l.publish(ctx, dir, levels); err == nil {
				published = digest
			}
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

// publish has every Kustomization look at the folder.
func (l *Levels) publish(ctx context.Context, dir string, levels []string) error {
	var errs []error
	for i, level := range levels {
		k := NewKustomization(l.cluster, l.source, nameOf(level), l.checks)
		k.Path = level
		if i > 0 {
			k.after = []any{map[string]any{"name": nameOf(levels[i-1])}}
		}
		_, _, err := k.publish(ctx, dir)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// nameOf is the name of the Kustomization of a folder.
func nameOf(level string) string { return "hcs-" + path.Base(level) }
