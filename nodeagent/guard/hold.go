package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/probe"
)

// lockWait is how long udev, which locks a disk while it looks at it, is waited for.
const lockWait = 10 * time.Second

// Claim is what is to be written, and what has to hold for it.
type Claim struct {
	// Device is the device as the facts have it, on which the step was planned.
	Device *device.Device
	// Identity is that declared of the disk under it, or nothing where it is declared by a
	// link.
	Identity device.Identity
	// Content says whether what is on it may be there, or refuses.
	Content func(c probe.Content) error
	// Lock, if not nil, is the object's, which whatever writes for a long time inherits.
	Lock *os.File
	// Shared is for a disk whose partitions are in use: it is not asked for whole.
	Shared bool
}

// Hold is a device that was checked and is locked against udev and all who lock as it does.
type Hold struct {
	// File is the device, open to read and write.
	File    *os.File
	lock    *os.File
	host    host.Host
	claim   Claim
	devices *device.Devices // as they were checked
}

// Acquire locks the disk, checks every rule on facts that are read under the lock, asks the
// kernel for the device exclusively, and opens it. mkfs and LVM ask for it exclusively
// themselves, so that claim cannot be kept while they run; the lock is, by their inheriting
// it. What takes away what is on a device takes an Erasure instead.
func Acquire(ctx context.Context, h host.Host, claim Claim) (*Hold, error) {
	hold, d, err := checked(ctx, h, claim)
	if err != nil {
		return nil, err
	}
	if err := hold.open(d); err != nil {
		return nil, errors.Join(err, hold.Close())
	}
	return hold, nil
}

// checked locks the disk and checks every rule under the lock. The device is that of the facts then.
func checked(ctx context.Context, h host.Host, claim Claim) (*Hold, *device.Device, error) {
	devices, err := device.Scan(h)
	if err != nil {
		return nil, nil, err
	}
	planned := claim.Device
	now := devices.Named(planned.Name)
	if now == nil {
		return nil, nil, Refuse(RuleNotFound, "%s is gone", planned.Path)
	}
	hold := &Hold{host: h, claim: claim}
	if hold.lock, err = lock(ctx, h, devices.Whole(now)); err != nil {
		return nil, nil, err
	}
	d, err := hold.check(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, hold.Close())
	}
	return hold, d, nil
}

// check is done under the lock.
func (h *Hold) check(ctx context.Context) (*device.Device, error) {
	f, err := facts.Read(h.host)
	if err != nil {
		return nil, err
	}
	h.devices = f.Devices
	d := f.Devices.Named(h.claim.Device.Name)
	if err := h.same(f.Devices, d); err != nil {
		return nil, err
	}
	refusals := append(Identified(f.Devices, d), Twin(f, f.Devices.Whole(d))...)
	if !h.claim.Shared {
		refusals = append(refusals, Uses(f, d)...)
	}
	if len(refusals) > 0 {
		return nil, refusals[0]
	}
	kinds, err := probe.Wipefs(ctx, h.host.Tools, d.Path)
	switch {
	case errors.Is(err, host.ErrMissing):
		return nil, Refuse(RuleTool, "%v", err)
	case err != nil:
		return nil, Refuse(RuleUnread, "%v", err)
	}
	f.AddContent(d, kinds, nil)
	content, err := f.Content(d)
	if err != nil {
		return nil, Refuse(RuleUnread, "%s cannot be read: %v", d.Path, err)
	}
	return d, h.claim.Content(content)
}

// open tries whether the device can be had exclusively, and opens it as programs have to find it.
func (h *Hold) open(d *device.Device) error {
	if !h.claim.Shared {
		alone, err := os.OpenFile(h.host.Path(d.Path), os.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)
		if err != nil {
			return Refuse(RuleClaimed, "%s: somebody has it for himself: %v", d.Path, err)
		}
		if err := alone.Close(); err != nil {
			return err
		}
	}
	var err error
	if h.File, err = os.OpenFile(h.host.Path(d.Path), os.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	return h.numbered(d)
}

// Same is nil if the device is still the one that was checked.
func (h *Hold) Same() error {
	devices, err := device.Scan(h.host)
	if err != nil {
		return err
	}
	return h.same(devices, devices.Named(h.claim.Device.Name))
}

func (h *Hold) same(devices *device.Devices, now *device.Device) error {
	was := h.claim.Device
	if now == nil || now.Major != was.Major || now.Minor != was.Minor || now.Seq != was.Seq || now.Size != was.Size || now.UUID != was.UUID {
		return Refuse(RuleIdentity, "%s is another device than it was a moment ago", was.Path)
	}
	whole := devices.Whole(now)
	if h.claim.Identity.Known() {
		if err := h.claim.Identity.Matches(whole); err != nil {
			return Refuse(RuleIdentity, "%s: %v", whole.Path, err)
		}
	}
	return nil
}

// numbered is nil if the open file is the device of the kernel's number.
func (h *Hold) numbered(d *device.Device) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(h.File.Fd()), &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFBLK || unix.Major(stat.Rdev) != d.Major || unix.Minor(stat.Rdev) != d.Minor {
		return Refuse(RuleIdentity, "%s is not the block device %d:%d", d.Path, d.Major, d.Minor)
	}
	return nil
}

// Files are what a program is to inherit: the device as descriptor 3, and the lock.
func (h *Hold) Files() []*os.File { return []*os.File{h.File, h.lock} }

// Close gives the device free. udev looks at it then.
func (h *Hold) Close() error {
	var err error
	if h.File != nil {
		err = h.File.Close()
	}
	return errors.Join(err, h.lock.Close())
}

// Lock takes the lock of a disk alone, for a program that finds its devices itself, as LVM does.
func Lock(ctx context.Context, h host.Host, disk *device.Device) (*os.File, error) {
	return lock(ctx, h, disk)
}

// lock takes the lock by which udev is kept off a disk (systemd's BLOCK_DEVICE_LOCKING).
func lock(ctx context.Context, h host.Host, disk *device.Device) (*os.File, error) {
	f, err := os.OpenFile(h.Path(disk.Path), os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", disk.Path, err)
	}
	for end := time.Now().Add(lockWait); ; {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			return nil, errors.Join(fmt.Errorf("%s: lock: %w", disk.Path, err), f.Close())
		case time.Now().After(end):
			return nil, errors.Join(Refuse(RuleLocked, "somebody has locked %s for %s", disk.Path, lockWait), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
