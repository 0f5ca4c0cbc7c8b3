package device

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/host"
)

// backing is the file of a loop device, or nil where it has none. The device number and the
// inode come from the kernel, because two paths can be one file.
func backing(h host.Host, path string, s sysfs) *Backing {
	name := s.text("loop/backing_file")
	if name == "" {
		return nil
	}
	b := &Backing{Path: name}
	b.Offset, _ = strconv.ParseInt(s.text("loop/offset"), 10, 64)
	f, err := os.OpenFile(h.Path(path), os.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return b
	}
	defer f.Close()
	if info, err := unix.IoctlLoopGetStatus64(int(f.Fd())); err == nil {
		b.Device, b.Inode = info.Device, info.Inode
	}
	return b
}
