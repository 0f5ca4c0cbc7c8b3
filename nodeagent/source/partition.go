package source

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/gpt"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/probe"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// shared is a disk that several Volumes have partitions of. Its table has our GUID, which
// follows from the disk, and nothing but partitions of Volumes.
type shared struct {
	disk  *device.Device
	table gpt.Table
	fresh bool // there is no table yet
}

// sharedDisk finds the disk of a source partition, and refuses what is not ours on it.
func (j *job) sharedDisk(r Request) (shared, error) {
	spec := r.Volume.Spec.Partition
	var id device.Identity
	if spec.Disk != nil {
		id = spec.Disk.Identity()
	}
	d, err := j.wholeDisk(id, spec.DevicePath)
	if err != nil {
		return shared{}, err
	}
	guid := j.Cluster.Table(j.Node, d.WWN, d.Serial)
	c, err := j.facts.Content(d)
	switch {
	case err != nil:
		return shared{}, guard.Refuse(guard.RuleUnread, "%s cannot be read: %v", d.Path, err)
	case c.Table != nil && c.Table.GUID == guid:
		peers, err := j.peers(r)
		if err != nil {
			return shared{}, err
		}
		for _, p := range c.Table.Partitions {
			if !slices.Contains(peers, p.GUID) {
				return shared{}, guard.Refuse(guard.RulePartition, "%s has partition %d (%s), which is of no Volume", d.Path, p.Number, p.GUID)
			}
		}
		return shared{disk: d, table: *c.Table}, nil
	case c.Empty() || j.halfDone(d, c, []string{guid}):
		return shared{disk: d, table: gpt.New(guid, d.Size, d.Sector), fresh: true}, nil
	}
	return shared{}, guard.Content(j.facts, d)[0]
}

// wholeDisk is the disk, whatever of it the journal has: that is a partition.
func (j *job) wholeDisk(id device.Identity, path string) (*device.Device, error) {
	d, err := j.disk(id, path)
	if err != nil {
		return nil, err
	}
	if d.Kind == device.Partition {
		return nil, guard.Refuse(guard.RulePartition, "%s is a partition: name the disk", d.Path)
	}
	return d, nil
}

// peers are the marks of all Volumes that may have a partition on the disk: those that live,
// and those of the journal.
func (j *job) peers(r Request) ([]string, error) {
	peers := []string{j.Cluster.Of(api.KindVolume, r.Volume.Name, j.Node)}
	for _, name := range r.Peers {
		peers = append(peers, j.Cluster.Of(api.KindVolume, name, j.Node))
	}
	entries, err := j.Runner.Journal.All()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		peers = append(peers, e.UUID)
	}
	return peers, nil
}

func (j *job) partitionVolume(r Request, uuids []string) (Result, error) {
	s, err := j.sharedDisk(r)
	if err != nil {
		return Result{}, err
	}
	size, err := bytesOf(r.Volume.Spec.Partition.Size)
	if err != nil {
		return Result{}, err
	}
	size = (size + gpt.Align - 1) / gpt.Align * gpt.Align
	want := s.table
	want.Partitions = slices.Clone(s.table.Partitions)
	have, found := want.Find(uuids[0])
	switch {
	case !found && j.entry.Made:
		return Result{}, guard.Refuse(guard.RuleNotFound, "the partition of this Volume is gone from %s: it is not made anew; restore it, or delete the Volume", s.disk.Path)
	case !found:
		if have, err = want.Add(uuids[0], j.object, size); err != nil {
			return Result{}, guard.Refuse(guard.RuleSpace, "%s: %v", s.disk.Path, err)
		}
	case have.Size < size:
		if have, err = widen(&want, have, size); err != nil {
			return Result{}, guard.Refuse(guard.RuleSpace, "%s: %v", s.disk.Path, err)
		}
	case s.table.Copies == 2:
		return j.onPartition(r, s.disk, have, uuids)
	}
	return Result{Steps: append(j.tableSteps(s, want, uuids[0]), j.later(r, uuids[0])...)}, nil
}

func (j *job) tableSteps(s shared, want gpt.Table, uuid string) []step.Step {
	if !s.fresh {
		return []step.Step{j.writeTable(s.disk, want, uuid, true)}
	}
	var steps []step.Step
	if c, err := j.facts.Content(s.disk); err != nil || !c.Empty() {
		steps = append(steps, j.clear(s.disk, []string{want.GUID}, false))
	}
	return append(steps, j.writeTable(s.disk, want, uuid, false))
}

// widen makes a partition larger into the free range behind it.
func widen(t *gpt.Table, p gpt.Partition, size int64) (gpt.Partition, error) {
	for _, free := range t.Free() {
		if free.Start == p.End() && free.Size >= size-p.Size {
			for i := range t.Partitions {
				if t.Partitions[i].GUID == p.GUID {
					t.Partitions[i].Size = size
					return t.Partitions[i], nil
				}
			}
		}
	}
	return gpt.Partition{}, fmt.Errorf("there are not %d bytes free behind partition %d", size-p.Size, p.Number)
}

