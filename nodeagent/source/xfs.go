package source

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/probe"
)

// xfsGeometry is the beginning of the kernel's xfs_fsop_geom_v1, of 112 bytes.
type xfsGeometry struct {
	BlockSize, _, _, _, _, _, _, _ uint32
	DataBlocks                     uint64
	_                              [72]byte
}

// xfsGetGeometry is XFS_IOC_FSGEOMETRY_V1.
const xfsGetGeometry = 0x80705864

// filesystemSize is how large a filesystem is. An XFS that is mounted and was grown has that in its log, and
// only later in the superblock: there the kernel is asked.
func (j *job) filesystemSize(d *device.Device, fs *probe.Filesystem) int64 {
	if fs.Type != "xfs" || len(d.Mounts) == 0 {
		return fs.Size
	}
	size, err := mountedXFS(j.Host.Path(d.Mounts[0]))
	if err != nil {
		return fs.Size
	}
	return max(size, fs.Size)
}

func mountedXFS(path string) (int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // it was only asked
	var geometry xfsGeometry
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), xfsGetGeometry, uintptr(unsafe.Pointer(&geometry))); errno != 0 {
		return 0, fmt.Errorf("%s: %w", path, errno)
	}
	return int64(geometry.DataBlocks) * int64(geometry.BlockSize), nil
}
