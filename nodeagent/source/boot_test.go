package source_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/api"
)

// lives is what the virtual machine has over two boots.
func lives() []operation {
	return []operation{
		{Apply: raw("disk", "SCSI0001", api.Filesystem), FS: "xfs"},
		{Apply: raw("block", "NVME0001", api.Block)},
		{Apply: raw("third", "VBLK0001", api.Filesystem), FS: "ext4"},
	}
}

// TestBootFirst makes volumes, and leaves them for the next boot.
func TestBootFirst(t *testing.T) {
	for _, serial := range []string{"SCSI0001", "NVME0001", "VBLK0001"} {
		machineDisk(t, serial)
	}
	if points := boot(t); len(points) == 0 {
		t.Error("nothing was done")
	}
}

// TestBootSecond runs after a boot with the disks attached in another order, and on a node
// whose journal is gone, as one that was installed anew: all is known by its marks, and nothing
// is written.
func TestBootSecond(t *testing.T) {
	machineDisk(t, "SCSI0001")
	for _, point := range boot(t) {
		fields := strings.Fields(point)
		if kind := fields[2]; kind != "announce-partition" {
			t.Errorf("after a boot: %s", point)
		}
	}
}

func boot(t *testing.T) []string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "agent")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	points, _, err := start(t, run{Folder: folder, Root: "/", Operations: lives(), KillAt: -1})
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(points, "\n"))
	}
	return points
}
