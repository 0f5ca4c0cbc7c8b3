package source_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/poolwright/poolwright/nodeagent/apart"
	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/source"
)

// machineBench is an agent in this process on disks of the virtual machine, which are emptied.
func machineBench(t *testing.T, disks ...*device.Device) *bench {
	t.Helper()
	b := &bench{t: t, folder: tell(t, disks...).folder}
	b.begin()
	return b
}

// TestStoryLocked: whenever LVM writes, the disks of its group are locked, as udev locks them, and LVM has the
// locks itself: they last as long as it runs.
func TestStoryLocked(t *testing.T) {
	one, scsi := machineDisk(t, "VBLK0001"), machineDisk(t, "SCSI0001")
	b := machineBench(t, one, scsi)
	var disks []*device.Device // of the group
	written := map[string]bool{}
	b.engine.Host.Tools.At = func(c host.Command) {
		if c.Name != "lvm" || !c.Writes {
			return
		}
		written[c.Args[0]] = true
		for _, d := range disks {
			lockedFor(t, c, d.Path)
		}
	}
	fast, both := group("fast", "VBLK0001"), group("fast", "VBLK0001", "SCSI0001")
	small, large := logical("data", "fast", "20Mi", api.Filesystem), logical("data", "fast", "40Mi", api.Filesystem)
	disks = []*device.Device{one}
	for _, o := range []operation{{Group: fast}, {Apply: small, FS: "ext4"}} {
		b.do(o)
	}
	disks = append(disks, scsi)
	for _, o := range []operation{{Group: both}, {Apply: large, FS: "ext4"}, {Remove: large}, {Ungroup: both}} {
		b.do(o)
	}
	for _, program := range []string{"vgcreate", "vgextend", "vgremove", "lvcreate", "lvextend", "lvchange", "lvremove"} {
		if !written[program] {
			t.Errorf("%s was never run", program)
		}
	}
}

// TestStoryStuckDisk: a disk that does not answer delays no group but its own, of which nothing is concluded: it
// is neither made again nor taken for removed.
func TestStoryStuckDisk(t *testing.T) {
	one, scsi := machineDisk(t, "VBLK0001"), machineDisk(t, "SCSI0001")
	b := machineBench(t, one, scsi)
	b.engine.Host.Tools.Deadline = 2 * time.Minute
	b.engine.Host.Apart = &apart.Pool{Deadline: time.Minute, Command: func(args ...string) *exec.Cmd {
		cmd := exec.Command("/proc/self/exe", args...)
		cmd.Env = append(os.Environ(), apartEnv+"=1")
		return cmd
	}}
	// A multipath map is the disk under it, and can be suspended.
	shell(t, "dmsetup create mpatha --uuid mpath-35000000000000001 --table \"0 $(blockdev --getsz "+scsi.Path+") linear "+scsi.Path+" 0\"; udevadm settle")
	t.Cleanup(func() {
		shell(t, "dmsetup resume mpatha; udevadm settle; ! lvm vgs slow || lvm vgremove -ff -y slow; dmsetup remove --retry mpatha")
	})
	slow, fast := group("slow"), group("fast", "VBLK0001")
	slow.Spec.Devices = []api.GroupDevice{{DiskID: api.DiskID{WWN: scsi.WWN}}}
	b.do(operation{Group: slow})
	b.do(operation{Apply: logical("left", "slow", "20Mi", api.Filesystem), FS: "ext4"})
	shell(t, "lvm lvchange -an slow/left; udevadm settle; dmsetup suspend --noflush --nolockfs mpatha")

	b.do(operation{Group: fast})
	b.do(operation{Apply: logical("data", "fast", "20Mi", api.Filesystem), FS: "ext4"})
	for _, o := range []operation{
		{Group: slow}, {Ungroup: slow}, {Apply: logical("left", "slow", "20Mi", api.Filesystem), FS: "ext4"},
		{Remove: logical("left", "slow", "20Mi", api.Filesystem)},
	} {
		b.refused(o, guard.RuleUnread, "it does not answer")
	}
	if _, err := b.engine.MarkedGroup(t.Context(), source.GroupRequest{Group: slow}); err == nil {
		t.Error("it is said to be known whether anything of the group is there")
	}
	b.do(operation{Remove: logical("data", "fast", "20Mi", api.Filesystem)})
	b.do(operation{Ungroup: fast})

	// Of itself, LVM waits for it.
	all := exec.Command("lvm", "pvs", "--nolocking")
	if err := all.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- all.Wait() }()
	select {
	case err := <-ended:
		t.Errorf("LVM has looked at all devices: %v", err)
	case <-time.After(15 * time.Second):
	}

	shell(t, "dmsetup resume mpatha; udevadm settle")
	b.awaitAnswers()
	b.do(operation{Apply: logical("left", "slow", "20Mi", api.Filesystem), FS: "ext4"})
	b.do(operation{Remove: logical("left", "slow", "20Mi", api.Filesystem)})
	b.do(operation{Ungroup: slow})
	if _, err := os.Stat(filepath.Join(b.folder, "journal", "VolumeGroup_slow.json")); err == nil {
		t.Error("the group has left a journal")
	}
}

// awaitAnswers waits until no device owes the agent an answer. The controller gets to know that, and forgets what was.
func (b *bench) awaitAnswers() {
	b.t.Helper()
	devices, err := device.Scan(b.engine.Host)
	if err != nil {
		b.t.Fatal(err)
	}
	stuck := func(d *device.Device) bool { return b.engine.Host.Apart.Stuck(d.ID()) }
	for end := time.Now().Add(10 * time.Minute); slices.ContainsFunc(devices.All, stuck); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatal("a device that answers again is said to be stuck")
		}
	}
	b.engine.Forget()
}
