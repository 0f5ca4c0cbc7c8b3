package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// lostByBoot are the kinds of steps that a boot undoes, or does itself: it takes loop devices off
// files, activates what is in a group, and reads partition tables.
func lostByBoot() []string {
	return []string{"attach-loop", "activate", "deactivate", "announce-partition"}
}

// lives is what the virtual machine has over two boots.
func lives() []operation {
	return []operation{
		{Apply: raw("disk", "SCSI0001", api.Filesystem), FS: "xfs"},
		{Apply: raw("block", "NVME0001", api.Block)},
		{Apply: raw("third", "VBLK0001", api.Filesystem), FS: "ext4"},
		{Apply: sparse("file", "40Mi", api.Filesystem), FS: "ext4"},
		{Group: &api.VolumeGroup{ObjectMeta: metav1.ObjectMeta{Name: "toy"}, Spec: api.VolumeGroupSpec{NodeName: "n1", Sparse: &api.SparseLoopDevice{Size: "64Mi"}}}},
		{Apply: logical("slice", "toy", "20Mi", api.Filesystem), FS: "ext4"},
	}
}

// TestBootFirst makes volumes, and leaves them for the next boot.
func TestBootFirst(t *testing.T) {
	for _, serial := range []string{"SCSI0001", "NVME0001", "VBLK0001"} {
		machineDisk(t, serial)
	}
	folder := stateFolder(t, "first")
	if points := boot(t, folder); len(points) == 0 {
		t.Error("nothing was done")
	}
	machineDisk(t, "SCSI0002")
	s := story{t, folder}
	s.tell(operation{Group: group("wide", "SCSI0002")}, "")
	s.tell(operation{Apply: logical("data", "wide", "20Mi", api.Filesystem), FS: "ext4"}, "")
}

// TestBootSecond runs after a boot with the disks attached in another order, and on a node
// whose journal is gone, as one that was reinstalled: all is known by its marks. Files get their loop
// devices, one each, and nothing is written.
func TestBootSecond(t *testing.T) {
	machineDisk(t, "SCSI0001")
	folder := stateFolder(t, "second")
	if err := os.Rename("/state/first/sparse", filepath.Join(folder, "sparse")); err != nil {
		t.Fatal(err)
	}
	attached := 0
	for _, point := range boot(t, folder) {
		fields := strings.Fields(point)
		if !slices.Contains(lostByBoot(), fields[2]) {
			t.Errorf("after a boot: %s", point)
		}
		if fields[2] == "attach-loop" && fields[3] == "ended" {
			attached++
		}
	}
	if attached != 2 {
		t.Errorf("%d files were attached, want 2", attached)
	}
	grown(t, folder, "wide", machineDisk(t, "SCSI0002"))
}

// attachUnit is where the virtual machine has deploy/nodeagent/poolwright-attach.service.
const attachUnit = "/etc/systemd/system/poolwright-attach.service"

// TestBootUnit runs after another boot what the unit runs before kubelet starts: the links of the PersistentVolumes on
// sparse files are there before an agent is, with their data, and the agent has nothing to attach.
func TestBootUnit(t *testing.T) {
	machineDisk(t, "SCSI0001")
	folder := stateFolder(t, "second")
	link := "/dev/disk/by-uuid/" + mark.Cluster("test").Of(api.KindVolume, "file", "n1")
	if _, err := os.Stat(link); err == nil {
		t.Fatalf("%s is there before the unit runs", link)
	}
	shell(t, "mkdir -p /var/lib/poolwright; mount --bind "+folder+" /var/lib/poolwright")
	for _, line := range unitCommands(t) {
		t.Log(line)
		t.Log(shell(t, line))
	}
	files, err := os.ReadDir(filepath.Join(folder, "sparse"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		if out := shell(t, "losetup --associated /var/lib/poolwright/sparse/"+file.Name()); strings.Count(out, "/dev/loop") != 1 {
			t.Errorf("%s has the loop devices %q", file.Name(), out)
		}
	}
	for _, args := range [][]string{{"mount", link, "/mnt"}, {"umount", "/mnt"}} { // as kubelet does
		if err := patiently(args[0], args[1:]...); err != nil {
			t.Fatal(err)
		}
	}
	story{t, folder}.forget()
	for _, point := range boot(t, folder) {
		if kind := strings.Fields(point)[2]; kind == "attach-loop" || !slices.Contains(lostByBoot(), kind) {
			t.Errorf("after the unit: %s", point)
		}
	}
}

// unitCommands are what systemd runs for the unit, in its order, as lines of a shell. Where a condition of the unit
// does not hold, systemd runs nothing.
func unitCommands(t *testing.T) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(attachUnit)
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case key == "ConditionPathIsDirectory":
			if info, err := os.Stat(value); err != nil || !info.IsDir() {
				t.Fatalf("%s does not hold: %v", line, err)
			}
		case strings.HasPrefix(key, "Exec"):
			if ignored, may := strings.CutPrefix(value, "-"); may {
				value = ignored + " || true"
			}
			commands[key] = append(commands[key], value)
		}
	}
	for _, key := range []string{"ExecStartPre", "ExecStart", "ExecStartPost"} {
		lines = append(lines, commands[key]...)
		delete(commands, key)
	}
	if len(lines) < 2 || len(commands) > 0 {
		t.Fatalf("%s runs %q, and %v", attachUnit, lines, commands)
	}
	return lines
}