func (j *job) onPartition(r Request, disk *device.Device, p gpt.Partition, uuids []string) (Result, error) {
	if err := j.single(disk, uuids[:1]); err != nil {
		return Result{}, err
	}
	steps, part, err := j.announce(disk, p, uuids[0])
	if err != nil || part == nil {
		return Result{Steps: steps}, err
	}
	if r.Volume.Spec.Mode != api.Block {
		return j.formatted(r, part, uuids, false)
	}
	result := Result{Device: part, Size: part.Size, Path: "/dev/disk/by-partuuid/" + uuids[0]}
	return result, nil
}

// removePartition plans the end of a partition: zeros, the kernel, the table, and the table
// itself with the last of them.
func (j *job) removePartition(r Request, uuids []string) ([]step.Step, error) {
	s, err := j.sharedDisk(r)
	if err != nil || s.fresh {
		return nil, err
	}
	p, found := s.table.Find(uuids[0])
	if !found {
		if s.table.Copies < 2 {
			return []step.Step{j.writeTable(s.disk, s.table, uuids[0], true)}, nil
		}
		if len(s.table.Partitions) == 0 {
			return []step.Step{j.clearTable(s, uuids[0])}, nil
		}
		return nil, nil
	}
	var part *device.Device
	for _, d := range j.facts.Devices.Partitions(s.disk) {
		if d.Number == p.Number && d.Start == p.Start {
			part = d
		}
	}
	zeroed := slices.Contains([]string{"forget-partition", "write-partition-table"}, j.entry.Step) || j.entry.Step == "zero" && j.entry.Done
	switch {
	case part == nil && !zeroed:
		steps, _, err := j.announce(s.disk, p, uuids[0])
		return steps, err
	case !zeroed:
		if refusals := guard.Uses(j.facts, part); len(refusals) > 0 {
			return nil, refusals[0]
		}
		zeroing := j.step("zero", uuids[0], part)
		zeroing.Command, zeroing.Destroys = "BLKZEROOUT of the whole partition, its first MiB last", true
		zeroing.Before, zeroing.After = "the guard; the partition is ours by its GUID", "its first and last MiB are zero"
		zeroing.Prepare = j.acquire(guard.Claim{Device: part, Identity: identityOf(j.facts.Devices, part), Content: func(probe.Content) error { return nil }})
		zeroing.Do = onHold(func(ctx context.Context, hold *guard.Hold) error { return zero(ctx, hold.File, 0, part.Size) })
		zeroing.Check = j.blank(part)
		return []step.Step{zeroing}, nil
	case part != nil:
		return []step.Step{j.forget(s.disk, p, uuids[0])}, nil
	}
	want := s.table
	want.Partitions = slices.Clone(s.table.Partitions)
	want.Remove(uuids[0])
	return []step.Step{j.writeTable(s.disk, want, uuids[0], true)}, nil
}

func (j *job) forget(disk *device.Device, p gpt.Partition, uuid string) step.Step {
	s := j.step("forget-partition", uuid, disk)
	s.Command = fmt.Sprintf("BLKPG: delete partition %d", p.Number)
	s.Before, s.After = "the partition is ours, zero, and nobody uses it", "the kernel does not have it"
	s.Prepare = j.acquire(guard.Claim{Device: disk, Identity: identityOf(j.facts.Devices, disk), Shared: true, Content: func(c probe.Content) error {
		if c.Table != nil && slices.Contains(c.Table.Partitions, p) {
			return nil
		}
		return guard.Refuse(guard.RulePartition, "the table on %s has changed", disk.Path)
	}})
	s.Do = onHold(func(_ context.Context, hold *guard.Hold) error {
		return partition(hold.File, unix.BLKPG_DEL_PARTITION, p)
	})
	s.Check = func(context.Context) error {
		f, err := j.again()
		if err != nil {
			return err
		}
		if slices.ContainsFunc(f.Devices.Partitions(disk), func(o *device.Device) bool { return o.Number == p.Number }) {
			return fmt.Errorf("the kernel has partition %d of %s", p.Number, disk.Path)
		}
		return nil
	}
	return s
}

func (j *job) clearTable(s shared, uuid string) step.Step {
	clearing := j.step("clear-table", uuid, s.disk)
	clearing.Command, clearing.Destroys = "BLKZEROOUT of the first and the last MiB", true
	clearing.Before, clearing.After = "the guard; the table is ours and has no partition", "both are zero"
	clearing.Prepare = j.acquire(guard.Claim{Device: s.disk, Identity: identityOf(j.facts.Devices, s.disk), Content: func(c probe.Content) error {
		if c.Table != nil && c.Table.GUID == s.table.GUID && len(c.Table.Partitions) == 0 {
			return nil
		}
		return guard.Refuse(guard.RulePartition, "the table on %s has changed", s.disk.Path)
	}})
	clearing.Do = onHold(func(ctx context.Context, hold *guard.Hold) error { return zeroEdges(ctx, hold.File, s.disk.Size) })
	clearing.Check = j.blank(s.disk)
	return clearing
}
