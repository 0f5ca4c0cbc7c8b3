package flux

import (
	"context"
	"errors"
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
	for {
		var errs []error
		for i, level := range levels {
			k := NewKustomization(l.cluster, l.source, "hcs-"+level, l.checks)
			k.Path = "levels/" + level
			if i > 0 {
				k.after = []any{map[string]any{"name": "hcs-" + levels[i-1]}}
			}
			_, _, err := k.publish(ctx, dir)
			errs = append(errs, err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(errs...)
		case <-time.After(2 * time.Second):
		}
	}
}
