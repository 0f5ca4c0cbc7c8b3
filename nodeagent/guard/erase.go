package guard

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/host"
)

// openWait is how long those are waited for who have a device open for a moment, such as udev.
const openWait = time.Second

// Erasure is the one way to take away what is on a device. It is locked and checked as a Hold is, nobody
// else has it open as far as the kernel can say, and it stays open exclusively until it is closed.
type Erasure struct{ Hold }

// Erase prepares one, and writes nothing. It differs from Acquire in what it asks the kernel: whether a device
// of device mapper or a partition is open in whatever way, and it keeps what Acquire only tries, the exclusive
// open.
func Erase(ctx context.Context, h host.Host, claim Claim) (*Erasure, error) {
	if claim.Shared {
		return nil, errors.New("what is shared is not erased")
	}
	hold, d, err := checked(ctx, h, claim)
	if err != nil {
		return nil, err
	}
	e := &Erasure{Hold: *hold}
	if err := e.open(ctx, d); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// open asks the kernel who else has the device, and opens it exclusively.
func (e *Erasure) open(ctx context.Context, d *device.Device) error {
	for _, o := range e.devices.All {
		if o.Backing != nil && !o.Backing.Known {
			return Refuse(RuleUnread, "the kernel does not say what %s is over: it may be %s", o.Path, d.Path)
		}
	}
	d, err := e.notOpen(ctx, d)
	if err != nil {
		return err
	}
	err = patiently(ctx, func() (err error) {
		e.File, err = os.OpenFile(e.host.Path(d.Path), os.O_RDWR|unix.O_EXCL|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return Refuse(RuleClaimed, "%s is open exclusively elsewhere: %v", d.Path, err)
	}
	if err := e.numbered(d); err != nil {
		return err
	}
	return e.dropPartitions(ctx, e.devices.Partitions(d), e.File)
}

// notOpen refuses a device of device mapper, and a partition, that somebody else has open without O_EXCL, as
// loop devices and virtual machines do. The kernel does not say so of other devices. A partition has another
// number afterwards.
func (e *Erasure) notOpen(ctx context.Context, d *device.Device) (*device.Device, error) {
	switch d.Kind {
	case device.Mapper:
		others := 0
		err := patiently(ctx, func() error {
			n, err := device.OpenCount(e.host, d)
			if others = n - 1; err == nil && others > 0 { // the lock is one
				err = unix.EBUSY
			}
			return err
		})
		switch {
		case errors.Is(err, unix.EBUSY):
			return nil, Refuse(RuleClaimed, "%s is open (%d times)", d.Path, others)
		case err != nil:
			return nil, Refuse(RuleUnread, "%v", err)
		}
	case device.Partition:
		if err := e.dropPartitions(ctx, []*device.Device{d}, e.lock); err != nil {
			return nil, err
		}
		err := device.SetPartition(e.lock, unix.BLKPG_ADD_PARTITION, d.Number, d.Start, d.Size)
		if err != nil && !errors.Is(err, unix.EBUSY) { // udev was sooner
			return nil, err
		}
		return e.readAgain(d)
	}
	return d, nil
}

// readAgain is a partition that the kernel was made to drop and to take again.
func (e *Erasure) readAgain(d *device.Device) (*device.Device, error) {
	devices, err := device.Scan(e.host)
	if err != nil {
		return nil, err
	}
	now := devices.Named(d.Name)
	if now == nil || now.Number != d.Number || now.Start != d.Start || now.Parent != d.Parent {
		return nil, Refuse(RuleIdentity, "%s is another device than it was a moment ago", d.Path)
	}
	was := *d
	was.Major, was.Minor = now.Major, now.Minor
	e.claim.Device = &was
	return now, e.same(devices, now)
}

// dropPartitions takes partitions from the kernel, which refuses one that is open. Then all are there again.
func (e *Erasure) dropPartitions(ctx context.Context, parts []*device.Device, disk *os.File) error {
	for i, p := range parts {
		err := patiently(ctx, func() error {
			return device.SetPartition(disk, unix.BLKPG_DEL_PARTITION, p.Number, p.Start, p.Size)
		})
		if err == nil || errors.Is(err, unix.ENXIO) { // udev was sooner
			continue
		}
		if errors.Is(err, unix.EBUSY) {
			err = Refuse(RuleClaimed, "%s is open", p.Path)
		}
		for _, dropped := range parts[:i] {
			err = errors.Join(err, device.SetPartition(disk, unix.BLKPG_ADD_PARTITION, dropped.Number, dropped.Start, dropped.Size))
		}
		return err
	}
	return nil
}

// patiently does something again for as long as it is busy, for a moment.
func patiently(ctx context.Context, do func() error) error {
	for end := time.Now().Add(openWait); ; {
		err := do()
		if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Detach takes a loop device off its file, once the last has closed it.
func (e *Erasure) Detach() error { return unix.IoctlSetInt(int(e.File.Fd()), unix.LOOP_CLR_FD, 0) }
