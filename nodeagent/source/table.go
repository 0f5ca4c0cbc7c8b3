package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/gpt"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/probe"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// diskTable is the partition table of a disk, as it is written on behalf of an object.
type diskTable struct {
	*job
	disk *device.Device
	uuid string // the object's mark
}

// whole plans a table with one partition over the whole device: a volume of mode Block on a
// disk or a sparse file. Its mark is the GUID of the disk and of the partition.
func (t diskTable) whole() ([]step.Step, *device.Device, error) {
	d, uuid := t.disk, t.uuid
	c, err := t.facts.Mark(d)
	if err == nil && (c.Table == nil || c.Table.GUID != uuid) {
		c, err = t.facts.Content(d) // what is not ours may be anything
	}
	if err != nil {
		return nil, nil, guard.Refuse(guard.RuleUnread, "%s cannot be read: %v", d.Path, err)
	}
	want := gpt.New(uuid, d.Size, d.Sector)
	p, err := want.Add(uuid, t.object, 0)
	if err != nil {
		return nil, nil, guard.Refuse(guard.RuleSpace, "%s: %v", d.Path, err)
	}
	if c.Table != nil && c.Table.GUID == uuid {
		if err := t.single(d, []string{uuid}); err != nil {
			return nil, nil, err
		}
		have, found := c.Table.Find(uuid)
		switch {
		case len(c.Table.Partitions) > 1 || len(c.Table.Partitions) == 1 && !found:
			return nil, nil, guard.Refuse(guard.RulePartition, "%s has partitions that are not ours", d.Path)
		case found && (have.Start != p.Start || have.Size > p.Size):
			return nil, nil, guard.Refuse(guard.RulePartition, "the partition on %s is not where we made it", d.Path)
		case found && have.Size == p.Size && c.Table.Copies == 2:
			return t.announce(p)
		}
		// The disk has grown, or the table was cut off: it is ours and has nothing foreign.
		return []step.Step{t.write(want, true)}, nil, nil
	}
	switch {
	case t.entry.Made:
		return nil, nil, guard.Refuse(guard.RuleContent, "the partition that was on %s is gone: it is not recreated; restore it, or delete the Volume", d.Path)
	case c.Empty():
		return []step.Step{t.write(want, false)}, nil, nil
	case t.halfDone(d, c, []string{uuid}):
		return []step.Step{t.clearHalfDone(d, []string{uuid}, false), t.write(want, false)}, nil, nil
	}
	return nil, nil, guard.Content(t.facts, d)[0]
}

// metalK8s is the partition over the disk that MetalK8s has made: its GUID is the UID of the
// Volume. What else is on the disk's table is not ours, and is never written.
func (t diskTable) metalK8s(uids []string) *device.Device {
	c, err := t.facts.Content(t.disk)
	if err != nil || c.Table == nil || len(c.Table.Partitions) != 1 {
		return nil
	}
	for _, part := range t.facts.Devices.Partitions(t.disk) {
		if slices.Contains(uids, t.facts.PartitionGUID(part)) {
			return part
		}
	}
	return nil
}

// write writes a table to an empty disk, or in place of ours.
func (t diskTable) write(want gpt.Table, ours bool) step.Step {
	d := t.disk
	s := t.step("write-partition-table", t.uuid, d)
	s.Command = fmt.Sprintf("write a GUID partition table %s with %d partitions, the copy first", want.GUID, len(want.Partitions))
	s.Before, s.After = "the guard; the disk is empty, or its table is ours", "both copies are whole"
	s.Destroys = !ours
	s.Prepare = t.acquire(guard.Claim{
		Device: d, Identity: identityOf(t.facts.Devices, d), Shared: ours,
		Content: func(c probe.Content) error {
			if ours && c.Table != nil && c.Table.GUID == want.GUID || !ours && c.Empty() {
				return nil
			}
			return guard.Refuse(guard.RuleContent, "%s has %v on it", d.Path, c.Kinds)
		},
	})
	s.Do = onHold(func(_ context.Context, hold *guard.Hold) error { return want.Write(hold.File) })
	s.Check = t.content(d, func(c probe.Content) bool {
		return c.Table != nil && c.Table.GUID == want.GUID && c.Table.Copies == 2 && slices.Equal(c.Table.Partitions, want.Partitions)
	})
	return s
}

