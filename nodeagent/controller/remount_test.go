package controller_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/test/tool"
)

// TestGrownOnceMounted: a Volume that waits for its root directory to be mounted is grown soon after the mount, and not
// with the next resync. The kernel sends no device event for a mount.
func TestGrownOnceMounted(t *testing.T) {
	if os.Geteuid() != 0 {
		tool.Missing(t, "loop devices need root")
	}
	c := newCluster(t)
	folder := filepath.Join(t.TempDir(), "state")
	links(t, folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	c.apply(t, sparseVolume("data", "keep", "40Mi", "Filesystem"))
	a := c.start(t, c.token(t, "n1"), folder)
	c.phase(t, "data", "Available")
	device := "/dev/" + c.get(t, volume, "data", "status", "deviceName")
	root, part := t.TempDir(), t.TempDir()
	mount := func(source, target, fs string, flags uintptr) {
		t.Helper()
		if err := unix.Mount(source, target, fs, flags, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(target, unix.MNT_DETACH) })
	}
	mount(device, root, "ext4", 0)
	if err := os.Mkdir(filepath.Join(root, "part"), 0o700); err != nil {
		t.Fatal(err)
	}
	mount(filepath.Join(root, "part"), part, "", unix.MS_BIND) // as a subPath is
	if err := unix.Unmount(root, 0); err != nil {
		t.Fatal(err)
	}
	c.apply(t, sparseVolume("data", "keep", "64Mi", "Filesystem"))
	await(t, "it does not wait for its root directory", func() (bool, string) {
		got := c.get(t, volume, "data", "status", "conditions")
		return strings.Contains(got, "is grown once its root directory is mounted"), got
	})
	a.rest(t)
	mount(device, root, "ext4", 0)
	await(t, "it is not grown", func() (bool, string) {
		got := c.get(t, volume, "data", "status", "size")
		return got == "67108864", got
	})
}
