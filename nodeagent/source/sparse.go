package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// reserve is what sparse files leave free of the file system that they are on: it is often
// the root's.
const reserve = 1 << 30

// sparse plans a file with a loop device over it, and returns the device once it is there.
// The file is named by its mark, in a folder that is the agent's alone.
func (j *job) sparse(uuids []string, size int64) ([]step.Step, *device.Device, error) {
	uuid, path := uuids[0], j.sparsePath(uuids)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if j.entry.Made {
			return nil, nil, guard.Refuse(guard.RuleNotFound, "the file %s is gone: it is not made anew; restore it, or delete the object", path)
		}
		if err := j.room(size); err != nil {
			return nil, nil, err
		}
		return []step.Step{j.createFile(path, uuid, size), j.attach(path, uuid)}, nil, nil
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, guard.Refuse(guard.RuleContent, "%s is no file", path)
	case info.Size() < size:
		if err := j.room(size - info.Size()); err != nil {
			return nil, nil, err
		}
		return []step.Step{j.resizeFile(path, uuid, size)}, nil, nil
	}
	loop, err := j.loopOver(path)
	if err != nil {
		return nil, nil, err
	}
	if loop == nil {
		return []step.Step{j.attach(path, uuid)}, nil, nil
	}
	if loop.Size < info.Size()/512*512 {
		return []step.Step{j.resizeLoop(loop, path, uuid)}, nil, nil
	}
	return nil, loop, nil
}

