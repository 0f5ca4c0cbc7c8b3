package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// loop finds the loop device over the file, by device and inode: two paths may be one
// file, and two loop devices over one file would destroy it.
func (f sparseFile) loop() (*device.Device, error) {
	var stat unix.Stat_t
	if err := unix.Stat(f.path, &stat); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	var found *device.Device
	for _, d := range f.facts.Devices.All {
		if b := d.Backing; b != nil && !b.Known && filepath.Base(b.Path) == filepath.Base(f.path) {
			return nil, guard.Refuse(guard.RuleUnread, "%s is over %s, and does not answer", d.Path, b.Path)
		}
		if d.Backing == nil || d.Backing.Inode != stat.Ino || d.Backing.Device != stat.Dev {
			continue
		}
		if found != nil || d.Backing.Offset != 0 {
			return nil, guard.Refuse(guard.RuleTwin, "%s has more than one loop device over it, or over a part of it: %s", f.path, d.Path)
		}
		found = d
	}
	return found, nil
}

// now is the loop device over the file as it is now.
func (f sparseFile) now() (*device.Device, error) {
	now, err := f.begin(f.object)
	if err != nil {
		return nil, err
	}
	f.job = now
	return f.loop()
}

func (f sparseFile) attach() step.Step {
	s := f.step("attach-loop", f.uuid, nil)
	s.Target, s.Command = f.path, "LOOP_CTL_GET_FREE, LOOP_CONFIGURE with partscan and direct I/O"
	s.Before, s.After = "no loop device is over the file", "exactly one is"
	s.Do = func(context.Context, io.Closer) error { return attachLoop(f.Host.Path("/dev"), f.path) }
	s.Check = func(context.Context) error {
		loop, err := f.now()
		if err == nil && loop == nil {
			err = fmt.Errorf("no loop device is over %s", f.path)
		}
		return err
	}
	return s
}

// attachLoop attaches a file to a free loop device. Between finding one and taking it
// somebody else may take it: then another is tried.
func attachLoop(dev, path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // the kernel keeps what it needs of it
	control, err := os.OpenFile(filepath.Join(dev, "loop-control"), os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("loop devices: %w (is the module loop loaded?)", err)
	}
	defer func() { _ = control.Close() }()
	for range 16 {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return fmt.Errorf("a free loop device: %w", err)
		}
		loop, err := os.OpenFile(filepath.Join(dev, fmt.Sprintf("loop%d", n)), os.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		config := unix.LoopConfig{Fd: uint32(file.Fd())}
		config.Info.Flags = unix.LO_FLAGS_PARTSCAN | unix.LO_FLAGS_DIRECT_IO
		copy(config.Info.File_name[:], path)
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &config)
		if errors.Is(err, unix.EINVAL) { // a file system without direct I/O
			config.Info.Flags = unix.LO_FLAGS_PARTSCAN
			err = unix.IoctlLoopConfigure(int(loop.Fd()), &config)
		}
		_ = loop.Close() // the device stays as it was configured
		if err == nil || !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return errors.New("every free loop device was taken by somebody else")
}

func (f sparseFile) resizeLoop(loop *device.Device) step.Step {
	s := f.step("grow-loop", f.uuid, nil)
	s.Target, s.Command = loop.Path, "LOOP_SET_CAPACITY"
	s.Before, s.After = "the loop device is over the file, and smaller", "it is as large as the file"
	s.Do = func(context.Context, io.Closer) error {
		file, err := os.OpenFile(f.Host.Path(loop.Path), os.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return errors.Join(unix.IoctlSetInt(int(file.Fd()), unix.LOOP_SET_CAPACITY, 0), file.Close())
	}
	s.Check = func(context.Context) error {
		now, err := f.now()
		if err != nil || now == nil || now.Size <= loop.Size {
			return errors.Join(err, fmt.Errorf("%s is as large as before", loop.Path))
		}
		return nil
	}
	return s
}

func (f sparseFile) detach(loop *device.Device) step.Step {
	s := f.step("detach-loop", f.uuid, nil)
	s.Target, s.Command = loop.Path, "LOOP_CLR_FD"
	s.Before, s.After = "the guard", "no loop device is over the file"
	// LOOP_CLR_FD on a device in use would take it away after its last use.
	s.Prepare = f.erase(guard.Claim{Device: loop, Content: anything})
	s.Do = func(_ context.Context, held io.Closer) error {
		e, ok := held.(*guard.Erasure)
		if !ok {
			return errNotHeld
		}
		return e.Detach()
	}
	s.Check = func(ctx context.Context) error {
		// Whoever reads it just now, such as udev, keeps it until he has done so.
		for end := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			now, err := f.now()
			if err == nil && now == nil {
				return nil
			}
			if err != nil || ctx.Err() != nil || time.Now().After(end) {
				return errors.Join(err, fmt.Errorf("%s is still over %s", loop.Path, f.path))
			}
		}
	}
	return s
}

// attachOld plans the loop device over a file that is there, for the removal of what is in it.
func (f sparseFile) attachOld() ([]step.Step, error) {
	if _, err := os.Lstat(f.path); errors.Is(err, os.ErrNotExist) || slices.Contains([]string{"detach-loop", "remove-file"}, f.entry.Step) {
		return nil, nil
	}
	loop, err := f.loop()
	if err != nil || loop != nil {
		return nil, err
	}
	return []step.Step{f.attach()}, nil
}
