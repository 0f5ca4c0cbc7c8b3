package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/probe"
)

const (
	// chunk is how much of a device is erased by one call of the kernel.
	chunk = 16 << 20
	// reportEvery is how often an erase says how far it has come: it syncs the device, and a journal and the API
	// server write it down.
	reportEvery = 5 * time.Second
)

// Wiping is how a device is erased, from its end to its beginning, and how far that has come. The first MiB is
// the last to go: marks are there.
type Wiping struct {
	// Policy is one of those of spec.wipe. With none only what a device is recognized by is taken away.
	Policy string `json:"policy"`
	Size   int64  `json:"size"` // of the device, bytes
	// Left is how many bytes from the beginning are still to be erased. The rest is, on the disk.
	Left int64 `json:"left"`
	// Note says why it is not done as asked.
	Note string `json:"note,omitempty"`
}

// Wipe erases the device. It calls report with the progress after the first part, and then every few seconds.
// That can take hours, or never end: where there is a pool, a process of its own does it, which has the device and
// the locks for as long.
func (e *Erasure) Wipe(ctx context.Context, w Wiping, report func(Wiping)) error {
	if e.host.Apart == nil {
		return w.Run(ctx, e.File, report)
	}
	what, err := json.Marshal(w)
	if err != nil {
		return err
	}
	progress, told, err := os.Pipe()
	if err != nil {
		return err
	}
	files := []*os.File{e.File, told, e.lock}
	if e.claim.Lock != nil {
		files = append(files, e.claim.Lock)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		reports := json.NewDecoder(progress)
		for {
			var now Wiping
			if reports.Decode(&now) != nil {
				return
			}
			report(now)
		}
	}()
	err = errors.Join(e.host.Apart.Alone(ctx, files, "wipe", string(what)), told.Close())
	if ctx.Err() != nil { // the process goes on, and its end of the pipe stays open
		return errors.Join(err, progress.Close())
	}
	<-read
	return errors.Join(err, progress.Close())
}

// ServeWipe is what that process does with its argument.
func ServeWipe(what string) error {
	var w Wiping
	if err := json.Unmarshal([]byte(what), &w); err != nil {
		return err
	}
	progress := json.NewEncoder(os.NewFile(4, "progress"))
	return w.Run(context.Background(), os.NewFile(3, "device"), func(now Wiping) {
		_ = progress.Encode(now) // whoever asked may be gone
	})
}

// Run erases an open device.
func (w Wiping) Run(ctx context.Context, device *os.File, report func(Wiping)) error {
	if w.Policy == api.WipeNone {
		return zeroEdges(ctx, device, w.Size)
	}
	erase, until := zeroOut, int64(0)
	if w.Policy == api.WipeDiscard {
		erase, until = punch, min(probe.Edge, w.Size)
	}
	var reported time.Time
	for w.Left > until {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(chunk, w.Left-until)
		err := erase(device, w.Left-n, n)
		if err != nil && w.Policy == api.WipeDiscard {
			// What fails for another reason fails with zeros, too.
			w.Policy, w.Note = api.WipeFull, fmt.Sprintf("zeros are written, because the device does not discard so that it reads as zeros (%v)", err)
			erase, until = zeroOut, 0
			continue
		}
		if err != nil {
			return fmt.Errorf("zeros at byte %d: %w", w.Left-n, err)
		}
		w.Left -= n
		if time.Since(reported) < reportEvery {
			continue
		}
		if err := device.Sync(); err != nil {
			return err
		}
		report(w)
		reported = time.Now()
	}
	if w.Policy == api.WipeDiscard {
		return zeroEdges(ctx, device, w.Size)
	}
	return device.Sync()
}

// ZeroEdges writes zeros wherever a signature can be.
func (e *Erasure) ZeroEdges(ctx context.Context) error {
	return zeroEdges(ctx, e.File, e.claim.Device.Size)
}

// zeroEdges writes zeros over copies of superblocks first, then the last MiB, and the first MiB last.
func zeroEdges(ctx context.Context, device *os.File, size int64) error {
	spans := [][2]int64{{0, size}}
	if size > 2*probe.Edge {
		spans = nil
		for _, start := range probe.Copies(size) {
			spans = append(spans, [2]int64{start, min(probe.CopySize, size-probe.Edge-start)})
		}
		spans = append(spans, [2]int64{size - probe.Edge, probe.Edge}, [2]int64{0, probe.Edge})
	}
	for _, span := range spans {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := zeroOut(device, span[0], span[1]); err != nil {
			return fmt.Errorf("zeros at byte %d: %w", span[0], err)
		}
	}
	return device.Sync()
}

// zeroOut writes zeros over a range. The kernel uses what the disk offers, and the space stays the device's.
func zeroOut(device *os.File, start, size int64) error {
	span := [2]uint64{uint64(start), uint64(size)}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, device.Fd(), unix.BLKZEROOUT, uintptr(unsafe.Pointer(&span))); errno != 0 {
		return errno
	}
	return nil
}

// punch discards a range, which reads as zeros afterwards, or fails. BLKDISCARD is but a hint, after which a device may
// return what it had; for this the kernel takes only what a device promises.
func punch(device *os.File, start, size int64) error {
	return unix.Fallocate(int(device.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, start, size)
}
