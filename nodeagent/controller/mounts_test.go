package controller

import (
	"os"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
	"github.com/poolwright/poolwright/nodeagent/source"
)

// mountedMachine has the disks sda and sdb, a partition and a logical volume of sda, a loop device, and /dev/fuse.
const mountedMachine = `
-- sys/devices/pci0000:00/host0/target0:0:0/0:0:0:0/block/sda/sda1/dev --
8:1
-- sys/devices/pci0000:00/host0/target0:0:0/0:0:0:0/block/sda/sda1/size --
4096
-- sys/devices/pci0000:00/host0/target0:0:0/0:0:0:0/block/sda/sda1/partition --
1
-- sys/devices/pci0000:00/host0/target0:0:0/0:0:0:0/block/sda/sda1/holders/dm-0 --
-- sys/class/block/sda1 --
-> ../../devices/pci0000:00/host0/target0:0:0/0:0:0:0/block/sda/sda1
-- sys/devices/virtual/block/dm-0/dev --
253:0
-- sys/devices/virtual/block/dm-0/size --
2048
-- sys/devices/virtual/block/dm-0/dm/name --
fast-data
-- sys/devices/virtual/block/dm-0/slaves/sda1 --
-- sys/class/block/dm-0 --
-> ../../devices/virtual/block/dm-0
-- sys/devices/virtual/block/loop0/dev --
7:0
-- sys/devices/virtual/block/loop0/size --
2048
-- sys/class/block/loop0 --
-> ../../devices/virtual/block/loop0
-- sys/dev/block/8:0 --
-> ../../devices/pci0000:00/host0/target0:0:0/0:0:0:0/block/sda
-- sys/dev/block/8:1 --
-> ../../devices/pci0000:00/host0/target0:0:0/0:0:0:0/block/sda/sda1
-- sys/dev/block/8:16 --
-> ../../devices/pci0000:00/host0/target0:0:0/0:0:0:0/block/sdb
-- sys/dev/block/253:0 --
-> ../../devices/virtual/block/dm-0
-- sys/dev/block/7:0 --
-> ../../devices/virtual/block/loop0
-- dev/fuse --
-- proc/1/mountinfo --
`

// objectsOf gives the controller Volumes and a group in all states. Settled ones are not queued after a mount.
func objectsOf(t *testing.T, c *Controller) {
	t.Helper()
	status := func(phase api.Phase, device, message string) api.VolumeStatus {
		return api.VolumeStatus{Phase: phase, DeviceName: device, Conditions: []api.Condition{{Type: "Ready", Message: message}}}
	}
	sparse := api.VolumeSpec{NodeName: "n1", Sparse: &api.SparseLoopDevice{Size: "1Gi"}}
	byID := func(serial string) api.VolumeSpec {
		return api.VolumeSpec{NodeName: "n1", Raw: &api.RawBlockDevice{Disk: &api.DiskID{Serial: serial}}}
	}
	lvm := api.VolumeSpec{NodeName: "n1", LVM: &api.LVMLogicalVolume{VGName: "fast", Size: "1Gi"}}
	deleted := metav1.Now()
	all := map[string]*api.Volume{
		"sparse":      {Spec: sparse, Status: status(api.PhaseAvailable, "loop0", "")},
		"sparse-grow": {Spec: sparse, Status: status(api.PhaseAvailable, "loop0", "the ext4 on it is grown once its root directory is mounted")},
		"sparse-else": {Spec: sparse, Status: status(api.PhaseAvailable, "loop7", "the ext4 on it is grown once its root directory is mounted")},
		"sda":         {Spec: byID("SA"), Status: status(api.PhaseFailed, "", "rule mounted: ...")},
		"sda-deleted": {ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted}, Spec: byID("SA"), Status: status(api.PhaseTerminating, "sdb", "rule mounted: ...")},
		"sda-path":    {Spec: api.VolumeSpec{NodeName: "n1", Partition: &api.PartitionSource{DevicePath: "/dev/sda"}}, Status: status(api.PhaseFailed, "", "rule mounted: ...")},
		"sdb":         {Spec: byID("SB"), Status: status(api.PhaseFailed, "", "rule mounted: ...")},
		"lvm":         {Spec: lvm, Status: status(api.PhaseAvailable, "dm-0", "")},
		"lvm-failed":  {Spec: lvm, Status: status(api.PhaseFailed, "", "rule group: ...")},
		"other-node":  {Spec: api.VolumeSpec{NodeName: "n2", Sparse: sparse.Sparse}},
	}
	for name, v := range all {
		v.Name = name
	}
	c.volumes = stored(t, all)
	c.groups = stored(t, map[string]*api.VolumeGroup{
		"fast": {ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Spec: api.VolumeGroupSpec{NodeName: "n1"}, Status: api.VolumeGroupStatus{
			Phase: api.PhaseAvailable, Conditions: []api.Condition{{Type: "Ready"}},
		}},
	})
}

