package source_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/host"
)

// inMachine is set in the virtual machine of test/vm, whose disks are there to be written.
const inMachine = "POOLWRIGHT_TEST_MACHINE"

// machineDisk is the name of a disk of the virtual machine. Nowhere else is a disk touched.
func machineDisk(t *testing.T, serial string) *device.Device {
	t.Helper()
	if os.Getenv(inMachine) == "" {
		t.Skip("skipped: it writes to disks, in the virtual machine of make test-vm alone")
	}
	devices, err := device.Scan(host.New("/"))
	if err != nil {
		t.Fatal(err)
	}
	found := devices.Candidates(device.Identity{Serial: serial})
	if len(found) != 1 {
		t.Fatalf("%d disks have the serial number %s", len(found), serial)
	}
	return found[0]
}

func raw(name, serial, mode string) *api.Volume {
	return &api.Volume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       api.VolumeSpec{NodeName: "n1", Mode: mode, Raw: &api.RawBlockDevice{Disk: &api.DiskID{Serial: serial}}},
	}
}

func part(name, serial, size, mode string) *api.Volume {
	return &api.Volume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       api.VolumeSpec{NodeName: "n1", Mode: mode, Partition: &api.PartitionSource{Disk: &api.DiskID{Serial: serial}, Size: api.Quantity(size)}},
	}
}

func logical(name, group, size, mode string) *api.Volume {
	return &api.Volume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       api.VolumeSpec{NodeName: "n1", Mode: mode, LVM: &api.LVMLogicalVolume{VGName: group, Size: api.Quantity(size)}},
	}
}

func group(name string, serials ...string) *api.VolumeGroup {
	g := &api.VolumeGroup{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: api.VolumeGroupSpec{NodeName: "n1", Tags: map[string]string{"tier": "fast"}}}
	for _, serial := range serials {
		g.Spec.Devices = append(g.Spec.Devices, api.GroupDevice{DiskID: api.DiskID{Serial: serial}})
	}
	return g
}

// emptyDisks takes every group of LVM and every content off disks of the virtual machine.
func emptyDisks(t *testing.T, disks ...*device.Device) func(string) {
	return func(folder string) {
		script := `! mountpoint -q /mnt || umount /mnt; for vg in $(lvm vgs --noheadings -o vg_name --select 'vg_name!=bait'); do lvm vgremove -ff -y $vg; done`
		for _, d := range disks {
			script += fmt.Sprintf("; for p in %[1]s?*; do [ -b $p ] && blockdev --flushbufs $p; done; "+
				"blkdiscard -z %[1]s; blockdev --rereadpt %[1]s", d.Path)
		}
		out, err := exec.Command("sh", "-c", script+"; udevadm settle").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		dropLoops(t)(folder)
	}
}

// TestCrashDisks kills the agent at every point of making and removing volumes on disks.
func TestCrashDisks(t *testing.T) {
	one := machineDisk(t, "VBLK0001")
	scsi := machineDisk(t, "SCSI0001")
	nvme := machineDisk(t, "NVME0001")
	total := 0
	for _, test := range []struct {
		name  string
		disks []*device.Device
		ops   []operation
	}{
		{"raw ext4", []*device.Device{one}, []operation{{Apply: raw("data", "VBLK0001", api.Filesystem), FS: "ext4"}, {Remove: raw("data", "VBLK0001", api.Filesystem)}}},
		{"raw xfs", []*device.Device{scsi}, []operation{{Apply: raw("data", "SCSI0001", api.Filesystem), FS: "xfs"}}},
		{"raw block", []*device.Device{nvme}, []operation{{Apply: raw("data", "NVME0001", api.Block)}, {Use: raw("data", "NVME0001", api.Block)}, {Remove: raw("data", "NVME0001", api.Block)}}},
		{"group and volume", []*device.Device{one, scsi}, []operation{
			{Group: group("fast", "VBLK0001")}, {Apply: logical("data", "fast", "50Mi", api.Filesystem), FS: "ext4"},
			{Group: group("fast", "VBLK0001", "SCSI0001")}, {Apply: logical("data", "fast", "90Mi", api.Filesystem), FS: "ext4"},
			{Remove: logical("data", "fast", "90Mi", api.Filesystem)}, {Ungroup: group("fast", "VBLK0001", "SCSI0001")},
		}},
		{"partitions", []*device.Device{nvme}, []operation{
			{Apply: part("one", "NVME0001", "20Mi", api.Filesystem), FS: "ext4"}, {Apply: part("two", "NVME0001", "10Mi", api.Block)},
			{Use: part("two", "NVME0001", "10Mi", api.Block)},
			{Remove: part("one", "NVME0001", "20Mi", api.Filesystem)}, {Apply: part("two", "NVME0001", "20Mi", api.Block)},
			{Remove: part("two", "NVME0001", "20Mi", api.Block)},
		}},
		{"logical block", []*device.Device{one}, []operation{
			{Group: group("fast", "VBLK0001")}, {Apply: logical("data", "fast", "50Mi", api.Block)}, {Release: logical("data", "fast", "50Mi", api.Block)},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var names []string
			for _, d := range test.disks {
				names = append(names, d.Name)
			}
			total += stutter(t, test.ops, emptyDisks(t, test.disks...), names...)
		})
	}
	t.Logf("%d crash points on disks", total)
}

