package source

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/probe"
)

// rootOf opens the root directory of the filesystem of a device where it is mounted, and nothing
// that a tenant has in it: no other mount point, and no other kind of file.
func (j *job) rootOf(d *device.Device) (*os.File, error) {
	if len(d.Roots) == 0 {
		return nil, fmt.Errorf("the root of the filesystem on %s is mounted nowhere", d.Path)
	}
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_CLOEXEC
	f, err := os.OpenFile(j.Host.Path(d.Roots[0]), flags, 0)
	if err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil || stat.Dev != unix.Mkdev(d.Major, d.Minor) {
		_ = f.Close() // nothing was read from it
		return nil, fmt.Errorf("%s is not the root of the filesystem on %s: something else is mounted over it", d.Roots[0], d.Path)
	}
	return f, nil
}

// xfsGeometry is the beginning of the kernel's xfs_fsop_geom_v1, of 112 bytes.
type xfsGeometry struct {
	BlockSize, _, _, _, _, _, _, _ uint32
	DataBlocks                     uint64
	_                              [72]byte
}

const (
	xfsGetGeometry = 0x80705864 // XFS_IOC_FSGEOMETRY_V1
	extResize      = 0x40086610 // EXT4_IOC_RESIZE_FS
)

// filesystemSize is how large a filesystem is. An XFS that is mounted and was grown has that in its log, and
// only later in the superblock: there the kernel is asked.
func (j *job) filesystemSize(d *device.Device, fs *probe.Filesystem) int64 {
	if fs.Type != "xfs" || len(d.Roots) == 0 {
		return fs.Size
	}
	f, err := j.rootOf(d)
	if err != nil {
		return fs.Size
	}
	defer func() { _ = f.Close() }() // it was only asked
	var geometry xfsGeometry
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), xfsGetGeometry, uintptr(unsafe.Pointer(&geometry))); errno != 0 {
		return fs.Size
	}
	return max(int64(geometry.DataBlocks)*int64(geometry.BlockSize), fs.Size)
}

// growMounted asks the kernel to make a mounted ext4 as large as its device. resize2fs does no
// more, but opens the first mount point of the device, which may be a tenant's FIFO.
func (j *job) growMounted(d *device.Device, fs *probe.Filesystem) error {
	f, err := j.rootOf(d)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	blocks := uint64(d.Size/max(fs.Block, 4096)) * uint64(max(fs.Block, 4096)/fs.Block) // whole pages, as the kernel wants
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), extResize, uintptr(unsafe.Pointer(&blocks))); errno != 0 {
		return fmt.Errorf("EXT4_IOC_RESIZE_FS of %s to %d blocks: %w", d.Path, blocks, errno)
	}
	return nil
}
