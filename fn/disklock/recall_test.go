package disklock

import (
	"slices"
	"testing"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

func TestRecall(t *testing.T) {
	ceph := finding.Ref{APIVersion: "ceph.rook.io/v1", Kind: "CephCluster", Namespace: "rook-ceph", Name: "hcs"}
	other := finding.Ref{APIVersion: "ceph.rook.io/v1", Kind: "CephCluster", Namespace: "rook-ceph", Name: "other"}
	first, second := "/dev/disk/by-id/nvme-MODEL_SERIAL12_1", "/dev/disk/by-id/nvme-MODEL_SERIAL12_2"
	slot := "/dev/disk/by-path/pci-0000:00:17.0-ata-2"
	lock := Lock{Disks: []Disk{
		{Holder: ceph, Identity: disk.Identity{WWN: "0xa", Serial: "SERIAL12", Links: []string{first}, Node: "w1"}},
		{Holder: ceph, Identity: disk.Identity{WWN: "0xb", Serial: "SERIAL12", Links: []string{second}, Node: "w1"}},
		{Holder: ceph, Identity: disk.Identity{WWN: "0xc", Node: "w2", Path: slot}},
		{Holder: other, Identity: disk.Identity{WWN: "0xd", Links: []string{first}, Node: "w1"}},
	}}
	read := Read(lock.Make(krm.ID{Group: "hcs.tmax.io", Kind: "HyperCloudStorage", Name: "hcs"}))
	memory := read.Memory()
	for _, c := range []struct {
		name   string
		holder finding.Ref
		hold   disk.Hold
		want   string
	}{
		{"link", ceph, disk.Hold{Identity: disk.ByPath("w1", first)}, "0xa"},
		{"link of another namespace", ceph, disk.Hold{Identity: disk.ByPath("w1", second)}, "0xb"},
		{"path", ceph, disk.Hold{Identity: disk.ByPath("w2", slot)}, "0xc"},
		{"path of another node", ceph, disk.Hold{Identity: disk.ByPath("w1", slot)}, ""},
		{"another object", other, disk.Hold{Identity: disk.ByPath("w1", first)}, "0xd"},
		{"not remembered", ceph, disk.Hold{Identity: disk.ByPath("w1", "/dev/disk/by-id/ata-x")}, ""},
		{"block device", ceph, disk.Hold{Device: inventory.Key{Name: "bd"}, Identity: disk.ByPath("w1", first)}, ""},
	} {
		if got := memory.Recall((&krm.Object{Ref: c.holder}).ID(), c.hold); got.Identity.WWN != c.want {
			t.Errorf("%s: WWN %q, want %q", c.name, got.Identity.WWN, c.want)
		}
	}
}

func TestKnownStays(t *testing.T) {
	ceph := finding.Ref{APIVersion: "ceph.rook.io/v1", Kind: "CephCluster", Name: "hcs"}
	link, added := "/dev/disk/by-id/ata-a", "/dev/disk/by-id/ata-b"
	hold := disk.Hold{Identity: disk.ByPath("w1", link)}
	report := func(wwn, link string, size int64) []*disk.Disk {
		return []*disk.Disk{{Identity: disk.Identity{WWN: wwn, Links: []string{link}}, Entry: &disk.Entry{Size: size}}}
	}
	for _, c := range []struct {
		name  string
		was   disk.Identity
		links []string
	}{
		{"with a WWN", disk.Identity{WWN: "0xa", Links: []string{link}, Node: "w1"}, []string{link}},
		{"by links alone", disk.Identity{Links: []string{link}, Node: "w1"}, []string{link, added}},
	} {
		lock := Lock{Disks: []Disk{{Holder: ceph, Identity: c.was, Size: 10}}}
		got := lock.Memory().Known(ceph, hold, report("", added, 7))
		if !slices.Equal(got.Identity.Links, c.links) || got.Identity.WWN != c.was.WWN || got.Size != 10 || got.Identity.Path != "" {
			t.Errorf("%s: %+v, want links %v and size 10", c.name, got, c.links)
		}
	}
}
