package host

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/test/tool"
)

// Whoever waits for changes uses no processor, also once the garbage collector has run.
func TestChangesAtRest(t *testing.T) {
	changed, err := New("/").Changes(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		tool.Missing(t, err.Error())
	}
	for range 3 {
		runtime.GC() // closes files that nobody refers to
		time.Sleep(20 * time.Millisecond)
	}
	uevents, err := filepath.Glob("/sys/class/block/*/uevent")
	if err != nil || len(uevents) == 0 || os.WriteFile(uevents[0], []byte("change"), 0) != nil {
		tool.Missing(t, "no block device may be told to have changed")
	}
	<-changed.Devices // the poll starts again
	time.Sleep(50 * time.Millisecond)
	before := processorTime(t)
	time.Sleep(400 * time.Millisecond)
	if used := processorTime(t) - before; used > 150*time.Millisecond {
		t.Errorf("used the processor for %s of 400ms", used)
	}
}

// A mount is reported on the channel for mounts.
func TestChangesOfMounts(t *testing.T) {
	h := New(t.TempDir()) // without the other files
	if err := os.MkdirAll(h.Path("/proc/1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/proc/self/mountinfo", h.Path("/proc/1/mountinfo")); err != nil {
		t.Fatal(err)
	}
	changed, err := h.Changes(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		tool.Missing(t, err.Error())
	}
	folder := t.TempDir()
	if err := unix.Mount("none", folder, "tmpfs", 0, ""); err != nil {
		tool.Missing(t, "nothing can be mounted: "+err.Error())
	}
	t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
	select {
	case <-changed.Mounts:
	case <-time.After(time.Minute):
		t.Error("the mount was not reported")
	}
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Messages that the kernel had no room for count as a change: what they reported is not known.
func TestChangesLost(t *testing.T) {
	const other = "/sys/class/mem/null/uevent" // no block device, whose messages alone report nothing
	var sockets [2]int
	for i := range sockets {
		socket, err := ueventSocket()
		if err != nil {
			tool.Missing(t, err.Error())
		}
		t.Cleanup(func() { _ = unix.Close(socket) })
		if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUF, 1); err != nil {
			t.Fatal(err)
		}
		sockets[i] = socket
	}
	for range 200 {
		if err := os.WriteFile(other, []byte("change"), 0); err != nil {
			tool.Missing(t, err.Error())
		}
	}
	lost, buffer := false, make([]byte, 64<<10)
	for {
		_, _, err := unix.Recvfrom(sockets[0], buffer, 0)
		if errors.Is(err, unix.EAGAIN) {
			break
		}
		lost = lost || errors.Is(err, unix.ENOBUFS)
	}
	if !lost {
		tool.Missing(t, "200 messages fit into the smallest buffer")
	}
	told := 0
	if !readEvents(sockets[1], buffer, func() { told++ }) || told != 1 {
		t.Errorf("told %d times", told)
	}
}
