package source

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/gpt"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// partitioned is a Volume on a disk that several Volumes have partitions of. The disk's table
// has our GUID, which follows from the disk, and nothing but partitions of Volumes.
type partitioned struct {
	volume
	on    diskTable
	table gpt.Table
	fresh bool // there is no table yet
}

// partitioned finds the disk of a Volume of source partition, and refuses what is not ours on
// it.
func (v volume) partitioned() (partitioned, error) {
	d, err := v.wholeDisk()
	if err != nil {
		return partitioned{}, err
	}
	p := partitioned{volume: v, on: diskTable{job: v.job, disk: d, uuid: v.uuids[0]}}
	guid := v.Cluster.Table(v.Node, d.WWN, d.Serial)
	c, err := v.facts.Content(d)
	switch {
	case err != nil:
		return p, guard.Refuse(guard.RuleUnread, "%s cannot be read: %v", d.Path, err)
	case c.Table != nil && c.Table.GUID == guid:
		p.table = *c.Table
		return p, p.strangers()
	case c.Empty() || v.halfDone(d, c, []string{guid}):
		p.table, p.fresh = gpt.New(guid, d.Size, d.Sector), true
		return p, nil
	}
	return p, guard.Content(v.facts, d)[0]
}

// wholeDisk is the disk, whatever of it the journal has: that is a partition.
func (v volume) wholeDisk() (*device.Device, error) {
	spec := v.request.Volume.Spec.Partition
	var id device.Identity
	if spec.Disk != nil {
		id = spec.Disk.Identity()
	}
	d, err := v.disk(id, spec.DevicePath)
	if err != nil {
		return nil, err
	}
	if d.Kind == device.Partition {
		return nil, guard.Refuse(guard.RulePartition, "%s is a partition: name the disk", d.Path)
	}
	return d, nil
}

// strangers refuses a partition that is of no Volume: of none that exists, and of none in the
// journal.
func (p partitioned) strangers() error {
	known := slices.Clone(p.uuids[:1])
	for _, name := range p.request.Peers {
		known = append(known, p.Cluster.Of(api.KindVolume, name, p.Node))
	}
	entries, err := p.Runner.Journal.All()
	if err != nil {
		return err
	}
	for _, e := range entries {
		known = append(known, e.UUID)
	}
	for _, part := range p.table.Partitions {
		if !slices.Contains(known, part.GUID) {
			return guard.Refuse(guard.RulePartition, "%s has partition %d (%s), which is of no Volume", p.on.disk.Path, part.Number, part.GUID)
		}
	}
	return nil
}

func (p partitioned) plan() (Result, error) {
	size, err := bytesOf(p.request.Volume.Spec.Partition.Size)
	if err != nil {
		return Result{}, err
	}
	size = (size + gpt.Align - 1) / gpt.Align * gpt.Align
	want := p.table
	want.Partitions = slices.Clone(p.table.Partitions)
	have, found := want.Find(p.uuids[0])
	switch {
	case !found && p.entry.Made:
		return Result{}, guard.Refuse(guard.RuleNotFound, "the partition of this Volume is gone from %s: it is not recreated; restore it, or delete the Volume", p.on.disk.Path)
	case !found:
		if _, err = want.Add(p.uuids[0], p.object, size); err != nil {
			return Result{}, guard.Refuse(guard.RuleSpace, "%s: %v", p.on.disk.Path, err)
		}
	case have.Size < size:
		if err = widen(&want, have, size); err != nil {
			return Result{}, guard.Refuse(guard.RuleSpace, "%s: %v", p.on.disk.Path, err)
		}
	case p.table.Copies == 2:
		return p.fill(have)
	}
	return Result{Steps: append(p.write(want), p.later(p.uuids[0])...)}, nil
}

// write plans the table, on an empty disk or in place of ours.
func (p partitioned) write(want gpt.Table) []step.Step {
	if !p.fresh {
		return []step.Step{p.on.write(want, true)}
	}
	var steps []step.Step
	if c, err := p.facts.Content(p.on.disk); err != nil || !c.Empty() {
		steps = append(steps, p.clearHalfDone(p.on.disk, []string{want.GUID}, false))
	}
	return append(steps, p.on.write(want, false))
}

// widen makes a partition larger into the free range behind it.
func widen(t *gpt.Table, p gpt.Partition, size int64) error {
	for _, free := range t.Free() {
		if free.Start == p.End() && free.Size >= size-p.Size {
			for i := range t.Partitions {
				if t.Partitions[i].GUID == p.GUID {
					t.Partitions[i].Size = size
					return nil
				}
			}
		}
	}
	return fmt.Errorf("there are not %d bytes free behind partition %d", size-p.Size, p.Number)
}

// fill plans what is on the partition, once the kernel has it.
func (p partitioned) fill(have gpt.Partition) (Result, error) {
	if err := p.single(p.on.disk, p.uuids[:1]); err != nil {
		return Result{}, err
	}
	steps, part, err := p.on.announce(have)
	if err != nil || part == nil {
		return Result{Steps: steps}, err
	}
	if p.request.Volume.Spec.Mode != api.Block {
		return p.formatted(part, false)
	}
	return Result{Device: part, Size: part.Size, Path: "/dev/disk/by-partuuid/" + p.uuids[0]}, nil
}

// remove plans the end of a partition: zeros, the table, the kernel, and the table itself with
// the last of them. The kernel comes after the table: udev has it read the table again whenever
// somebody has written to the disk.
func (p partitioned) remove() ([]step.Step, error) {
	if p.fresh {
		return nil, nil
	}
	have, found := p.table.Find(p.uuids[0])
	if !found {
		stale := p.on.stale(p.table)
		switch {
		case p.table.Copies < 2:
			return []step.Step{p.on.write(p.table, true)}, nil
		case stale != nil:
			return []step.Step{p.on.forget(*stale)}, nil
		case len(p.table.Partitions) == 0:
			return []step.Step{p.on.clear(p.table.GUID)}, nil
		}
		return nil, nil
	}
	var part *device.Device
	for _, d := range p.facts.Devices.Partitions(p.on.disk) {
		if d.Number == have.Number && d.Start == have.Start {
			part = d
		}
	}
	switch erased := p.entry.IsErased(); {
	case part == nil && !erased:
		steps, _, err := p.on.announce(have)
		return steps, err
	case !erased:
		if refusals := guard.Uses(p.facts, part); len(refusals) > 0 {
			return nil, refusals[0]
		}
		return []step.Step{p.overwrite(step.Erase, p.wipe(), part, "the partition is ours by its GUID", anything)}, nil
	}
	want := p.table
	want.Partitions = slices.Clone(p.table.Partitions)
	want.Remove(p.uuids[0])
	return []step.Step{p.on.write(want, true)}, nil
}
