package source_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/test/tool"
)

// TestTenantsFiles: a filesystem in use is inspected and grown only through the mount of its root directory. What a
// tenant has in it, mounted elsewhere as kubelet does for a subPath, is not opened: a FIFO would hang whoever opens it.
func TestTenantsFiles(t *testing.T) {
	needLoops(t)
	tool.Need(t, "mount")
	base := t.TempDir()
	s := story{t: t, folder: filepath.Join(base, "agent")}
	root, sub := filepath.Join(base, "root"), filepath.Join(base, "sub")
	for _, folder := range []string{s.folder, root} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(sub, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, at := range []string{sub, root} {
			for err := error(nil); err == nil; { // they may be mounted twice
				err = unix.Unmount(at, 0)
			}
		}
		dropLoops(t)(s.folder)
	})
	device := "/dev/disk/by-uuid/" + mark.Cluster("test").Of(api.KindVolume, "data", "n1")
	grown := func(size, refused string) int64 {
		t.Helper()
		s.tell(operation{Apply: sparse("data", size, api.Filesystem), FS: "ext4"}, refused) // opening the FIFO would never end
		var fs unix.Statfs_t
		if unix.Statfs(root, &fs) != nil {
			return 0
		}
		return int64(fs.Blocks) * fs.Bsize >> 20
	}
	// Where the test may not grow a mounted ext4, it has to get as far as the kernel's refusal.
	forbidden := ""
	if !holds(t, unix.CAP_SYS_RESOURCE) {
		forbidden = "EXT4_IOC_RESIZE_FS"
	}
	grown("40Mi", "")
	s.says("mount", device, root)
	if err := unix.Mkfifo(filepath.Join(root, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.says("mount", "--bind", filepath.Join(root, "fifo"), sub)
	s.says("umount", root)

	// Only the FIFO is mounted: nothing is grown, and nothing waits.
	grown("64Mi", "")
	if out, err := exec.Command("dumpe2fs", "-h", device).CombinedOutput(); err == nil && !strings.Contains(string(out), "Block count:              40960") {
		t.Errorf("it was grown through a tenant's file:\n%s", out)
	}
	// The FIFO is the first of the mount points, as it is here, or the last.
	s.says("mount", device, root)
	if got := grown("64Mi", forbidden); got < 50 && forbidden == "" {
		t.Errorf("the filesystem has %d MiB of 64", got)
	}
	s.says("umount", sub)
	s.says("mount", "--bind", filepath.Join(root, "fifo"), sub)
	if got := grown("96Mi", forbidden); got < 80 && forbidden == "" {
		t.Errorf("the filesystem has %d MiB of 96", got)
	}
	// What is mounted over the root directory is another filesystem's.
	s.says("mount", "-t", "tmpfs", "none", root)
	s.tell(operation{Apply: sparse("data", "128Mi", api.Filesystem), FS: "ext4"}, "something else is mounted over it")
}

// holds reports whether this process has a capability.
func holds(t *testing.T, capability int) bool {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
	return data[capability/32].Effective&(1<<(capability%32)) != 0
}
