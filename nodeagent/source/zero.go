package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/probe"
)

const chunk = 64 << 20

// zero writes zeros over a range of a device, from its end to its beginning: marks are at the
// beginning, and have to be there until the last. The kernel uses what the disk offers.
func zero(ctx context.Context, f *os.File, start, size int64) error {
	for end := start + size; end > start; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(chunk, end-start)
		span := [2]uint64{uint64(end - n), uint64(n)}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.BLKZEROOUT, uintptr(unsafe.Pointer(&span)))
		if errno != 0 {
			return fmt.Errorf("zeros at byte %d: %w", end-n, errno)
		}
		end -= n
	}
	return f.Sync()
}

// zeroEdges takes away what is left of a step that was cut off.
func zeroEdges(ctx context.Context, f *os.File, size int64) error {
	if size <= 2*probe.Edge {
		return zero(ctx, f, 0, size)
	}
	return errors.Join(zero(ctx, f, size-probe.Edge, probe.Edge), zero(ctx, f, 0, probe.Edge))
}