// sparsePath is the file of one of the marks: ours, or that which MetalK8s has made.
func (j *job) sparsePath(uuids []string) string {
	for _, uuid := range uuids[1:] {
		path := j.Host.Path(filepath.Join("/var/lib/metalk8s/storage/sparse", uuid))
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return filepath.Join(j.sparseFolder(), uuids[0])
}

// room refuses what would fill the file system of sparse files: all of them together must be
// able to be written full.
func (j *job) room(more int64) error {
	if err := os.MkdirAll(j.sparseFolder(), 0o700); err != nil {
		return err
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(j.sparseFolder(), &fs); err != nil {
		return fmt.Errorf("%s: %w", j.sparseFolder(), err)
	}
	free := int64(fs.Bavail) * fs.Bsize
	files, err := os.ReadDir(j.sparseFolder())
	if err != nil {
		return err
	}
	for _, file := range files {
		var stat unix.Stat_t
		if err := unix.Lstat(filepath.Join(j.sparseFolder(), file.Name()), &stat); err != nil {
			return err
		}
		free -= max(0, stat.Size-stat.Blocks*512)
	}
	if more > free-reserve {
		return guard.Refuse(guard.RuleSpace, "%s has room for %d bytes more, less what the sparse files there have not used yet and 1Gi; %d are needed", j.sparseFolder(), max(0, free-reserve), more)
	}
	return nil
}

// loopOver finds the loop device over a file, by device and inode: two paths may be one
// file, and two loop devices over one file would destroy it.
func (j *job) loopOver(path string) (*device.Device, error) {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var found *device.Device
	for _, d := range j.facts.Devices.All {
		if d.Backing == nil || d.Backing.Inode != stat.Ino || d.Backing.Device != stat.Dev {
			continue
		}
		if found != nil || d.Backing.Offset != 0 {
			return nil, guard.Refuse(guard.RuleTwin, "%s has more than one loop device over it, or over a part of it: %s", path, d.Path)
		}
		found = d
	}
	return found, nil
}

func (j *job) createFile(path, uuid string, size int64) step.Step {
	s := j.step("create-file", uuid, nil)
	s.Target, s.Command = path, fmt.Sprintf("open O_CREAT|O_EXCL, ftruncate %d, fsync", size)
	s.Before, s.After = "there is no such file, and room for it", "the file has the size"
	s.Do = func(context.Context, io.Closer) error {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		err = errors.Join(f.Truncate(size), f.Sync(), f.Close())
		if folder, openErr := os.Open(filepath.Dir(path)); openErr == nil {
			err = errors.Join(err, folder.Sync(), folder.Close())
		}
		return err
	}
	s.Check = fileSize(path, size)
	return s
}

func (j *job) resizeFile(path, uuid string, size int64) step.Step {
	s := j.step("grow-file", uuid, nil)
	s.Target, s.Command = path, fmt.Sprintf("ftruncate %d, fsync", size)
	s.Before, s.After = "the file is smaller, and there is room", "the file has the size"
	s.Do = func(context.Context, io.Closer) error {
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil && info.Size() < size { // never shrinks, whatever happened meanwhile
			err = errors.Join(f.Truncate(size), f.Sync())
		}
		return errors.Join(err, f.Close())
	}
	s.Check = fileSize(path, size)
	return s
}

func fileSize(path string, size int64) func(context.Context) error {
	return func(context.Context) error {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if info.Size() < size {
			return fmt.Errorf("%s has %d bytes", path, info.Size())
		}
		return nil
	}
}

func (j *job) attach(path, uuid string) step.Step {
	s := j.step("attach-loop", uuid, nil)
	s.Target, s.Command = path, "LOOP_CTL_GET_FREE, LOOP_CONFIGURE with partscan and direct I/O"
	s.Before, s.After = "no loop device is over the file", "exactly one is"
	s.Do = func(context.Context, io.Closer) error { return attachLoop(j.Host.Path("/dev"), path) }
	s.Check = func(context.Context) error {
		now, err := j.begin(j.object)
		if err != nil {
			return err
		}
		loop, err := now.loopOver(path)
		if err != nil {
			return err
		}
		if loop == nil {
			return fmt.Errorf("no loop device is over %s", path)
		}
		return nil
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

func (j *job) resizeLoop(loop *device.Device, path, uuid string) step.Step {
	s := j.step("grow-loop", uuid, nil)
	s.Target, s.Command = loop.Path, "LOOP_SET_CAPACITY"
	s.Before, s.After = "the loop device is over the file, and smaller", "it is as large as the file"
	s.Do = func(context.Context, io.Closer) error {
		f, err := os.OpenFile(j.Host.Path(loop.Path), os.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return errors.Join(unix.IoctlSetInt(int(f.Fd()), unix.LOOP_SET_CAPACITY, 0), f.Close())
	}
	s.Check = func(context.Context) error {
		now, err := j.begin(j.object)
		if err != nil {
			return err
		}
		d, err := now.loopOver(path)
		if err != nil || d == nil || d.Size <= loop.Size {
			return errors.Join(err, fmt.Errorf("%s is as large as before", loop.Path))
		}
		return nil
	}
	return s
}

// removeSparse plans the end of a sparse file: its loop device, then the file.
func (j *job) removeSparse(uuid string) ([]step.Step, error) {
	path := filepath.Join(j.sparseFolder(), uuid)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	loop, err := j.loopOver(path)
	if err != nil {
		return nil, err
	}
	if loop != nil {
		if refusals := guard.Uses(j.facts, loop); len(refusals) > 0 {
			return nil, refusals[0]
		}
		return []step.Step{j.detach(loop, path, uuid)}, nil
	}
	s := j.step("remove-file", uuid, nil)
	s.Target, s.Command, s.Destroys = path, "unlink", true
	s.Before, s.After = "no loop device is over it; its name is our mark", "it is gone"
	s.Do = func(context.Context, io.Closer) error { return os.Remove(path) }
	s.Check = func(context.Context) error {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is there", path)
		}
		return nil
	}
	return []step.Step{s}, nil
}

func (j *job) detach(loop *device.Device, path, uuid string) step.Step {
	s := j.step("detach-loop", uuid, nil)
	s.Target, s.Command = loop.Path, "LOOP_CLR_FD"
	s.Before, s.After = "nobody uses it", "no loop device is over the file"
	s.Do = func(context.Context, io.Closer) error {
		// Exclusively: LOOP_CLR_FD on a device in use would take it away after its last use.
		f, err := os.OpenFile(j.Host.Path(loop.Path), os.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)
		if err != nil {
			return guard.Refuse(guard.RuleClaimed, "%s: %v", loop.Path, err)
		}
		return errors.Join(unix.IoctlSetInt(int(f.Fd()), unix.LOOP_CLR_FD, 0), f.Close())
	}
	s.Check = func(context.Context) error {
		now, err := j.begin(j.object)
		if err != nil {
			return err
		}
		if d, err := now.loopOver(path); err != nil || d != nil {
			return errors.Join(err, fmt.Errorf("%s is still over %s", loop.Path, path))
		}
		return nil
	}
	return s
}

// attachOld plans the loop device over a sparse file that is there, for its removal.
func (j *job) attachOld(uuid string) ([]step.Step, error) {
	path := filepath.Join(j.sparseFolder(), uuid)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) || slices.Contains([]string{"detach-loop", "remove-file"}, j.entry.Step) {
		return nil, nil
	}
	loop, err := j.loopOver(path)
	if err != nil || loop != nil {
		return nil, err
	}
	return []step.Step{j.attach(path, uuid)}, nil
}
