// Package source is what Volumes and VolumeGroups are made of: sparse files, disks, partitions,
// logical volumes and drives behind RAID controllers. Each is planned on fresh facts: what remains to
// be done is a list of steps, of which the first is carried out before everything is looked at again.
package source

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// maxSteps is far above what any object takes, with a plan before and after each lock; more would be a loop.
const maxSteps = 128

// Engine makes and removes what objects are made of, one object at a time.
type Engine struct {
	Host    host.Host
	Cluster mark.Cluster
	Node    string
	Folder  string // of the agent on the machine; /var/lib/poolwright
	Runner  step.Runner

	report facts.Report
	locks  locks
}

// Facts returns the facts read since the last Forget, once for each asker; after that it reads the node again. The
// second result reports whether the facts were read for another asker.
func (e *Engine) Facts(asker string) (*facts.Facts, bool, error) {
	return e.report.Facts(asker, func() (*facts.Facts, error) { return facts.Read(e.Host) })
}

// Forget drops what the node was. Whoever has looked at all objects calls it, and whoever hears of a
// change of the node.
func (e *Engine) Forget() { e.report.Forget() }

// Filesystem is what a StorageClass says of a filesystem.
type Filesystem struct {
	Type    string // ext4 or xfs
	Options []string
}

// Request is a Volume with what else is needed to make it.
type Request struct {
	Volume     *api.Volume
	Filesystem Filesystem
	// Group is the VolumeGroup of spec.lvmLogicalVolume.vgName on this node, or nil where
	// the group is only on the node.
	Group *api.VolumeGroup
	// GroupRef is the Volume whose device that group takes, or nil.
	GroupRef *api.Volume
	// Bare says that a VolumeGroup takes the device (volumeRef), so that nothing is put on it.
	Bare bool
	// Wiping, if not nil, gets how far the erase of the device has come.
	Wiping func(guard.Wiping)
	// Peers are the names of the node's other Volumes of source partition.
	Peers []string
}

// Result is what a Volume has come to.
type Result struct {
	Steps  []step.Step    // that remain
	Device *device.Device // nil until it is there
	Path   string         // by which it is known for good, or ""
	Size   int64          // bytes
	Mark   string
	Notes  []string // what was asked for and is not done, for people
}

// Apply carries out steps until none remains. ErrBusy, a guard.Refusal or any other error
// says why not.
func (e *Engine) Apply(ctx context.Context, r Request) (Result, error) {
	return e.loop(ctx, object(api.KindVolume, r.Volume.Name), func(j *job) (Result, error) {
		v, err := j.volume(r)
		if err != nil {
			return Result{}, err
		}
		return v.plan(ctx)
	})
}

// Plan is what Apply would do, as far as it can be known now.
func (e *Engine) Plan(ctx context.Context, r Request) (Result, error) {
	j, err := e.begin(object(api.KindVolume, r.Volume.Name))
	if err != nil {
		return Result{}, err
	}
	v, err := j.volume(r)
	if err != nil {
		return Result{}, err
	}
	return v.plan(ctx)
}

// Remove removes what a Volume is made of, behind the same guard. Nothing is removed that
// does not carry its mark.
func (e *Engine) Remove(ctx context.Context, r Request) error {
	e.Forget() // what was read for others could say that nothing is left
	name := object(api.KindVolume, r.Volume.Name)
	if _, err := e.loop(ctx, name, func(j *job) (Result, error) {
		v, err := j.volume(r)
		if err != nil {
			return Result{}, err
		}
		steps, err := v.remove(ctx)
		return Result{Steps: steps}, err
	}); err != nil {
		return err
	}
	return e.Runner.Journal.Remove(name)
}

// Release keeps the data of a Volume whose object goes, and notes that it was given up.
func (e *Engine) Release(ctx context.Context, r Request, path string) error {
	e.Forget()
	name := object(api.KindVolume, r.Volume.Name)
	if _, err := e.loop(ctx, name, func(j *job) (Result, error) {
		v, err := j.volume(r)
		if err != nil {
			return Result{}, err
		}
		steps, err := v.release(ctx)
		return Result{Steps: steps}, err
	}); err != nil {
		return err
	}
	entry, err := e.Runner.Journal.Read(name)
	if err != nil {
		return err
	}
	entry.UUID = e.Cluster.Of(api.KindVolume, r.Volume.Name, e.Node)
	entry.Released, entry.Path, entry.Wipe = true, path, nil
	return e.Runner.Journal.Write(entry)
}

// loop does the first of the steps that remain, until none does.
func (e *Engine) loop(ctx context.Context, name string, plan func(*job) (Result, error)) (Result, error) {
	lock, err := e.Runner.Journal.Lock(name)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = lock.Close() }() // it was opened to be locked, and nothing is written to it
	var alone []string
	give := func() {}
	defer func() { give() }()
	for range maxSteps {
		j, err := e.begin(name)
		if err != nil {
			return Result{}, err
		}
		j.lock = lock
		result, err := plan(j)
		idle := err == nil && len(result.Steps) == 0
		switch {
		case !idle && j.shared && !lasting(err):
			// What was read for others shows at most that nothing is to be done, or can be.
			e.Forget()
			continue
		case idle || err != nil:
			return result, err
		}
		if next := result.Steps[0].Alone; !slices.Equal(next, alone) {
			// Planned again on what those have left who had it before.
			give()
			if give, err = e.locks.take(ctx, next); err != nil {
				give = func() {}
				return result, err
			}
			alone = next
			continue
		}
		err = e.Runner.Run(ctx, result.Steps[0])
		e.Forget()
		if err != nil {
			return result, err
		}
	}
	return Result{}, fmt.Errorf("%s: %d steps, and no end", name, maxSteps)
}

// lasting reports whether an error is a refusal that does not pass by itself.
func lasting(err error) bool {
	var refusal guard.Refusal
	return errors.As(err, &refusal) && !slices.Contains([]guard.Rule{guard.RuleUnsettled, guard.RuleLocked, guard.RuleClaimed}, refusal.Rule)
}
