package source_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/mark"
)

// story is one life of one node.
type story struct {
	t      *testing.T
	folder string
}

// tell does one operation, and checks what it is refused for, if anything.
func (s story) tell(o operation, refused string) {
	s.t.Helper()
	s.forget()
	points, _, err := start(s.t, run{Folder: s.folder, Root: "/", Operations: []operation{o}, KillAt: -1})
	if (err == nil) != (refused == "") || err != nil && !strings.Contains(err.Error(), refused) {
		s.t.Fatalf("%v, want %q, after\n%s", err, refused, strings.Join(points, "\n"))
	}
}

// forget makes the next run begin with its first operation.
func (s story) forget() {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.folder, "progress")); err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
}

// says is what a program prints.
func (s story) says(name string, args ...string) string {
	s.t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func tell(t *testing.T, disks ...*device.Device) story {
	reset := emptyDisks(t, disks...)
	s := story{t: t, folder: filepath.Join(t.TempDir(), "agent")}
	reset(s.folder)
	t.Cleanup(func() { reset(s.folder) })
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStoryBlockDevice: a group on a Volume's block device, slices of it, one that is too large, growth of
// an XFS that is in use, none while it has a snapshot, and the group goes last.
func TestStoryBlockDevice(t *testing.T) {
	s := tell(t, machineDisk(t, "SCSI0001"))
	device := raw("device", "SCSI0001", api.Block)
	fast := &api.VolumeGroup{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Spec: api.VolumeGroupSpec{NodeName: "n1", VolumeRef: &api.VolumeRef{Name: "device"}}}
	s.tell(operation{Group: fast}, "there is no Volume device")
	s.tell(operation{Group: fast, Ref: device}, "")
	s.tell(operation{Apply: logical("small", "fast", "304Mi", api.Filesystem), FS: "xfs"}, "")
	s.tell(operation{Apply: logical("large", "fast", "2Gi", api.Filesystem), FS: "ext4"}, "rule space")
	if names := s.says("lvm", "lvs", "--noheadings", "-o", "lv_name", "fast"); strings.TrimSpace(names) != "small" {
		t.Errorf("the group has %q", names)
	}
	// In use, it grows where it is mounted.
	s.says("mount", "/dev/fast/small", "/mnt")
	s.says("sh", "-c", "echo kept > /mnt/file")
	s.says("lvm", "lvcreate", "--snapshot", "-L", "20M", "-n", "snap", "fast/small")
	s.says("udevadm", "settle")
	s.tell(operation{Apply: logical("small", "fast", "304Mi", api.Filesystem), FS: "xfs"}, "both have the mark")
	s.tell(operation{Apply: logical("small", "fast", "400Mi", api.Filesystem), FS: "xfs"}, "has a snapshot")
	s.says("lvm", "lvremove", "-y", "fast/snap")
	s.tell(operation{Apply: logical("small", "fast", "400Mi", api.Filesystem), FS: "xfs"}, "")
	if got := s.says("sh", "-c", "cat /mnt/file; stat -f -c %b /mnt"); !strings.HasPrefix(got, "kept") {
		t.Error(got)
	}
	s.tell(operation{Remove: logical("small", "fast", "400Mi", api.Filesystem), FS: "xfs"}, "rule mounted")
	s.tell(operation{Ungroup: fast, Ref: device}, "small")
	s.says("umount", "/mnt")
	s.tell(operation{Remove: logical("small", "fast", "400Mi", api.Filesystem), FS: "xfs"}, "")
	s.tell(operation{Ungroup: fast, Ref: device}, "")
	if groups := s.says("lvm", "vgs", "--noheadings", "-o", "vg_name", "--select", "vg_name=fast"); strings.TrimSpace(groups) != "" {
		t.Errorf("there is %q", groups)
	}
}

// TestStoryAtRest: where nothing is to be done, LVM is asked once for a group and all that is in it, and a
// volume that somebody has taken away meanwhile is seen nevertheless.
func TestStoryAtRest(t *testing.T) {
	s := tell(t, machineDisk(t, "VBLK0001"))
	fast := group("fast", "VBLK0001")
	all := []operation{{Group: fast}}
	for _, name := range []string{"a", "b", "c"} {
		all = append(all, operation{Apply: logical(name, "fast", "20Mi", api.Filesystem), FS: "ext4"})
	}
	for _, o := range all {
		s.tell(o, "")
	}
	again := func() (asked int, err error) {
		engine, err := run{Folder: s.folder, Root: "/"}.engine(nil)
		if err != nil {
			return 0, err
		}
		engine.Host.Tools.At = func(c host.Command) {
			if c.Name == "lvm" {
				asked++
			}
		}
		for _, o := range all {
			if err := o.do(engine); err != nil {
				return asked, err
			}
		}
		return asked, nil
	}
	if asked, err := again(); err != nil || asked != 1 {
		t.Errorf("LVM was asked %d times, %v", asked, err)
	}
	s.says("lvm", "lvremove", "-y", "fast/b")
	if _, err := again(); err == nil || !strings.Contains(err.Error(), "is gone from the group") {
		t.Errorf("the end of a volume was not seen: %v", err)
	}
}

// TestStoryDevicesFile: on a node whose LVM looks only at the devices of a list, a disk that becomes a group's is
// entered, or the group would not be there after a boot.
func TestStoryDevicesFile(t *testing.T) {
	s := tell(t, machineDisk(t, "SCSI0001"))
	const list = "/etc/lvm/devices/system.devices"
	s.says("sh", "-ec", "mkdir -p /etc/lvm/devices; touch "+list+"; sed -i.was 's/use_devicesfile = 0/use_devicesfile = 1/' /etc/lvm/lvm.conf")
	t.Cleanup(func() { s.says("sh", "-ec", "rm -r /etc/lvm/devices; mv /etc/lvm/lvm.conf.was /etc/lvm/lvm.conf") })
	fast := group("fast", "SCSI0001")
	s.tell(operation{Group: fast}, "")
	s.tell(operation{Apply: logical("data", "fast", "20Mi", api.Filesystem), FS: "ext4"}, "")
	if listed := s.says("cat", list); !strings.Contains(listed, "5000000000000001") {
		t.Errorf("LVM's list has %q", listed)
	}
	s.tell(operation{Remove: logical("data", "fast", "20Mi", api.Filesystem), FS: "ext4"}, "")
	s.tell(operation{Ungroup: fast}, "")
}

// TestStoryPartitions: a partition grows only into the free room behind it, and in use as well.
func TestStoryPartitions(t *testing.T) {
	s := tell(t, machineDisk(t, "NVME0001"))
	one := func(size string) *api.Volume { return part("one", "NVME0001", size, api.Filesystem) }
	two := part("two", "NVME0001", "10Mi", api.Block)
	s.tell(operation{Apply: one("20Mi"), FS: "ext4"}, "")
	s.tell(operation{Apply: two}, "")
	s.tell(operation{Apply: one("21Mi"), FS: "ext4"}, "rule space")
	s.tell(operation{Remove: two}, "")
	uuid := mark.Cluster("test").Of(api.KindVolume, "one", "n1")
	s.says("mount", "/dev/disk/by-partuuid/"+uuid, "/mnt")
	s.says("sh", "-c", "echo kept > /mnt/file")
	s.tell(operation{Apply: one("40Mi"), FS: "ext4"}, "")
	if got := s.says("sh", "-c", "cat /mnt/file; blockdev --getsize64 /dev/disk/by-partuuid/"+uuid); strings.Join(strings.Fields(got), " ") != "kept 41943040" {
		t.Error(got)
	}
	s.says("umount", "/mnt")
	s.tell(operation{Remove: one("40Mi")}, "")
}

// TestStorySparse: a group on a sparse file, to try LVM with; a logical volume of somebody else keeps it.
func TestStorySparse(t *testing.T) {
	s := tell(t, machineDisk(t, "SCSI0001"))
	toy := &api.VolumeGroup{ObjectMeta: metav1.ObjectMeta{Name: "toy"}, Spec: api.VolumeGroupSpec{NodeName: "n1", Sparse: &api.SparseLoopDevice{Size: "64Mi"}}}
	s.tell(operation{Group: toy}, "")
	s.tell(operation{Apply: logical("data", "toy", "20Mi", api.Block)}, "")
	s.says("lvm", "lvcreate", "-Wn", "-L", "20M", "-n", "theirs", "toy")
	s.tell(operation{Remove: logical("data", "toy", "20Mi", api.Block)}, "")
	s.tell(operation{Ungroup: toy}, "theirs")
	// What they leave shows through in the next volume of these extents, and is no reason to stop: not even if
	// it has our mark, as the same Volume's would after it was kept and thrown away.
	uuid := mark.Cluster("test").Of(api.KindVolume, "late", "n1")
	s.says("mkfs.ext4", "-q", "-U", uuid, "-L", "theirs", "/dev/toy/theirs")
	s.says("lvm", "lvremove", "-y", "toy/theirs")
	s.tell(operation{Apply: logical("late", "toy", "20Mi", api.Filesystem), FS: "ext4"}, "")
	if out := s.says("blkid", "-p", "/dev/toy/late"); !strings.Contains(out, uuid) || strings.Contains(out, "theirs") {
		t.Error(out)
	}
	s.tell(operation{Remove: logical("late", "toy", "20Mi", api.Filesystem), FS: "ext4"}, "")
	s.tell(operation{Ungroup: toy}, "")
	if files, err := os.ReadDir(filepath.Join(s.folder, "sparse")); err != nil || len(files) > 0 {
		t.Errorf("%v is left, %v", files, err)
	}
}
