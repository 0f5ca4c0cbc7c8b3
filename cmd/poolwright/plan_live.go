package main

import (
	"context"
	"fmt"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/poolwright/poolwright/cmd/internal/terminal"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/dryrun"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema"
)

// live compares with the cluster. What the lock holds tells whose objects are
// looked for there.
func (p *plan) live(s streams, f *planFlags, lock, wanted []*krm.Object) error {
	c, err := f.cluster.connect()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	options := dryrun.Options{Manager: f.manager}
	for _, k := range schema.Load().Kinds() {
		if k.Role == schema.Rendered {
			options.Kinds = append(options.Kinds, krm.ID{Group: k.Group, Kind: k.Kind})
		}
	}
	for _, o := range ours(lock) {
		options.Owners = append(options.Owners, o.Owner())
	}
	var done atomic.Int64
	options.Progress = func(n, _ int) { done.Store(int64(n)) }
	defer terminal.Follow(s.err, func() string {
		return fmt.Sprintf("asking %s about %s, %d done", c.Server, count(len(wanted), "object"), done.Load())
	})()
	result, err := dryrun.Run(ctx, c, wanted, options)
	if err != nil {
		return err
	}
	// The snapshot of the package may be old: what is at risk is what lives.
	facts, err := snapshot.Take(ctx, c, snapshot.Options{Kinds: fn.RiskFacts()})
	if err != nil {
		return err
	}
	p.facts = inventory.New(facts.Objects())
	p.findings = append(p.findings, result.Findings...)
	p.changes = change.Between(result.Old, result.New)
	return nil
}