// TestAdoption: a filesystem that MetalK8s made is that of the Volume with its UID, of another
// one only by the annotation, and of none while a copy of it is there.
func TestAdoption(t *testing.T) {
	one, scsi := machineDisk(t, "VBLK0001"), machineDisk(t, "SCSI0001")
	reset := emptyDisks(t, one, scsi)
	folder := filepath.Join(t.TempDir(), "agent")
	reset(folder)
	t.Cleanup(func() { reset(folder) })
	const uid = "11111111-2222-4333-8444-555555555555"
	shell := func(script string) {
		t.Helper()
		if out, err := exec.Command("sh", "-c", script+"; udevadm settle").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	shell("mkfs.ext4 -q -U " + uid + " " + scsi.Path)
	other, same, annotated := raw("data", "SCSI0001", api.Filesystem), raw("data", "SCSI0001", api.Filesystem), raw("data", "SCSI0001", api.Filesystem)
	other.UID, same.UID = "99999999-2222-4333-8444-555555555555", uid
	annotated.Annotations = map[string]string{api.AdoptAnnotation: uid}
	for _, test := range []struct {
		name   string
		volume *api.Volume
		want   string
	}{
		{"another UID", other, "rule content"}, {"the UID", same, ""}, {"annotated", annotated, ""}, {"copied", same, "rule twin"},
	} {
		if test.name == "copied" {
			shell(fmt.Sprintf("dd if=%s of=%s bs=1M", scsi.Path, one.Path))
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		points, _, err := start(t, run{Folder: folder, Root: "/", Operations: []operation{{Apply: test.volume, FS: "ext4"}}, KillAt: -1})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		if len(points) > 0 {
			t.Errorf("%s: steps were taken: %v", test.name, points)
		}
	}
}

// TestBaitsAreLeft holds that the disks with somebody's data are refused, each for what is
// on it, as a whole disk, for a group, and in both modes.
func TestBaitsAreLeft(t *testing.T) {
	baits, err := filepath.Glob("/dev/disk/by-id/*BAIT*")
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(inMachine) == "" {
		t.Skip("skipped: its disks are in the virtual machine of make test-vm")
	}
	serials := map[string]bool{}
	for _, link := range baits {
		if serial := link[strings.LastIndex(link, "BAIT"):]; len(serial) == 8 {
			serials[serial] = true
		}
	}
	if len(serials) < 8 {
		t.Fatalf("there are %d baits: %v", len(serials), baits)
	}
	refused := 0
	for serial := range serials {
		for _, op := range []operation{
			{Apply: raw("bait", serial, api.Filesystem), FS: "ext4"}, {Apply: raw("bait", serial, api.Filesystem), FS: "xfs"},
			{Apply: raw("bait", serial, api.Block)}, {Group: group("bait2", serial)},
		} {
			folder := filepath.Join(t.TempDir(), "agent")
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			points, _, err := start(t, run{Folder: folder, Root: "/", Operations: []operation{op}, KillAt: -1})
			if err == nil || !strings.Contains(err.Error(), "rule ") {
				t.Errorf("%s was not refused: %v", serial, err)
			}
			if slices.ContainsFunc(points, func(p string) bool { return strings.HasSuffix(p, "begun") }) {
				t.Errorf("%s: a step was begun: %v", serial, points)
			}
			refused++
		}
	}
	t.Logf("%d baits refused in %d attempts", len(serials), refused)
}
