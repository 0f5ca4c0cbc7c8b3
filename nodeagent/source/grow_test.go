package source_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
)

// TestGrowGuarded: a filesystem is grown behind the guard: not while somebody has its device, and with the disk
// locked until the last program has ended.
func TestGrowGuarded(t *testing.T) {
	b := newBench(t, "S1")
	grow := operation{Apply: raw("data", "S1", api.Filesystem), FS: "ext4"}
	b.do(grow)
	if err := os.Truncate(filepath.Join(filepath.Dir(b.folder), "S1"), diskSize+32<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("losetup", "--set-capacity", b.real("sda")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b.engine.Forget()

	user, err := os.OpenFile(b.real("sda"), os.O_RDONLY|unix.O_EXCL, 0)
	if err != nil {
		t.Fatal(err)
	}
	b.refused(grow, guard.RuleClaimed, "/dev/sda")
	if err := user.Close(); err != nil {
		t.Fatal(err)
	}

	var written []string
	b.engine.Host.Tools.At = func(c host.Command) {
		if !c.Writes {
			return
		}
		written = append(written, c.Name)
		lockedFor(t, c, b.real("sda"))
	}
	b.do(grow)
	if want := []string{"e2fsck", "resize2fs"}; !slices.Equal(written, want) {
		t.Errorf("%v were run, want %v", written, want)
	}
	result, err := grow.once(b.engine)
	if err != nil || result.Size != diskSize+32<<20 {
		t.Errorf("it has %d bytes: %v", result.Size, err)
	}
}

// lockedFor holds that nobody else can lock a disk while a program that writes to it runs, and that the program
// has it open itself, and with it the lock: that lasts as long as it runs.
func lockedFor(t *testing.T, c host.Command, disk string) {
	t.Helper()
	f, err := os.Open(disk)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		t.Errorf("%s: somebody else can lock %s", c, disk)
	}
	var of unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &of); err != nil {
		t.Fatal(err)
	}
	has := slices.ContainsFunc(c.Files, func(f *os.File) bool {
		var stat unix.Stat_t
		return unix.Fstat(int(f.Fd()), &stat) == nil && stat.Rdev == of.Rdev
	})
	if !has {
		t.Errorf("%s: it does not have %s open, and with it the lock", c, disk)
	}
}