// TestMounted checks which objects are queued when the mounts of the node have changed.
func TestMounted(t *testing.T) {
	const (
		root = "1 0 8:2 / / rw - ext4 /dev/root rw\n"
		sda1 = "30 1 8:1 / /mnt rw - ext4 /dev/sda1 rw\n"
		sdb  = "31 1 8:16 / /srv rw - xfs /dev/sdb rw\n"
		loop = "32 1 7:0 / /var/lib/kubelet/pods/1/volumes/data rw - ext4 /dev/loop0 rw\n"
		lv   = "33 1 253:0 / /mnt rw - ext4 /dev/mapper/fast-data rw\n"
	)
	onSDA := []string{"Volume/lvm-failed", "Volume/sda", "Volume/sda-deleted", "Volume/sda-path"}
	onLoop := []string{"Volume/lvm-failed", "Volume/sparse-grow"}
	everything := []string{
		"Volume/lvm", "Volume/lvm-failed", "Volume/other-node", "Volume/sda", "Volume/sda-deleted", "Volume/sda-path", "Volume/sdb", "Volume/sparse", "Volume/sparse-else",
		"Volume/sparse-grow", "VolumeGroup/fast", "inventory",
	}
	for _, test := range []struct {
		what, before, after string
		want                []string
	}{
		{"nothing", sda1, sda1, nil},
		{"the order of lines", sda1 + sdb, sdb + sda1, nil},
		{"memory", "", "40 1 0:50 / /run/user/0 rw - tmpfs tmpfs rw\n", nil},
		{"a layer of a container", "", "41 1 0:51 / /run/containerd/1/rootfs rw - overlay overlay rw\n", nil},
		{"FUSE", "", "42 1 0:52 / /run/user/0/doc rw - fuse /dev/fuse rw\n", nil},
		{"a Volume that is in order, and one that waits for the mount", "", loop, onLoop},
		{"a Volume that is unmounted", loop, "", onLoop},
		{"a partition", "", sda1, append(slices.Clone(onSDA), "inventory")},
		{"a partition that is unmounted", sda1, "", append(slices.Clone(onSDA), "inventory")},
		{"a second mount at the same place", sda1, sda1 + sda1, append(slices.Clone(onSDA), "inventory")},
		{"a disk", "", sdb, []string{"Volume/lvm-failed", "Volume/sdb", "inventory"}},
		{"a logical volume", "", lv, onSDA},
		{"a logical volume that the system uses", "", strings.ReplaceAll(lv, "/mnt", "/var/lib/docker"), append(slices.Clone(onSDA), "inventory")},
		{"btrfs, which has a number of its own", "", "43 1 0:53 / /data rw - btrfs /dev/gone rw\n", everything},
		{"a device that is not known", "", "44 1 9:9 / /data rw - ext4 /dev/md9 rw\n", everything},
		{"the folder of sparse files", "", "45 1 0:54 / /var/lib/poolwright/sparse rw - nfs server:/x rw\n", everything},
		{"a folder over that of sparse files", "46 1 8:16 / /var/lib rw - xfs /dev/sdb rw\n", "", everything},
		{"a table that is not understood", "", "1 2\n", everything},
	} {
		h := fixture.Machine(t, fixture.Disk("sda", "8:0", "naa.5000c50000000001", "SA")+fixture.Disk("sdb", "8:16", "naa.5000c50000000002", "SB")+mountedMachine)
		mounts := func(lines string) {
			t.Helper()
			if err := os.WriteFile(h.Path("/proc/1/mountinfo"), []byte(root+lines), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		c := &Controller{Engine: &source.Engine{Host: h, Node: "n1", Folder: "/var/lib/poolwright"}, Node: "n1", queue: newQueue()}
		objectsOf(t, c)
		mounts(test.before)
		c.everything()
		c.synced.Store(true)
		c.queue = newQueue()
		mounts(test.after)
		c.mounted()
		got := slices.Sorted(slices.Values(c.queue.waiting))
		if !slices.Equal(got, slices.Sorted(slices.Values(test.want))) {
			t.Errorf("%s: %v are queued, want %v", test.what, got, test.want)
		}
		c.queue = newQueue()
		if c.mounted(); c.mounts != nil && len(c.queue.waiting) > 0 {
			t.Errorf("%s: they are queued again: %v", test.what, c.queue.waiting)
		}
	}
}
