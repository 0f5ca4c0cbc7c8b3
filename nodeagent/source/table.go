package source

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/gpt"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/probe"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// onePartition plans a table with one partition over the whole device: a volume of mode
// Block on a disk or a sparse file. Its mark is the GUID of the disk and of the partition.
func (j *job) onePartition(d *device.Device, uuid string) ([]step.Step, *device.Device, error) {
	c, err := j.facts.Content(d)
	if err != nil {
		return nil, nil, guard.Refuse(guard.RuleUnread, "%s cannot be read: %v", d.Path, err)
	}
	want := gpt.New(uuid, d.Size, d.Sector)
	p, err := want.Add(uuid, j.object, 0)
	if err != nil {
		return nil, nil, guard.Refuse(guard.RuleSpace, "%s: %v", d.Path, err)
	}
	if c.Table != nil && c.Table.GUID == uuid {
		if err := j.single(d, []string{uuid}); err != nil {
			return nil, nil, err
		}
		have, found := c.Table.Find(uuid)
		switch {
		case len(c.Table.Partitions) > 1 || len(c.Table.Partitions) == 1 && !found:
			return nil, nil, guard.Refuse(guard.RulePartition, "%s has partitions that are not ours", d.Path)
		case found && (have.Start != p.Start || have.Size > p.Size):
			return nil, nil, guard.Refuse(guard.RulePartition, "the partition on %s is not where we made it", d.Path)
		case found && have.Size == p.Size && c.Table.Copies == 2:
			return j.announce(d, p, uuid)
		}
		// The disk has grown, or the table was cut off: it is ours and has nothing of others.
		return []step.Step{j.writeTable(d, want, uuid, true)}, nil, nil
	}
	switch {
	case j.entry.Made:
		return nil, nil, guard.Refuse(guard.RuleContent, "the partition that was on %s is gone: it is not made anew; restore it, or delete the Volume", d.Path)
	case c.Empty():
		return []step.Step{j.writeTable(d, want, uuid, false)}, nil, nil
	case j.halfDone(d, c, []string{uuid}):
		return []step.Step{j.clear(d, []string{uuid}, false), j.writeTable(d, want, uuid, false)}, nil, nil
	}
	return nil, nil, guard.Content(j.facts, d)[0]
}

// metalK8sPartition is the partition over a device that MetalK8s has made: its GUID is the UID
// of the Volume. What else is on the disk's table is not ours, and is never written.
func (j *job) metalK8sPartition(d *device.Device, uuids []string) *device.Device {
	c, err := j.facts.Content(d)
	if err != nil || c.Table == nil || len(c.Table.Partitions) != 1 {
		return nil
	}
	for _, part := range j.facts.Devices.Partitions(d) {
		if slices.Contains(uuids[1:], j.facts.PartitionGUID(part)) {
			return part
		}
	}
	return nil
}

// writeTable writes a table to an empty disk, or in place of ours.
func (j *job) writeTable(d *device.Device, want gpt.Table, uuid string, ours bool) step.Step {
	s := j.step("write-partition-table", uuid, d)
	s.Command = fmt.Sprintf("write a GUID partition table %s with %d partitions, the copy first", want.GUID, len(want.Partitions))
	s.Before, s.After = "the guard; the disk is empty, or its table is ours", "both copies are whole"
	s.Destroys = !ours
	s.Prepare = j.acquire(guard.Claim{
		Device: d, Identity: identityOf(j.facts.Devices, d), Shared: ours,
		Content: func(c probe.Content) error {
			if ours && c.Table != nil && c.Table.GUID == want.GUID || !ours && c.Empty() {
				return nil
			}
			return guard.Refuse(guard.RuleContent, "%s has %v on it", d.Path, c.Kinds)
		},
	})
	s.Do = onHold(func(_ context.Context, hold *guard.Hold) error { return want.Write(hold.File) })
	s.Check = j.content(d, func(c probe.Content) bool {
		return c.Table != nil && c.Table.GUID == want.GUID && c.Table.Copies == 2 && slices.Equal(c.Table.Partitions, want.Partitions)
	})
	return s
}

// announce tells the kernel of a partition where udev has not, and returns its device.
func (j *job) announce(d *device.Device, p gpt.Partition, uuid string) ([]step.Step, *device.Device, error) {
	op, command := int32(unix.BLKPG_ADD_PARTITION), "add"
	for _, part := range j.facts.Devices.Partitions(d) {
		switch {
		case part.Number != p.Number:
		case part.Start == p.Start && part.Size == p.Size:
			return nil, part, nil
		case part.Start == p.Start:
			op, command = unix.BLKPG_RESIZE_PARTITION, "resize"
		default:
			return nil, nil, guard.Refuse(guard.RulePartition, "the kernel has %s elsewhere than the table on %s", part.Path, d.Path)
		}
	}
	s := j.step("announce-partition", uuid, d)
	s.Command = fmt.Sprintf("BLKPG: %s partition %d, %d bytes from byte %d", command, p.Number, p.Size, p.Start)
	s.Before, s.After = "the table on the disk is ours and has this partition", "the kernel has it"
	s.Prepare = j.acquire(guard.Claim{
		Device: d, Identity: identityOf(j.facts.Devices, d), Shared: true,
		Content: func(c probe.Content) error {
			if c.Table != nil && slices.Contains(c.Table.Partitions, p) {
				return nil
			}
			return guard.Refuse(guard.RulePartition, "the table on %s has changed", d.Path)
		},
	})
	s.Do = onHold(func(_ context.Context, hold *guard.Hold) error { return partition(hold.File, op, p) })
	s.Check = func(context.Context) error {
		f, err := j.again()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(f.Devices.Partitions(d), func(o *device.Device) bool {
			return o.Number == p.Number && o.Start == p.Start && o.Size == p.Size
		}) {
			return fmt.Errorf("the kernel has no partition %d of %s", p.Number, d.Path)
		}
		return nil
	}
	return []step.Step{s}, nil, nil
}
