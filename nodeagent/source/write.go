package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/gpt"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/probe"
)

// acquire is the Prepare of a step that writes to a device.
func (j *job) acquire(claim guard.Claim) func(context.Context) (io.Closer, error) {
	return func(ctx context.Context) (io.Closer, error) {
		hold, err := guard.Acquire(ctx, j.Host, claim)
		if err != nil {
			return nil, err
		}
		return hold, nil
	}
}

// onHold makes a Do of what writes to a held device. The device is compared again after it.
func onHold(write func(ctx context.Context, hold *guard.Hold) error) func(context.Context, io.Closer) error {
	return func(ctx context.Context, held io.Closer) error {
		hold, ok := held.(*guard.Hold)
		if !ok {
			return errors.New("nothing is held")
		}
		if err := write(ctx, hold); err != nil {
			return err
		}
		return hold.Same()
	}
}

const chunk = 64 << 20

// zero writes zeros over a range of a device, from its end to its beginning: marks are at the
// beginning, and have to be there until the last. The kernel uses what the disk offers.
func zero(ctx context.Context, f *os.File, start, size int64) error {
	for end := start + size; end > start; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(chunk, end-start)
		span := [2]uint64{uint64(end - n), uint64(n)}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.BLKZEROOUT, uintptr(unsafe.Pointer(&span)))
		if errno != 0 {
			return fmt.Errorf("zeros at byte %d: %w", end-n, errno)
		}
		end -= n
	}
	return f.Sync()
}

// zeroEdges takes away what is left of a step that was cut off.
func zeroEdges(ctx context.Context, f *os.File, size int64) error {
	if size <= 2*probe.Edge {
		return zero(ctx, f, 0, size)
	}
	return errors.Join(zero(ctx, f, size-probe.Edge, probe.Edge), zero(ctx, f, 0, probe.Edge))
}

// partition tells the kernel of one partition, without a look at the others.
func partition(disk *os.File, op int32, p gpt.Partition) error {
	part := unix.BlkpgPartition{Start: p.Start, Length: p.Size, Pno: int32(p.Number)}
	arg := unix.BlkpgIoctlArg{Op: op, Datalen: int32(unsafe.Sizeof(part)), Data: (*byte)(unsafe.Pointer(&part))}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, disk.Fd(), unix.BLKPG, uintptr(unsafe.Pointer(&arg)))
	if errno != 0 {
		return fmt.Errorf("partition %d: %w", p.Number, errno)
	}
	return nil
}

// identityOf is what the guard compares: what was found when the step was planned.
func identityOf(ds *device.Devices, d *device.Device) device.Identity {
	whole := ds.Whole(d)
	return device.Identity{WWN: whole.WWN, Serial: whole.Serial}
}

// ownedBy is a claim's content: our mark, or what a zeroing of ours that was cut off has left.
func ownedBy(j *job, d *device.Device, uuids []string) func(probe.Content) error {
	return func(c probe.Content) error {
		ours := c.Filesystem != nil && slices.Contains(uuids, c.Filesystem.UUID) ||
			c.Table != nil && slices.Contains(uuids, c.Table.GUID)
		if ours || j.halfDone(d, c, uuids) || c.Empty() && j.entry.Made && j.entry.Disk.Same(j.record(d)) {
			return nil
		}
		return guard.Refuse(guard.RuleContent, "%s has %v on it, and not our mark", d.Path, c.Kinds)
	}
}

// dropPartition takes a partition from the kernel, whose table is gone.
func dropPartition(hold *guard.Hold, p *device.Device) error {
	return partition(hold.File, unix.BLKPG_DEL_PARTITION, gpt.Partition{Number: p.Number, Start: p.Start, Size: p.Size})
}

func (j *job) blank(d *device.Device) func(context.Context) error {
	return j.content(d, func(c probe.Content) bool { return c.Empty() })
}
