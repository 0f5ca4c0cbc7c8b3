package controller_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/test/storcli"
	"github.com/poolwright/poolwright/test/tool"
)

// raidNode is a machine that is a folder, whose disks are those that its RAID controller shows.
type raidNode struct {
	root     string // the machine's /
	programs string // the folder of storcli and its state
}

// newRAIDNode has two drives that are free, and somebody's.
func newRAIDNode(t *testing.T) *raidNode {
	t.Helper()
	if os.Geteuid() != 0 {
		tool.Missing(t, "loop devices need root")
	}
	for _, name := range []string{"losetup", "unshare", "mount", "mkfs.ext4"} {
		tool.Need(t, name)
	}
	folder := t.TempDir()
	n := &raidNode{root: filepath.Join(folder, "machine"), programs: filepath.Join(folder, "programs")}
	state := storcli.State{Controllers: []*storcli.Controller{{
		Battery: true, Next: 1,
		Drives: []*storcli.Drive{
			{Enclosure: 252, Slot: 4, Serial: "FAST", WWN: "5000000000000004", State: "UGood"},
			{Enclosure: 252, Slot: 5, Serial: "WIDE", WWN: "5000000000000005", State: "UGood"},
			{Enclosure: 252, Slot: 6, Serial: "TAKEN", WWN: "5000000000000006", State: "Onln"},
		},
		Virtual: []*storcli.Virtual{{Name: "theirs", NAA: "600605b0aabbccdd", Read: "ra", Write: "wb", IO: "direct", Drive: "252:6"}},
	}}}
	var errs []error
	for _, d := range state.Controllers[0].Drives {
		d.Root, d.File = n.root, filepath.Join(folder, d.Serial)
		was := make([]byte, 32<<20)
		if d.State == "Onln" {
			copy(was[7<<20:], "of somebody")
		}
		errs = append(errs, os.WriteFile(d.File, was, 0o600))
	}
	self, err := os.Executable()
	errs = append(errs, err, os.MkdirAll(n.programs, 0o755), os.Symlink(self, filepath.Join(n.programs, "storcli64")), state.Write(n.programs))
	// The program is of this machine, and the devices are below the folder.
	script := fmt.Sprintf("#!/bin/sh\nfor a; do shift; case $a in /dev/*) a=%s$a;; esac; set -- \"$@\" \"$a\"; done\nexec %s \"$@\"\n", n.root, tool.Need(t, "wipefs"))
	errs = append(errs, os.WriteFile(filepath.Join(n.programs, "wipefs"), []byte(script), 0o755))
	for _, dir := range []string{"sys/class/block", "dev/disk"} {
		errs = append(errs, os.MkdirAll(filepath.Join(n.root, dir), 0o755))
	}
	for _, dir := range []string{"proc", "usr", "bin", "sbin"} {
		errs = append(errs, os.Symlink("/"+dir, filepath.Join(n.root, dir)))
	}
	if err := errors.Join(append(errs, state.Hide())...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		state := n.state(t)
		for _, d := range state.Controllers[0].Drives {
			d.State = "UGood"
		}
		if err := state.Hide(); err != nil {
			t.Error(err)
		}
	})
	h := host.New(n.root)
	h.Tools.Root, h.Tools.Folders = "/", append([]string{n.programs}, h.Tools.Folders...)
	linkAll(t, h, func(*device.Device) bool { return true })
	return n
}

