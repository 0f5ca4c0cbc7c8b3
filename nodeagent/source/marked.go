package source

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/raid"
)

// fresh is a look at the node as it is now, and not as it was for others: what is not there ends an object.
func (e *Engine) fresh(name string) (*job, error) {
	e.Forget()
	return e.begin(name)
}

// Marked reports whether anything on the node carries the mark of a Volume, whatever the journal has.
func (e *Engine) Marked(ctx context.Context, r Request) (bool, error) {
	j, err := e.fresh(object(api.KindVolume, r.Volume.Name))
	if err != nil {
		return false, err
	}
	return j.marked(ctx, e.Cluster.Of(api.KindVolume, r.Volume.Name, e.Node))
}

// MarkedGroup is the same of a VolumeGroup.
func (e *Engine) MarkedGroup(ctx context.Context, r GroupRequest) (bool, error) {
	j, err := e.fresh(object(api.KindVolumeGroup, r.Group.Name))
	if err != nil {
		return false, err
	}
	return j.marked(ctx, e.Cluster.Of(api.KindVolumeGroup, r.Group.Name, e.Node))
}

// marked looks for a mark wherever one can be: a file, a filesystem, a table or a partition, LVM's tags, and
// the names of virtual drives.
func (j *job) marked(ctx context.Context, uuid string) (bool, error) {
	if _, err := os.Lstat(j.sparse([]string{uuid}).path); !errors.Is(err, os.ErrNotExist) {
		return err == nil, err
	}
	if len(j.facts.Marked(uuid)) > 0 {
		return true, nil
	}
	for _, d := range j.facts.Devices.All {
		if c, err := j.facts.Content(d); err == nil && c.Table != nil && c.Table.GUID == uuid {
			return true, nil
		}
	}
	if err := j.answering(j.facts.Devices.All); err != nil {
		return false, err
	}
	state, err := j.facts.LVM(ctx)
	if err != nil && !errors.Is(err, host.ErrMissing) {
		return false, guard.Refuse(guard.RuleTool, "LVM's state is not known: %v", err)
	}
	if err == nil {
		for _, g := range state.Groups {
			if mark.FromTags(g.Tags) == uuid {
				return true, nil
			}
			for _, lv := range g.LVs {
				if mark.FromTags(lv.Tags) == uuid {
					return true, nil
				}
			}
		}
	}
	controllers, err := j.controllers(ctx)
	for i := range controllers {
		if controllers[i].Named(mark.Short(uuid)) != nil {
			return true, err
		}
	}
	return false, err
}

// controllers are all RAID controllers of the node. One that is not understood is an error: what is behind it
// is not known.
func (j *job) controllers(ctx context.Context) ([]raid.Controller, error) {
	var all []raid.Controller
	for _, reader := range raid.Readers(j.Host.Tools) {
		of, err := reader.Controllers(ctx)
		if errors.Is(err, host.ErrMissing) {
			continue
		}
		if err != nil {
			return all, guard.Refuse(guard.RuleTool, "what is behind the RAID controllers is not known: %v", err)
		}
		for _, c := range of {
			if c.Err == nil {
				all = append(all, c)
			}
		}
	}
	return all, nil
}

// Abandon ends a Volume whose disk is dead, or gone for good, on the word of a person who names that disk. It is
// refused as long as the node has anything that the disk or the data is known by. What is on the disk is left,
// and stands in the journal as what is left of a Volume whose data was kept.
func (e *Engine) Abandon(ctx context.Context, r Request, name, left string) error {
	j, err := e.fresh(object(api.KindVolume, r.Volume.Name))
	if err != nil {
		return err
	}
	ids := j.declaredDisks(r)
	name = strings.TrimSpace(name)
	named := func(id device.Identity) bool {
		return name != "" && (strings.TrimSpace(id.Serial) == name || id.WWN != "" && disk.WWN(id.WWN) == disk.WWN(name))
	}
	if !slices.ContainsFunc(ids, named) {
		return guard.Refuse(guard.RuleForget, "the annotation %s is %q, which is neither the serial number nor the WWN of a disk of this Volume", api.ForgetAnnotation, name)
	}
	for _, id := range ids {
		if !named(id) {
			continue
		}
		if err := j.gone(ctx, id); err != nil {
			return err
		}
	}
	uuid := e.Cluster.Of(api.KindVolume, r.Volume.Name, e.Node)
	switch there, err := j.marked(ctx, uuid); {
	case err != nil:
		return err
	case there:
		return guard.Refuse(guard.RuleForget, "%s: %s is not taken: something on this node carries the mark %s of this Volume", api.ForgetAnnotation, name, uuid)
	}
	entry := j.entry
	entry.Object, entry.UUID, entry.Released, entry.Path, entry.Wipe = j.object, uuid, true, left, nil
	if left == "" {
		entry.Path = name
	}
	return e.Runner.Journal.Write(entry)
}

// declaredDisks are the disks of a Volume: as they are declared, and as they are in its journal.
func (j *job) declaredDisks(r Request) []device.Identity {
	ids := []device.Identity{{WWN: j.entry.Disk.WWN, Serial: j.entry.Disk.Serial}}
	switch spec := r.Volume.Spec; {
	case spec.Raw != nil && spec.Raw.Disk != nil:
		ids = append(ids, spec.Raw.Disk.Identity())
	case spec.Partition != nil && spec.Partition.Disk != nil:
		ids = append(ids, spec.Partition.Disk.Identity())
	case spec.RAID != nil:
		ids = append(ids, device.Identity{WWN: spec.RAID.Drive.WWN, Serial: spec.RAID.Drive.Serial})
	case spec.LVM != nil && r.Group != nil:
		for _, d := range r.Group.Spec.Devices {
			ids = append(ids, d.Identity())
		}
	}
	return ids
}

// gone refuses a disk of which the node has any part of its identity.
func (j *job) gone(ctx context.Context, id device.Identity) error {
	serial, wwn := strings.TrimSpace(id.Serial), disk.WWN(id.WWN)
	is := func(s, w string) bool { return serial != "" && s == serial || wwn != "" && w == wwn }
	for _, d := range j.facts.Devices.All {
		if is(d.Serial, d.WWN) {
			return guard.Refuse(guard.RuleForget, "%s is not taken: the node has %s with %s", api.ForgetAnnotation, d.Path, id)
		}
	}
	controllers, err := j.controllers(ctx)
	for _, c := range controllers {
		for _, d := range c.Drives {
			if is(d.Serial, d.WWN) {
				return guard.Refuse(guard.RuleForget, "%s is not taken: the RAID controller %d has the drive %s with %s", api.ForgetAnnotation, c.Index, d.Place(), id)
			}
		}
	}
	return err
}
