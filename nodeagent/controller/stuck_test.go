package controller_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/nodeagent/apart"
	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
	"github.com/poolwright/poolwright/test/tool"
)

// diskNode is a machine that is a folder with SCSI disks, which are loop devices. The files of some are kept from
// answering.
type diskNode struct {
	root, programs string
	hanging        map[string]*fixture.Hanging
}

// newDiskNode has a disk a serial number: sda, sdb and so on. The first ones can hang.
func newDiskNode(t *testing.T, hanging int, serials ...string) *diskNode {
	t.Helper()
	if os.Geteuid() != 0 {
		tool.Missing(t, "loop devices need root")
	}
	for _, name := range []string{"losetup", "unshare", "mount", "mkfs.ext4"} {
		tool.Need(t, name)
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		tool.Missing(t, "there is no FUSE: "+err.Error())
	}
	folder := t.TempDir()
	n := &diskNode{root: filepath.Join(folder, "machine"), programs: filepath.Join(folder, "programs"), hanging: map[string]*fixture.Hanging{}}
	script := fmt.Sprintf("#!/bin/sh\nfor a; do shift; case $a in /dev/*) a=%s$a;; esac; set -- \"$@\" \"$a\"; done\nexec %s \"$@\"\n", n.root, tool.Need(t, "wipefs"))
	err := errors.Join(fixture.EmptyMachine(n.root), os.MkdirAll(n.programs, 0o755),
		os.WriteFile(filepath.Join(n.programs, "wipefs"), []byte(script), 0o755))
	for _, dir := range []string{"usr", "bin", "sbin"} {
		err = errors.Join(err, os.Symlink("/"+dir, filepath.Join(n.root, dir)))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fixture.DetachLoops(func(path string) bool { return strings.HasPrefix(path, folder) }); err != nil {
			t.Error(err)
		}
	})
	for i, serial := range serials {
		disk := fixture.LoopDisk{Root: n.root, Name: "sd" + string(rune('a'+i)), File: filepath.Join(folder, serial), WWN: fmt.Sprintf("500000000000001%x", i), Serial: serial}
		if i < hanging {
			n.hanging[serial] = fixture.NewHanging(t, 64<<20)
			disk.File = n.hanging[serial].File
		} else if err := errors.Join(os.WriteFile(disk.File, nil, 0o600), os.Truncate(disk.File, 64<<20)); err != nil {
			t.Fatal(err)
		}
		if _, err := disk.Attach(); err != nil {
			t.Fatal(err)
		}
	}
	h := host.New(n.root)
	h.Tools.Root, h.Tools.Folders = "/", append([]string{n.programs}, h.Tools.Folders...)
	// As the agent does: what looks for filesystems must not wait for a disk that hangs.
	program := built(t)
	h.Apart = &apart.Pool{Deadline: time.Second, Command: func(args ...string) *exec.Cmd { return exec.Command(program, args...) }}
	linkAll(t, h, func(*device.Device) bool { return true })
	t.Cleanup(func() {
		for _, h := range n.hanging {
			h.Hang(false)
		}
		h.Apart.Rest()
	})
	return n
}

func (n *diskNode) line(arguments string) []string {
	return []string{"unshare", "--mount", "--", "sh", "-c",
		fmt.Sprintf(`mount --bind %s /usr/local/sbin && exec "$@" --root %s %s`, n.programs, n.root, arguments), "sh"}
}

func rawVolume(name, serial, class, mode string) string {
	return fmt.Sprintf(`
apiVersion: storage.metalk8s.scality.com/v1alpha1
kind: Volume
metadata: {name: %s}
spec: {nodeName: n1, storageClassName: %s, mode: %s, rawBlockDevice: {disk: {serial: %s}}}
`, name, class, mode, serial)
}

// TestStuckDisk: disks that do not answer any more hurt the objects that want them, and nothing else: others are made
// and removed, and what is stuck goes on by itself once its disk answers.
func TestStuckDisk(t *testing.T) {
	n := newDiskNode(t, 2, "STUCK", "LATE", "FINE", "SPARE")
	c := newCluster(t)
	folder := t.TempDir()
	c.start(t, c.token(t, "n1"), folder, n.line("--deadline 3s")...)
	c.apply(t, rawVolume("late", "LATE", "delete", "Filesystem"))
	c.phase(t, "late", "Available")

	// They answer again further below: what is done until then was not held up by them.
	for _, h := range n.hanging {
		h.Hang(true)
	}
	c.apply(t, rawVolume("stuck", "STUCK", "delete", "Block"))
	c.apply(t, rawVolume("fine", "FINE", "delete", "Filesystem"))
	c.phase(t, "fine", "Available")
	c.phase(t, "stuck", "Failed")
	if got := c.get(t, volume, "stuck", "status", "conditions"); !strings.Contains(got, "rule unreadable: /dev/sda cannot be read: it does not answer") {
		t.Errorf("why it failed: %s", got)
	}
	// What has to be erased waits, and delays no other.
	for _, name := range []string{"late", "fine"} {
		if err := c.Resource(volume).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "fine is not gone", func() (bool, string) {
		got := c.get(t, volume, "fine", "status")
		return strings.Contains(got, "not found"), got
	})
	if got := c.get(t, volume, "late", "status"); strings.Contains(got, "not found") {
		t.Errorf("late was erased: %s", got)
	}

	for _, h := range n.hanging {
		h.Hang(false)
	}
	c.phase(t, "stuck", "Available")
	await(t, "late is not gone", func() (bool, string) {
		got := c.get(t, volume, "late", "status")
		return strings.Contains(got, "not found"), got
	})
}

// TestInspectStuck: inspect ends with disks that do not answer, says so of each, and reads the others.
func TestInspectStuck(t *testing.T) {
	built(t)
	n := newDiskNode(t, 3, "STUCK", "LATE", "LAST", "SPARE")
	for _, h := range n.hanging {
		h.Hang(true)
	}
	inspected := n.inspect(t)
	for path, reason := range map[string]string{
		"/dev/sda": "rule unreadable: /dev/sda cannot be read: it does not answer",
		"/dev/sdc": "rule unreadable: /dev/sdc cannot be read: it does not answer", "/dev/sdd": "",
	} {
		if got := inspected[path]; got.Reason != reason || got.Usable != (reason == "") {
			t.Errorf("inspect says of %s: %+v", path, got)
		}
	}
}

// inspect is what nodeagent inspect says, by the paths of disks.
func (n *diskNode) inspect(t *testing.T) map[string]api.InventoryDisk {
	t.Helper()
	line := append(n.line("--deadline 3s"), built(t), "inspect", "-o", "json")
	out, err := exec.Command(line[0], line[1:]...).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var answer struct{ Status api.Inventory }
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	disks := map[string]api.InventoryDisk{}
	for _, d := range answer.Status.Disks {
		disks[d.Path] = d
	}
	return disks
}