func (n *raidNode) state(t *testing.T) storcli.State {
	t.Helper()
	state, err := storcli.Read(n.programs)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// start starts the agent with a mount namespace of its own, in which the programs are where those of the node are.
func (n *raidNode) start(t *testing.T, c *cluster, folder string) {
	t.Helper()
	c.start(t, c.token(t, "n1"), folder, "unshare", "--mount", "--", "sh", "-c",
		fmt.Sprintf(`mount --bind %s /usr/local/sbin && exec "$@" --root %s`, n.programs, n.root), "sh")
}

// data is what is on a drive.
func (n *raidNode) data(t *testing.T, serial string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(filepath.Dir(n.root), serial))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func raidVolume(name, serial, level, mode string) string {
	return fmt.Sprintf(`
apiVersion: storage.metalk8s.scality.com/v1alpha1
kind: Volume
metadata: {name: %s}
spec:
  nodeName: n1
  storageClassName: delete
  mode: %s
  raidDAS: {controller: 0, drive: {serial: %s, slot: 4}, level: %s, cachePolicy: {write: wb}}
`, name, mode, serial, level)
}

// drive awaits that a drive is reported as it should be in the NodeInventory.
func (c *cluster) drive(t *testing.T, serial string, want map[string]any) {
	t.Helper()
	await(t, "drive "+serial+" is not told", func() (bool, string) {
		o, err := c.Resource(inventory).Get(t.Context(), "n1", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		var told map[string]any
		status, _ := o.Object["status"].(map[string]any)
		controllers, _ := status["controllers"].([]any)
		for _, controller := range controllers {
			drives, _ := controller.(map[string]any)["drives"].([]any)
			for _, d := range drives {
				if one, _ := d.(map[string]any); one["serial"] == serial {
					told = one
				}
			}
		}
		for key, value := range want {
			if fmt.Sprint(told[key]) != fmt.Sprint(value) {
				return false, fmt.Sprint(told)
			}
		}
		return told != nil, fmt.Sprint(told)
	})
}

// TestRAIDVolumes takes Volumes on drives behind a RAID controller through their lifetimes, with the stand-in
// for storcli: a virtual drive of level 0, and JBOD; one on somebody's drive is refused.
func TestRAIDVolumes(t *testing.T) {
	n := newRAIDNode(t)
	theirs := n.data(t, "TAKEN")
	c := newCluster(t)
	folder := t.TempDir()
	n.start(t, c, folder)
	c.drive(t, "FAST", map[string]any{"state": "unconfigured", "usable": true, "path": nil})
	c.drive(t, "TAKEN", map[string]any{"state": "configured", "usable": false, "path": "/dev/sdg"})

	c.apply(t, raidVolume("fast", "FAST", "raid0", "Filesystem"))
	c.apply(t, raidVolume("wide", "WIDE", "jbod", "Block"))
	c.apply(t, raidVolume("taken", "TAKEN", "raid0", "Filesystem"))
	c.phase(t, "fast", "Available")
	c.phase(t, "wide", "Available")
	c.phase(t, "taken", "Failed")
	if got := c.get(t, volume, "taken", "status", "conditions"); !strings.Contains(got, "theirs") {
		t.Errorf("why somebody's drive is refused: %s", got)
	}
	for _, v := range []struct{ name, device, path string }{
		{"fast", "sde", "/dev/disk/by-uuid/"}, {"wide", "sdf1", "/dev/disk/by-partuuid/"},
	} {
		if got := c.get(t, volume, v.name, "status", "deviceName"); got != v.device {
			t.Errorf("the device of %s is %s", v.name, got)
		}
		if got := c.get(t, persistent, v.name, "spec", "local", "path"); got != v.path+c.get(t, volume, v.name, "status", "uuid") {
			t.Errorf("the path of %s is %s", v.name, got)
		}
		if got := c.get(t, persistent, v.name, "spec", "persistentVolumeReclaimPolicy"); got != "Delete" {
			t.Errorf("the reclaim policy of %s is %s", v.name, got)
		}
	}
	if got := c.get(t, volume, "wide", "status", "conditions"); !strings.Contains(got, "the spec says another place") {
		t.Errorf("a drive in another slot is not told: %s", got)
	}
	c.drive(t, "FAST", map[string]any{"state": "configured", "usable": false, "path": "/dev/sde", "owner": "Volume/fast"})
	c.drive(t, "WIDE", map[string]any{"state": "jbod", "usable": false, "path": "/dev/sdf"})
	for _, v := range n.state(t).Controllers[0].Virtual {
		if v.Drive == "252:4" && (v.Write != "wb" || !strings.HasPrefix(v.Name, "pw-")) {
			t.Errorf("the virtual drive is %+v", v)
		}
	}

	// Deleted: what was on them is gone, the virtual drive is, too, and JBOD stays.
	for _, name := range []string{"fast", "wide"} {
		if err := c.Resource(volume).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"fast", "wide"} {
		await(t, name+" is not gone", func() (bool, string) {
			got := c.get(t, volume, name, "status")
			return strings.Contains(got, "not found") && strings.Contains(c.get(t, persistent, name), "not found"), got
		})
	}
	c.drive(t, "FAST", map[string]any{"state": "unconfigured", "usable": true, "path": nil, "owner": nil})
	c.drive(t, "WIDE", map[string]any{"state": "jbod", "path": "/dev/sdf", "owner": nil})
	for _, serial := range []string{"FAST", "WIDE"} {
		if left := bytes.Trim(n.data(t, serial), "\x00"); len(left) > 0 {
			t.Errorf("%d bytes are left on the drive %s", len(left), serial)
		}
	}
	if !bytes.Equal(n.data(t, "TAKEN"), theirs) {
		t.Error("somebody's drive was written to")
	}
}
