package host

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

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
	<-changed // the poll begins anew
	time.Sleep(50 * time.Millisecond)
	before := processorTime(t)
	time.Sleep(400 * time.Millisecond)
	if used := processorTime(t) - before; used > 150*time.Millisecond {
		t.Errorf("used the processor for %s of 400ms", used)
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