// announce informs the kernel of a partition where udev has not, and returns its device.
func (t diskTable) announce(p gpt.Partition) ([]step.Step, *device.Device, error) {
	d := t.disk
	op, command := int32(unix.BLKPG_ADD_PARTITION), "add"
	for _, part := range t.facts.Devices.Partitions(d) {
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
	s := t.kernel("announce-partition", command, op, p, func(c probe.Content) bool {
		return c.Table != nil && slices.Contains(c.Table.Partitions, p)
	}, func(now []*device.Device) bool {
		return slices.ContainsFunc(now, func(o *device.Device) bool {
			return o.Number == p.Number && o.Start == p.Start && o.Size == p.Size
		})
	})
	s.Before = "the table on the disk is ours and has this partition"
	return []step.Step{s}, nil, nil
}

// stale is a partition that the kernel has and the table has no more, or nil.
func (t diskTable) stale(table gpt.Table) *gpt.Partition {
	for _, d := range t.facts.Devices.Partitions(t.disk) {
		if !slices.ContainsFunc(table.Partitions, func(p gpt.Partition) bool { return p.Number == d.Number && p.Start == d.Start }) {
			return &gpt.Partition{Number: d.Number, Start: d.Start, Size: d.Size}
		}
	}
	return nil
}

// forget has the kernel drop a partition that the table has no more.
func (t diskTable) forget(p gpt.Partition) step.Step {
	s := t.kernel("forget-partition", "delete", unix.BLKPG_DEL_PARTITION, p, func(c probe.Content) bool {
		return c.Table != nil && !slices.ContainsFunc(c.Table.Partitions, func(o gpt.Partition) bool { return o.Number == p.Number })
	}, func(now []*device.Device) bool {
		return !slices.ContainsFunc(now, func(o *device.Device) bool { return o.Number == p.Number })
	})
	s.Before = "the table on the disk is ours and has this partition no more"
	return s
}

// settling is for how long udev may have the kernel read a table again that was written: the
// partitions of the disk go and come meanwhile.
const settling = 30 * time.Second

// kernel informs the kernel of one partition. may judges the table before it, right the
// partitions that the kernel then has.
func (t diskTable) kernel(kind, command string, op int32, p gpt.Partition, may func(probe.Content) bool, right func([]*device.Device) bool) step.Step {
	s := t.step(kind, t.uuid, t.disk)
	s.Command = fmt.Sprintf("BLKPG: %s partition %d, %d bytes from byte %d", command, p.Number, p.Size, p.Start)
	s.After = "the kernel has done so"
	s.Prepare = t.acquire(guard.Claim{
		Device: t.disk, Identity: identityOf(t.facts.Devices, t.disk), Shared: true,
		Content: func(c probe.Content) error {
			if may(c) {
				return nil
			}
			return guard.Refuse(guard.RulePartition, "the table on %s has changed", t.disk.Path)
		},
	})
	s.Do = onHold(func(_ context.Context, hold *guard.Hold) error { return setPartition(hold.File, op, p) })
	s.Check = func(ctx context.Context) error {
		for deadline := time.Now().Add(settling); ; {
			f, err := t.again()
			switch {
			case err != nil:
				return err
			case right(f.Devices.Partitions(t.disk)):
				return nil
			case time.Now().After(deadline):
				return fmt.Errorf("the kernel has not done it: %s partition %d of %s", command, p.Number, t.disk.Path)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return s
}

// clear takes a table of ours away that has no partition any more.
func (t diskTable) clear(guid string) step.Step {
	disk := t.disk
	s := t.step("clear-table", t.uuid, disk)
	s.Command, s.Destroys = "BLKZEROOUT of the first and the last MiB", true
	s.Before, s.After = "the guard; the table is ours and has no partition", "both are zero"
	s.Prepare = t.erase(guard.Claim{Device: disk, Identity: identityOf(t.facts.Devices, disk), Content: func(c probe.Content) error {
		if c.Table != nil && c.Table.GUID == guid && len(c.Table.Partitions) == 0 {
			return nil
		}
		return guard.Refuse(guard.RulePartition, "the table on %s has changed", disk.Path)
	}})
	s.Do = onErasure(func(ctx context.Context, e *guard.Erasure) error { return e.ZeroEdges(ctx) })
	s.Check = t.blank(disk)
	return s
}

// setPartition informs the kernel of one partition. Whether udev was sooner, and it is so, is checked.
func setPartition(disk *os.File, op int32, p gpt.Partition) error {
	err := device.SetPartition(disk, op, p.Number, p.Start, p.Size)
	if op == unix.BLKPG_DEL_PARTITION && errors.Is(err, unix.ENXIO) || op == unix.BLKPG_ADD_PARTITION && errors.Is(err, unix.EBUSY) {
		return nil
	}
	return err
}
