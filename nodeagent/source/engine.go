// Package source is what Volumes and VolumeGroups are made of: sparse files, disks,
// partitions and logical volumes. Each is planned anew on facts: what remains to be done is
// a list of steps, of which the first is carried out before everything is looked at again.
package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// maxSteps is far above what any object takes; more would be a loop.
const maxSteps = 64

// Engine makes and removes what objects are made of, one object at a time.
type Engine struct {
	Host    host.Host
	Cluster mark.Cluster
	Node    string
	Folder  string // of the agent on the machine; /var/lib/poolwright
	Runner  step.Runner
	// Groups says that volume groups, logical volumes and shared partitions are carried out.
	// Outside of tests they are not, as long as not every crash point of theirs was seen to pass.
	Groups bool
}

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
	// Bare says that a VolumeGroup takes the device (volumeRef), so that nothing is put on it.
	Bare bool
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
	return e.loop(ctx, object(api.KindVolume, r.Volume.Name), func(j *job) (Result, error) { return j.volume(ctx, r) })
}

// Plan is what Apply would do, as far as it can be known now.
func (e *Engine) Plan(ctx context.Context, r Request) (Result, error) {
	j, err := e.begin(object(api.KindVolume, r.Volume.Name))
	if err != nil {
		return Result{}, err
	}
	return j.volume(ctx, r)
}

// Remove removes what a Volume is made of, behind the same guard. Nothing is removed that
// does not carry its mark.
func (e *Engine) Remove(ctx context.Context, r Request) error {
	name := object(api.KindVolume, r.Volume.Name)
	if _, err := e.loop(ctx, name, func(j *job) (Result, error) { return j.removeVolume(ctx, r) }); err != nil {
		return err
	}
	return e.Runner.Journal.Remove(name)
}

// Release keeps the data of a Volume whose object goes, and notes that it was given up.
func (e *Engine) Release(ctx context.Context, r Request, path string) error {
	name := object(api.KindVolume, r.Volume.Name)
	if _, err := e.loop(ctx, name, func(j *job) (Result, error) { return j.releaseVolume(ctx, r) }); err != nil {
		return err
	}
	entry, err := e.Runner.Journal.Read(name)
	if err != nil {
		return err
	}
	entry.UUID = e.Cluster.Of(api.KindVolume, r.Volume.Name, e.Node)
	entry.Released, entry.Path = true, path
	return e.Runner.Journal.Write(entry)
}

// loop does the first of the steps that remain, until none does.
func (e *Engine) loop(ctx context.Context, name string, plan func(*job) (Result, error)) (Result, error) {
	lock, err := e.Runner.Journal.Lock(name)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = lock.Close() }() // it was opened to be locked, and nothing is written to it
	for range maxSteps {
		j, err := e.begin(name)
		if err != nil {
			return Result{}, err
		}
		j.lock = lock
		result, err := plan(j)
		if err != nil || len(result.Steps) == 0 {
			return result, err
		}
		if err := e.Runner.Run(ctx, result.Steps[0]); err != nil {
			return result, err
		}
	}
	return Result{}, fmt.Errorf("%s: %d steps, and no end", name, maxSteps)
}

// job is one look at the machine on behalf of an object.
type job struct {
	*Engine
	object string
	entry  step.Entry
	facts  *facts.Facts
	lock   *os.File
}

func (e *Engine) begin(name string) (*job, error) {
	entry, err := e.Runner.Journal.Read(name)
	if err != nil {
		return nil, err
	}
	f, err := facts.Read(e.Host)
	if err != nil {
		return nil, err
	}
	return &job{Engine: e, object: name, entry: entry, facts: f}, nil
}

// record is the device in the journal.
func (j *job) record(d *device.Device) step.Disk {
	return step.DiskOf(j.facts.Devices, d, j.Host.BootID())
}

// step begins a step on a device, or on none.
func (j *job) step(kind, uuid string, d *device.Device) step.Step {
	entry := step.Entry{Object: j.object, UUID: uuid, Made: j.entry.Made, PVs: j.entry.PVs}
	s := step.Step{Object: j.object, Kind: kind}
	if d != nil {
		entry.Disk = j.record(d)
		s.Target = target(j.facts.Devices, d)
	}
	s.Entry = entry
	return s
}

// target is a device and what it is known by.
func target(ds *device.Devices, d *device.Device) string {
	whole := ds.Whole(d)
	id := device.Identity{WWN: whole.WWN, Serial: whole.Serial}.String()
	switch {
	case d.UUID != "":
		id = d.UUID
	case d.Backing != nil:
		id = d.Backing.Path
	}
	return fmt.Sprintf("%s (%s, %d bytes)", d.Path, id, d.Size)
}

// program is a step's program that writes; it inherits what is held, and the object's lock.
func (j *job) program(ctx context.Context, name string, held []*os.File, args ...string) error {
	result, err := j.Host.Tools.Run(ctx, host.Command{Name: name, Args: args, Writes: true, Files: append(held, j.lock)})
	if errors.Is(err, host.ErrMissing) {
		return guard.Refuse(guard.RuleTool, "%v", err)
	}
	if err != nil {
		return err
	}
	return result.Failure(name)
}

// again reads the facts anew, for a check.
func (j *job) again() (*facts.Facts, error) { return facts.Read(j.Host) }

// sparseFolder has the sparse files, which are named by their marks.
func (e *Engine) sparseFolder() string { return filepath.Join(e.Folder, "sparse") }

func object(kind, name string) string { return kind + "/" + name }
