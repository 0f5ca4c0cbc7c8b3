package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/poolwright/poolwright/nodeagent/api"
)

// TestPass: what a look at all Volumes costs where nothing is to be done, on real devices: at most half a second of
// the processor for a hundred, and as much more as there are more.
func TestPass(t *testing.T) {
	needLoops(t)
	volumes := 100
	if os.Getenv("POOLWRIGHT_TEST_SCALE") == "" {
		volumes = 10
	}
	folder := filepath.Join(t.TempDir(), "agent")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dropLoops(t)(folder) })
	engine, err := run{Folder: folder, Root: "/"}.engine(nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []operation
	for i := range volumes {
		o := operation{Apply: sparse(fmt.Sprintf("data-%03d", i), "8Mi", api.Filesystem), FS: "ext4"}
		if err := o.do(engine); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	least := time.Hour
	for range 3 { // the machine may be busy
		engine.Forget()
		before := processorTime(t)
		for _, o := range all {
			if _, err := o.once(engine); err != nil {
				t.Fatal(err)
			}
		}
		least = min(least, processorTime(t)-before)
	}
	t.Logf("%d volumes: %s", volumes, least)
	if limit := 100*time.Millisecond + time.Duration(volumes)*4*time.Millisecond; least > limit {
		t.Errorf("a look at %d volumes took %s of the processor, more than %s", volumes, least, limit)
	}
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var all time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			t.Fatal(err)
		}
		all += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return all
}
