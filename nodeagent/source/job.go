package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// job is one look at the machine on behalf of an object.
type job struct {
	*Engine
	object string
	entry  step.Entry
	facts  *facts.Facts
	shared bool // the facts were read for others
	lock   *os.File
}

func (e *Engine) begin(name string) (*job, error) {
	entry, err := e.Runner.Journal.Read(name)
	if err != nil {
		return nil, err
	}
	f, shared, err := e.Facts(name)
	if err != nil {
		return nil, err
	}
	return &job{Engine: e, object: name, entry: entry, facts: f, shared: shared}, nil
}

// record is the device in the journal.
func (j *job) record(d *device.Device) step.Disk {
	return step.DiskOf(j.facts.Devices, d, j.Host.BootID())
}

// step begins a step on a device, or on none.
func (j *job) step(kind, uuid string, d *device.Device) step.Step {
	entry := step.Entry{Object: j.object, UUID: uuid, Made: j.entry.Made, Labels: j.entry.Labels, Erased: j.entry.IsErased()}
	s := step.Step{Object: j.object, Kind: kind, Alone: []string{"files"}}
	if d != nil {
		s.Alone = []string{j.facts.Devices.Whole(d).Name}
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

// again reads the facts again, for a check.
func (j *job) again() (*facts.Facts, error) { return facts.Read(j.Host) }

// marks are the UUIDs by which data is the Volume's: ours first, then the UID of the object,
// which MetalK8s used. A mark that was given up is restored only on a person's word.
func (j *job) marks(r Request) ([]string, error) {
	ours := j.Cluster.Of(api.KindVolume, r.Volume.Name, j.Node)
	uuids := []string{ours}
	adopt := r.Volume.Annotations[api.AdoptAnnotation]
	if j.entry.Released && adopt != ours {
		return nil, guard.Refuse(guard.RuleAdopt, "a Volume of this name was deleted and its data kept (%s): annotate %s: %q to take it over, or give this Volume another name", j.entry.Path, api.AdoptAnnotation, ours)
	}
	if uid := string(r.Volume.UID); uid != "" {
		uuids = append(uuids, uid)
	}
	if adopt != "" && adopt != ours {
		// It becomes part of a path.
		if _, err := uuid.Parse(adopt); err != nil || strings.ToLower(adopt) != adopt {
			return nil, guard.Refuse(guard.RuleAdopt, "the annotation %s is %q, which is no UUID in lower case", api.AdoptAnnotation, adopt)
		}
		uuids = append(uuids, adopt)
	}
	return uuids, nil
}

func object(kind, name string) string { return kind + "/" + name }
