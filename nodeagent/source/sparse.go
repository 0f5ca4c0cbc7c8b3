package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// reserve is what sparse files leave free of the file system that they are on: it is often
// the root's.
const reserve = 1 << 30

// sparseFile is a file with a loop device over it. It is named by its mark, in a folder that
// is the agent's alone.
type sparseFile struct {
	*job
	uuid string
	path string
}

// sparse is the file of one of the marks: ours, or that which MetalK8s has made.
func (j *job) sparse(uuids []string) sparseFile {
	for _, uuid := range uuids[1:] {
		path := j.Host.Path(filepath.Join("/var/lib/metalk8s/storage/sparse", uuid))
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			return sparseFile{job: j, uuid: uuids[0], path: path}
		}
	}
	return sparseFile{job: j, uuid: uuids[0], path: filepath.Join(j.Folder, "sparse", uuids[0])}
}

// plan returns the loop device once it is there.
func (f sparseFile) plan(size int64) ([]step.Step, *device.Device, error) {
	info, err := os.Lstat(f.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if f.entry.Made {
			return nil, nil, guard.Refuse(guard.RuleNotFound, "the file %s is gone: it is not recreated; restore it, or delete the object", f.path)
		}
		if err := f.room(size); err != nil {
			return nil, nil, err
		}
		return []step.Step{f.create(size), f.attach()}, nil, nil
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, guard.Refuse(guard.RuleContent, "%s is no file", f.path)
	case info.Size() < size:
		if err := f.room(size - info.Size()); err != nil {
			return nil, nil, err
		}
		return []step.Step{f.resize(size)}, nil, nil
	}
	loop, err := f.loop()
	if err != nil {
		return nil, nil, err
	}
	if loop == nil {
		return []step.Step{f.attach()}, nil, nil
	}
	if loop.Size < info.Size()/512*512 {
		return []step.Step{f.resizeLoop(loop)}, nil, nil
	}
	return nil, loop, nil
}

// room refuses what would fill the file system of sparse files: all of them together must be
// able to be written full.
func (f sparseFile) room(more int64) error {
	folder := filepath.Join(f.Folder, "sparse")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	free, err := f.SparseFree()
	if err != nil {
		return err
	}
	if more > free {
		return guard.Refuse(guard.RuleSpace, "%s has room for %d bytes more, less what the sparse files there have not used yet and 1Gi; %d are needed", folder, max(0, free), more)
	}
	return nil
}

// SparseFree is the space for more sparse files in bytes: the free space of their file system, less what they have not used
// yet, and a reserve. It is negative if they can run out of space.
func (e *Engine) SparseFree() (int64, error) {
	folder := filepath.Join(e.Folder, "sparse")
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		return 0, fmt.Errorf("%s: %w", folder, err)
	}
	free := int64(fs.Bavail)*fs.Bsize - reserve
	files, err := os.ReadDir(folder)
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		var stat unix.Stat_t
		if err := unix.Lstat(filepath.Join(folder, file.Name()), &stat); err != nil {
			return 0, err
		}
		free -= max(0, stat.Size-stat.Blocks*512)
	}
	return free, nil
}

func (f sparseFile) create(size int64) step.Step {
	s := f.step("create-file", f.uuid, nil)
	s.Target, s.Command = f.path, fmt.Sprintf("open O_CREAT|O_EXCL, ftruncate %d, fsync", size)
	s.Before, s.After = "there is no such file, and room for it", "the file has the size"
	s.Do = func(context.Context, io.Closer) error {
		file, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		err = errors.Join(file.Truncate(size), file.Sync(), file.Close())
		if folder, openErr := os.Open(filepath.Dir(f.path)); openErr == nil {
			err = errors.Join(err, folder.Sync(), folder.Close())
		}
		return err
	}
	s.Check = fileSize(f.path, size)
	return s
}

func (f sparseFile) resize(size int64) step.Step {
	s := f.step("grow-file", f.uuid, nil)
	s.Target, s.Command = f.path, fmt.Sprintf("ftruncate %d, fsync", size)
	s.Before, s.After = "the file is smaller, and there is room", "the file has the size"
	s.Do = func(context.Context, io.Closer) error {
		file, err := os.OpenFile(f.path, os.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		info, err := file.Stat()
		if err == nil && info.Size() < size { // never shrinks, whatever happened meanwhile
			err = errors.Join(file.Truncate(size), file.Sync())
		}
		return errors.Join(err, file.Close())
	}
	s.Check = fileSize(f.path, size)
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

// remove plans the end of the file: its loop device, then the file.
func (f sparseFile) remove() ([]step.Step, error) {
	if _, err := os.Lstat(f.path); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	loop, err := f.loop()
	if err != nil {
		return nil, err
	}
	if loop != nil {
		if refusals := guard.Uses(f.facts, loop); len(refusals) > 0 {
			return nil, refusals[0]
		}
		return []step.Step{f.detach(loop)}, nil
	}
	s := f.step("remove-file", f.uuid, nil)
	s.Target, s.Command, s.Destroys = f.path, "unlink", true
	s.Before, s.After = "no loop device is over it; its name is our mark", "it is gone"
	s.Do = func(context.Context, io.Closer) error { return os.Remove(f.path) }
	s.Check = func(context.Context) error {
		if _, err := os.Lstat(f.path); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is there", f.path)
		}
		return nil
	}
	return []step.Step{s}, nil
}
