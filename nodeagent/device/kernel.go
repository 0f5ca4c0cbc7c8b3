package device

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/host"
)

// SetPartition has the kernel add, resize or delete (unix.BLKPG_...) one partition of an open disk, without
// a look at the others. It deletes none that is open: the error is then unix.EBUSY.
func SetPartition(disk *os.File, op int32, number int, start, size int64) error {
	part := unix.BlkpgPartition{Start: start, Length: size, Pno: int32(number)}
	arg := unix.BlkpgIoctlArg{Op: op, Datalen: int32(unsafe.Sizeof(part)), Data: (*byte)(unsafe.Pointer(&part))}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, disk.Fd(), unix.BLKPG, uintptr(unsafe.Pointer(&arg))); errno != 0 {
		return fmt.Errorf("partition %d: %w", number, errno)
	}
	return nil
}

// The beginning of the kernel's struct dm_ioctl (include/uapi/linux/dm-ioctl.h), of 312 bytes.
const (
	dmSize      = 312
	dmOpenCount = 24
	dmDevice    = 40
	dmDevStatus = 0xc138fd07 // DM_DEV_STATUS
)

// OpenCount is how often a device of device mapper is open, however it was opened.
func OpenCount(h host.Host, d *Device) (int, error) {
	control, err := os.OpenFile(h.Path("/dev/mapper/control"), os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = control.Close() }() // it was only asked
	request := make([]byte, dmSize)
	ne := binary.NativeEndian
	ne.PutUint32(request, 4) // the version of the interface: 4.0.0
	ne.PutUint32(request[12:], dmSize)
	ne.PutUint32(request[16:], dmSize)
	ne.PutUint64(request[dmDevice:], unix.Mkdev(d.Major, d.Minor))
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, control.Fd(), dmDevStatus, uintptr(unsafe.Pointer(&request[0]))); errno != 0 {
		return 0, fmt.Errorf("open count of %s: %w", d.Path, errno)
	}
	if name := bytes.TrimRight(request[48:48+128], "\x00"); string(name) != d.Mapped {
		return 0, fmt.Errorf("open count of %s: the kernel answers for %s, which is not %s", d.Path, name, d.Mapped)
	}
	return int(int32(ne.Uint32(request[dmOpenCount:]))), nil
}
