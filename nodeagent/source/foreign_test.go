package source_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/source"
)

// sum is the checksum of a device.
func (s story) sum(device string) string {
	s.t.Helper()
	return strings.Fields(s.says("sha256sum", device))[0]
}

// configured changes LVM's configuration until the test ends.
func (s story) configured(change string) {
	s.t.Helper()
	s.says("sh", "-ec", "cp /etc/lvm/lvm.conf /etc/lvm/lvm.conf.was; "+change)
	s.t.Cleanup(func() {
		s.says("sh", "-ec", "mv /etc/lvm/lvm.conf.was /etc/lvm/lvm.conf; rm -f /etc/lvm/lvmlocal.conf")
	})
}

// TestStoryClone: a group is not removed while a copy of its disk exists that LVM's filter hides. No byte of the
// copy changes.
func TestStoryClone(t *testing.T) {
	one, scsi := machineDisk(t, "VBLK0001"), machineDisk(t, "SCSI0001")
	s := tell(t, one, scsi)
	fast := group("fast", "VBLK0001")
	s.tell(operation{Group: fast}, "")
	s.says("sh", "-ec", "dd if="+one.Path+" of="+scsi.Path+" bs=1M conv=fsync; udevadm settle")
	s.configured(`sed -i 's|^devices {|devices { global_filter = [ "r/.*sd.*/" ]|' /etc/lvm/lvm.conf`)
	before, own := s.sum(scsi.Path), s.sum(one.Path)
	s.tell(operation{Ungroup: fast}, "both have the physical volume")
	if s.sum(scsi.Path) != before || s.sum(one.Path) != own {
		t.Error("a disk or its copy was written to")
	}
	s.says("sh", "-ec", "blkdiscard -z "+scsi.Path+"; udevadm settle")
	s.tell(operation{Ungroup: fast}, "")
}

// TestStoryCloneLater: the copy comes once the group is removed, and before the labels are.
func TestStoryCloneLater(t *testing.T) {
	one, scsi := machineDisk(t, "VBLK0001"), machineDisk(t, "SCSI0001")
	s := tell(t, one, scsi)
	fast := group("fast", "VBLK0001")
	s.tell(operation{Group: fast}, "")
	s.forget()
	points, killed, err := start(t, run{Folder: s.folder, Root: "/", Operations: []operation{{Ungroup: fast}}, KillAt: 5})
	if err != nil || !killed || !strings.Contains(points[len(points)-1], "remove-group") {
		t.Fatalf("%v, %v", points, err)
	}
	s.says("sh", "-ec", "dd if="+one.Path+" of="+scsi.Path+" bs=1M conv=fsync; udevadm settle")
	before := s.sum(scsi.Path)
	s.tell(operation{Ungroup: fast}, "both have the physical volume")
	s.says("sh", "-ec", "blkdiscard -z "+one.Path+"; udevadm settle")
	s.tell(operation{Ungroup: fast}, "") // its own label is gone, and that of the copy is not ours
	if s.sum(scsi.Path) != before {
		t.Error("the copy was written to")
	}
}

// TestStoryForged: a group with our mark on a disk that is not declared is not ours; what a tenant puts on his
// volume of mode Block is not looked at at all.
func TestStoryForged(t *testing.T) {
	one, scsi := machineDisk(t, "VBLK0001"), machineDisk(t, "SCSI0001")
	s := tell(t, one, scsi)
	tag := mark.Tag(mark.Cluster("test").Of(api.KindVolumeGroup, "fast", "n1"))
	fast := group("fast", "VBLK0001")
	s.says("lvm", "vgcreate", "--addtag", tag, "fast", scsi.Path)
	moved := s.sum(scsi.Path)
	s.tell(operation{Group: fast}, "rule group: the volume group fast (UUID ")
	s.tell(operation{Ungroup: fast}, "is no declared device of this VolumeGroup")
	if s.sum(scsi.Path) != moved {
		t.Error("a disk with a forged mark was written to")
	}
	s.says("sh", "-ec", "lvm vgremove -ff -y fast; blkdiscard -z "+scsi.Path+"; udevadm settle")

	block := raw("block", "SCSI0001", api.Block)
	s.tell(operation{Apply: block}, "")
	guest := "/dev/disk/by-partuuid/" + mark.Cluster("test").Of(api.KindVolume, "block", "n1")
	s.says("lvm", "vgcreate", "--addtag", tag, "fast", guest)
	theirs := s.sum(guest)
	s.tell(operation{Group: fast}, "")
	s.tell(operation{Apply: logical("data", "fast", "20Mi", api.Block)}, "")
	s.tell(operation{Remove: logical("data", "fast", "20Mi", api.Block)}, "")
	s.tell(operation{Ungroup: fast}, "")
	if s.sum(guest) != theirs {
		t.Error("the tenant's group was written to")
	}
	if got := strings.TrimSpace(s.says("lvm", "pvs", "--noheadings", "-o", "vg_name", guest)); got != "fast" {
		t.Errorf("the tenant's group is %q", got)
	}
}

