package source_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/step"
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

// TestReboot takes one step, and leaves the rest for the next boot. What the agent keeps is on a disk of
// its own.
func TestReboot(t *testing.T) {
	state := machineDisk(t, "STATE001")
	for _, serial := range []string{"SCSI0001", "VBLK0001", "NVME0001"} {
		machineDisk(t, serial)
	}
	shell(t, "mkdir -p /state; blkid -p "+state.Path+" || mkfs.ext4 -q "+state.Path+"; mount "+state.Path+" /state")
	folder := "/state/agent"
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	points, killed, err := start(t, run{Folder: folder, Root: "/", KillAt: len(step.Points()) - 1, Operations: []operation{
		{Group: group("fast", "VBLK0001")}, {Apply: logical("data", "fast", "50Mi", api.Filesystem), FS: "ext4"},
		{Group: group("fast", "VBLK0001", "SCSI0001")}, {Apply: logical("data", "fast", "90Mi", api.Filesystem), FS: "ext4"},
		{Apply: part("one", "NVME0001", "20Mi", api.Filesystem), FS: "ext4"}, {Remove: part("one", "NVME0001", "20Mi", api.Filesystem)},
		{Remove: logical("data", "fast", "90Mi", api.Filesystem)}, {Ungroup: group("fast", "VBLK0001", "SCSI0001")},
	}})
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(points, "\n"))
	}
	if len(points) > 0 {
		t.Log(points[0])
	}
	if !killed {
		disks := []string{machineDisk(t, "SCSI0001").Name, machineDisk(t, "VBLK0001").Name, machineDisk(t, "NVME0001").Name}
		for line := range strings.Lines(summary(t, host.New("/"), folder, disks...)) {
			if !strings.HasSuffix(strings.TrimSpace(line), "[] <nil>") && !strings.HasSuffix(strings.TrimSpace(line), "[] <nil> zero true") {
				t.Errorf("it is left: %s", line)
			}
		}
		t.Log("nothing is left to do")
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
