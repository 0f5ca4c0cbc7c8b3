package device

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/apart"
	"github.com/poolwright/poolwright/nodeagent/host"
)

// fileID is a file as the kernel knows it: two paths can be one file. Node is that of a block device.
type fileID struct{ Device, Inode, Node uint64 }

// askLoop asks a loop device for its file. To open one whose file does not answer takes as long as that.
func askLoop() apart.Job[string, fileID] {
	return apart.Job[string, fileID]{Name: "loop", Do: func(path string) (fileID, error) {
		f, err := os.OpenFile(path, os.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return fileID{}, err
		}
		defer f.Close()
		info, err := unix.IoctlLoopGetStatus64(int(f.Fd()))
		if err != nil {
			return fileID{}, err
		}
		return fileID{info.Device, info.Inode, info.Rdevice}, nil
	}}
}

// Jobs are what this package has done apart.
func Jobs() []apart.Server { return []apart.Server{askLoop()} }

// backing is the file of a loop device, or nil where it has none.
func backing(h host.Host, d *Device, s sysfs) *Backing {
	name := s.text("loop/backing_file")
	if name == "" {
		return nil
	}
	b := &Backing{Path: name}
	b.Offset, _ = strconv.ParseInt(s.text("loop/offset"), 10, 64)
	if id, err := askLoop().Run(h.Apart, d.ID(), h.Path(d.Path)); err == nil {
		b.Device, b.Inode, b.Node, b.Known = id.Device, id.Inode, id.Node, true
	}
	return b
}