// TestStorySystemID: a group that LVM has given the system ID of this host is its own.
func TestStorySystemID(t *testing.T) {
	s := tell(t, machineDisk(t, "VBLK0001"))
	s.configured(`sed -i 's|system_id_source = "none"|system_id_source = "lvmlocal"|' /etc/lvm/lvm.conf; echo 'local { system_id = "node1" }' >/etc/lvm/lvmlocal.conf`)
	fast := group("fast", "VBLK0001")
	s.tell(operation{Group: fast}, "")
	if got := strings.TrimSpace(s.says("lvm", "vgs", "--noheadings", "-o", "vg_systemid", "fast")); got != "node1" {
		t.Fatalf("the group is of the system %q", got)
	}
	s.tell(operation{Apply: logical("data", "fast", "20Mi", api.Block)}, "")
	s.tell(operation{Remove: logical("data", "fast", "20Mi", api.Block)}, "")
	s.tell(operation{Ungroup: fast}, "")
}

// TestStoryOpen: a logical volume that somebody has open, or through a loop device over its node, is not erased.
func TestStoryOpen(t *testing.T) {
	s := tell(t, machineDisk(t, "VBLK0001"))
	s.tell(operation{Group: group("fast", "VBLK0001")}, "")
	data := logical("data", "fast", "20Mi", api.Block)
	s.tell(operation{Apply: data}, "")
	b := &bench{t: t, folder: s.folder}
	b.begin()
	refused := func(rule guard.Rule, text string) {
		t.Helper()
		before := s.sum("/dev/fast/data")
		err := b.engine.Remove(context.Background(), source.Request{Volume: data})
		var refusal guard.Refusal
		if !errors.As(err, &refusal) || refusal.Rule != rule || !strings.Contains(refusal.Text, text) {
			t.Errorf("%v, want the rule %s and %q", err, rule, text)
		}
		if s.sum("/dev/fast/data") != before {
			t.Errorf("it was written to: %v", err)
		}
	}
	s.says("sh", "-ec", "dd if=/dev/urandom of=/dev/fast/data bs=1M count=1 conv=fsync")
	user, err := os.OpenFile("/dev/fast/data", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	refused(guard.RuleClaimed, "is open (1 times)")
	if err := user.Close(); err != nil {
		t.Fatal(err)
	}
	end := b.export("fast/data")
	refused(guard.RuleExported, "is under /dev/loop")
	end()
	s.tell(operation{Remove: data}, "")
	s.tell(operation{Ungroup: group("fast", "VBLK0001")}, "")
}

// TestStoryLost: without its journal the agent still erases what it removes, in a group and outside, and removes
// the group.
func TestStoryLost(t *testing.T) {
	one := machineDisk(t, "VBLK0001")
	s := tell(t, one)
	fast, data := group("fast", "VBLK0001"), logical("data", "fast", "20Mi", api.Block)
	s.tell(operation{Group: fast}, "")
	s.tell(operation{Apply: data}, "")
	s.says("sh", "-ec", "rm -r "+s.folder+"/journal")
	b := &bench{t: t, folder: s.folder}
	b.begin()
	for _, v := range []*api.Volume{data, {ObjectMeta: metav1.ObjectMeta{Name: "never"}, Spec: data.Spec}} {
		marked, err := b.engine.Marked(context.Background(), source.Request{Volume: v})
		if err != nil || marked != (v.Name == "data") {
			t.Errorf("Volume/%s is marked: %t, %v", v.Name, marked, err)
		}
	}
	marked, err := b.engine.MarkedGroup(context.Background(), source.GroupRequest{Group: fast})
	if err != nil || !marked {
		t.Errorf("the group is marked: %t, %v", marked, err)
	}
	s.tell(operation{Remove: data}, "")
	s.tell(operation{Ungroup: fast}, "")
	if groups := s.says("lvm", "vgs", "--noheadings", "-o", "vg_name", "--select", "vg_name=fast"); strings.TrimSpace(groups) != "" {
		t.Errorf("there is %q", groups)
	}
}