// grown holds that a group on a disk that has become larger gets the room, while its volumes are in use, and once.
func grown(t *testing.T, folder, name string, disk *device.Device) {
	t.Helper()
	s := story{t, folder}
	size := func() int64 {
		n, err := strconv.ParseInt(strings.TrimSpace(s.says("lvm", "vgs", "--noheadings", "--nosuffix", "--units", "b", "-o", "vg_size", name)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if had := size(); had > disk.Size-64<<20 {
		t.Fatalf("the group has %d bytes already, of %d", had, disk.Size)
	}
	s.says("lvm", "lvchange", "-ay", name+"/data")
	s.says("mount", "/dev/"+name+"/data", "/mnt")
	defer s.says("umount", "/mnt")
	r := run{Folder: folder, Root: "/", Operations: []operation{{Group: group(name, disk.Serial)}}, KillAt: -1}
	for _, want := range []int{1, 0} {
		s.forget()
		points, _, err := start(t, r)
		if err != nil {
			t.Fatalf("%v\n%s", err, strings.Join(points, "\n"))
		}
		ended := 0
		for _, point := range points {
			if strings.HasSuffix(point, " grow-physical-volume ended") {
				ended++
			}
		}
		if ended != want || len(points) != want*len(step.Points()) {
			t.Errorf("%d growths, want %d: %v", ended, want, points)
		}
	}
	if has := size(); has < disk.Size-16<<20 {
		t.Errorf("the group has %d bytes of %d", has, disk.Size)
	}
}

// stateFolder is a folder of the agent's on a disk of its own, which a boot leaves.
func stateFolder(t *testing.T, name string) string {
	t.Helper()
	state := machineDisk(t, "STATE001")
	shell(t, "mkdir -p /state; mountpoint -q /state && exit; blkid -p "+state.Path+" || mkfs.ext4 -q "+state.Path+"; mount "+state.Path+" /state")
	folder := filepath.Join("/state", name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestReboot takes one step of each of two lifetimes, and leaves the rest for the next boot.
func TestReboot(t *testing.T) {
	fast, both := group("fast", "VBLK0001"), group("fast", "VBLK0001", "SCSI0001")
	one, data := part("one", "NVME0001", "20Mi", api.Filesystem), logical("data", "fast", "90Mi", api.Filesystem)
	left, remains := 0, ""
	for _, life := range []struct {
		name       string
		disks      []string
		operations []operation
	}{
		{"group", []string{"VBLK0001", "SCSI0001"}, []operation{
			{Group: fast}, {Apply: logical("data", "fast", "50Mi", api.Filesystem), FS: "ext4"},
			{Group: both}, {Apply: data, FS: "ext4"}, {Remove: data}, {Ungroup: both},
		}},
		{"partition", []string{"NVME0001"}, []operation{{Apply: one, FS: "ext4"}, {Remove: one}}},
	} {
		folder := stateFolder(t, life.name)
		var names []string
		for _, serial := range life.disks {
			names = append(names, machineDisk(t, serial).Name)
		}
		points, killed, err := start(t, run{Folder: folder, Root: "/", KillAt: -1, OneStep: true, Operations: life.operations})
		if err != nil {
			t.Fatalf("%v\n%s", err, strings.Join(points, "\n"))
		}
		if killed {
			left++
			fmt.Println("STEP", points[len(points)-1])
		}
		remains += summary(t, folder, names...)
	}
	if left > 0 {
		return
	}
	for line := range strings.Lines(remains) {
		if !strings.HasSuffix(strings.TrimSpace(line), "[] <nil>") && !strings.HasSuffix(strings.TrimSpace(line), "[] <nil> zero true") {
			t.Errorf("it is left: %s", line)
		}
	}
	fmt.Println("nothing is left to do")
}

func boot(t *testing.T, folder string) []string {
	t.Helper()
	points, _, err := start(t, run{Folder: folder, Root: "/", Operations: lives(), KillAt: -1})
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(points, "\n"))
	}
	return points
}
