package disk_test

import (
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/disk"
)

// node and nodes are the reports that the tests of this file combine.
const nodes = `
apiVersion: v1
kind: Node
metadata: {name: a, labels: {kubernetes.io/hostname: host-a}}
---
apiVersion: v1
kind: Node
metadata: {name: w9, labels: {kubernetes.io/hostname: w9}}
`

// device is a BlockDevice d on host-a, with further fields of its spec.
func device(name, details, links string) string {
	return `
apiVersion: openebs.io/v1alpha1
kind: BlockDevice
metadata: {name: ` + name + `, namespace: openebs, labels: {kubernetes.io/hostname: host-a}}
spec:
  path: /dev/sdb
  capacity: {storage: 1000}
  details: {deviceType: disk, ` + details + `}
  devlinks: [{kind: by-id, links: [` + links + `]}]
status: {state: Active, claimState: Unclaimed}
`
}

// inventoryOf is the NodeInventory of a node.
func inventoryOf(node string, disks ...string) string {
	text := "\napiVersion: poolwright.io/v1alpha1\nkind: NodeInventory\nmetadata: {name: " + node + "}\nstatus:\n  disks:\n"
	for _, d := range disks {
		if !strings.Contains(d, "size:") {
			d += ", size: 1000"
		}
		text += "  - {usable: true, " + d + "}\n"
	}
	return text
}

// Each pair of reports is of one disk: what holds the first holds the second.
func TestOneDisk(t *testing.T) {
	tests := []struct{ name, device, entry string }{
		{"the WWN as serial number", device("d", "serial: 5000C500A1B2C3D4", ""), "path: /dev/sdc, wwn: 0x5000c500a1b2c3d4"},
		{"the WWN as scsi_id prints it", device("d", "serial: 35000c500a1b2c3d4", ""), "path: /dev/sdc, wwn: naa.5000C500A1B2C3D4"},
		{"a multipath link", device("d", "vendor: x", "/dev/disk/by-id/dm-uuid-mpath-35000c500a1b2c3d4"), "path: /dev/sdc, wwn: 0x5000c500a1b2c3d4"},
		{"an NVMe multipath link", device("d", "vendor: x", "/dev/disk/by-id/dm-uuid-mpath-eui.0025385A91B0C2F1"), "path: /dev/nvme0n1, links: [/dev/disk/by-id/nvme-eui.0025385a91b0c2f1]"},
		{"an EUI-64 behind SCSI", device("d", "vendor: x", "/dev/disk/by-id/scsi-20025385a91b0c2f1"), "path: /dev/sdc, wwn: eui.0025385a91b0c2f1"},
		{"a UUID of an NVMe namespace", device("d", "vendor: x", "/dev/disk/by-id/nvme-uuid.6C2A"), "path: /dev/sdc, links: [/dev/disk/by-id/nvme-uuid.6c2a]"},
		{"a link with the serial number", device("d", "vendor: x", "/dev/disk/by-id/ata-WDC_WD40_WD-WCC4E1"), "path: /dev/sdc, serial: WD-WCC4E1"},
		{"the first namespace", device("d", "vendor: x", "/dev/disk/by-id/nvme-Samsung_990_S4EWNX0R1"), "path: /dev/nvme0n1, links: [/dev/disk/by-id/nvme-Samsung_990_S4EWNX0R1_1]"},
		{"twenty characters of a volume's UUID", device("d", "vendor: x", "/dev/disk/by-id/virtio-1f4b0a52-9a37-4c0e-9"), "path: /dev/vdb, serial: 1f4b0a52-9a37-4c0e-9f10-0c3b6a2f7e55"},
		{"spaces in the serial number", device("d", "serial: '  AB 12 '", ""), "path: /dev/sdc, serial: AB_12"},
		{"nothing but the path", device("d", "vendor: x", ""), "path: /dev/sdb, wwn: 0x5000c500a1b2c3d4"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := ledger(t, nodes, test.device, inventoryOf("a", test.entry))
			l.Add(holder("p"), []disk.Hold{{Device: l.Disks()[0].Name()}})
			for _, d := range l.Disks() {
				if l.Verdict(d, disk.Want{}).Of(disk.Held) == "" {
					t.Errorf("%s is not held", d.Ref())
				}
			}
		})
	}
}

// Each pair of reports is of two disks: what holds the first does not speak against the second.
func TestTwoDisks(t *testing.T) {
	tests := []struct{ name, device, entry string }{
		{"namespaces of one controller", device("d", "serial: S1", "/dev/disk/by-id/nvme-eui.0000000000000001"), "path: /dev/nvme0n2, serial: S1, wwn: eui.0000000000000002"},
		{"what lies on them", device("d", "serial: S1", "/dev/disk/by-id/lvm-pv-uuid-abc"), "path: /dev/sdc, serial: T2, links: [/dev/disk/by-id/lvm-pv-uuid-abc]"},
		{"other serial numbers at one path", device("d", "serial: S1", ""), "path: /dev/sdb, serial: T2"},
		{"other sizes at one path", device("d", "vendor: x", ""), "path: /dev/sdb, size: 2000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := ledger(t, nodes, test.device, inventoryOf("a", test.entry))
			if len(l.Disks()) != 2 {
				t.Fatalf("%d disks, want 2", len(l.Disks()))
			}
			l.Add(holder("p"), []disk.Hold{{Device: l.Disks()[0].Name()}})
			if reason := l.Verdict(l.Disks()[1], disk.Want{}).Reason(); reason != "" {
				t.Errorf("refused: %s", reason)
			}
		})
	}
}

// What may be the disk of a hold is refused, and kept by whoever has it.
func TestSuspects(t *testing.T) {
	path := func(node, path string) disk.Hold { return disk.Hold{Identity: disk.ByPath(node, path)} }
	const slot = "/dev/disk/by-path/pci-0000:00:17.0-ata-1"
	const lun = "/dev/disk/by-path/ip-10.0.0.1:3260-iscsi-iqn.2001-04.com.example:t-lun-2"
	tests := []struct {
		name, facts string
		hold        disk.Hold
		want        string // of the last disk
	}{
		{
			"a link that the node does not report", inventoryOf("a", "path: /dev/sdb, serial: S1"), path("a", "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4"),
			"it may be the same disk as /dev/disk/by-id/wwn-0x5000c500a1b2c3d4 on node a (no identifier distinguishes them), which cannot be used: it is taken by the live DiskPool mayastor/p",
		},
		{"a link of another WWN", inventoryOf("a", "path: /dev/sdb, wwn: 0x5000c500a1b2c3d5"), path("a", "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4"), ""},
		{"a link of another serial number", inventoryOf("a", "path: /dev/sdb, serial: TT22-9999"), path("a", "/dev/disk/by-id/ata-M_SS11-9999"), ""},
		{"another slot", inventoryOf("a", "path: /dev/sdb, links: [/dev/disk/by-path/pci-0000:00:17.0-ata-2]"), path("a", slot), ""},
		{"a slot that the node does not report", inventoryOf("a", "path: /dev/sdb, serial: S1"), path("a", slot), "it may be the same disk as " + slot + " on node a (no identifier distinguishes them), which cannot be used: it is taken by the live DiskPool mayastor/p"},
		{
			"a node that is back under another name", inventoryOf("w9", "path: /dev/sdb, links: ["+slot+"]"), path("w1", slot),
			"it may be the same disk as " + slot + " on node w1 (same path, and its node is missing from the inventory), which cannot be used: it is taken by the live DiskPool mayastor/p",
		},
		{
			"a LUN that another node names", inventoryOf("w9", "path: /dev/sdb, serial: S1, links: ["+lun+"]"), path("a", lun),
			"it may be the same disk as " + lun + " on node a (same target and LUN), which cannot be used: it is taken by the live DiskPool mayastor/p",
		},
		{"another LUN of the target", inventoryOf("w9", "path: /dev/sdb, serial: S1, links: ["+lun+"0]"), path("a", lun), ""},
		{"another node that is there", inventoryOf("w9", "path: /dev/sdb, links: ["+slot+"]"), path("a", slot), ""},
		{
			"a report without a path beside another", device("d", "serial: 5000c500a1b2c3d4", "") + "---" + inventoryOf("a", "serial: S1"), path("b", "/dev/sdz"),
			"it may be the same disk as d (no identifier distinguishes them)",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := ledger(t, nodes, test.facts)
			l.Add(holder("p"), []disk.Hold{test.hold})
			last := l.Disks()[len(l.Disks())-1]
			verdict := l.Verdict(last, disk.Want{})
			if got := verdict.Reason(); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			if verdict.Doubt() != "" {
				t.Errorf("a disk in use is doubted: %s", verdict.Doubt())
			}
			if !strings.HasPrefix(test.want, "it may be") {
				return
			}
			l.Add(disk.Holder{Owner: "me", Source: disk.Lock}, []disk.Hold{{Identity: last.Known()}})
			mine := disk.Want{Mine: func(h disk.Holder) bool { return h.Owner == "me" }}
			if reason := l.Verdict(last, mine).Of(disk.Uncertain); reason != "" {
				t.Errorf("refused to who has it: %s", reason)
			}
		})
	}
}

// A path that an object names, also that of a partition, holds what is there, and the disk that is meant.
func TestNamedPath(t *testing.T) {
	for _, path := range []string{"/dev/sdb", "/dev/sdb1"} {
		l := ledger(t, nodes, inventoryOf("a", "path: /dev/sdb, serial: SS11", "path: /dev/sdc, serial: TT22"))
		l.Add(holder("p"), []disk.Hold{{Identity: disk.Identity{Node: "a", Path: path, Serial: "TT22"}}})
		want := []string{"the live DiskPool mayastor/p names it: " + path, "it is taken by the live DiskPool mayastor/p"}
		for i, d := range l.Disks() {
			if got := l.Verdict(d, disk.Want{}).Reason(); got != want[i] {
				t.Errorf("%s: %q, want %q", d.Path, got, want[i])
			}
		}
	}
}

// PersistentVolumes are found by everything that names their disk, whoever reports it.
func TestVolumesOnReports(t *testing.T) {
	volume := func(spec string) string {
		return "\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {" + spec + "}\n"
	}
	local := func(path string) string {
		return volume("local: {path: " + path + "}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [host-a]}]}]}}")
	}
	tests := []struct{ name, volume, entry string }{
		{"GCE by serial number", volume("gcePersistentDisk: {pdName: data-1}"), "path: /dev/sdb, serial: data-1"},
		{"EBS by serial number", volume("awsElasticBlockStore: {volumeID: 'aws://eu/vol-0abc1234'}"), "path: /dev/nvme1n1, serial: vol0abc1234"},
		{"Cinder by twenty characters", volume("csi: {driver: cinder.csi.openstack.org, volumeHandle: 1f4b0a52-9a37-4c0e-9f10-0c3b6a2f7e55}"), "path: /dev/vdb, serial: 1f4b0a52-9a37-4c0e-9"},
		{"by-path", local("/dev/disk/by-path/pci-0000:00:17.0-ata-1"), "path: /dev/sdb, links: [/dev/disk/by-path/pci-0000:00:17.0-ata-1]"},
		{"a link that the report lacks", local("/dev/disk/by-id/wwn-0x5000c500a1b2c3d4-part1"), "path: /dev/sdb, wwn: 0x5000c500a1b2c3d4"},
		{"a UUID of a filesystem", local("/dev/disk/by-uuid/6c2a"), "path: /dev/sdb, links: [/dev/disk/by-uuid/6c2a]"},
		{"fc by WWID", volume("fc: {wwids: [35000c500a1b2c3d4]}"), "path: /dev/sdb, wwn: 0x5000c500a1b2c3d4"},
		{"fc by port and LUN", volume("fc: {targetWWNs: [50060E801049CFD1], lun: 0}"), "path: /dev/sdb, links: ['/dev/disk/by-path/pci-0000:05:00.0-fc-0x50060e801049cfd1-lun-0']"},
		{"iscsi", volume("iscsi: {targetPortal: '10.0.0.1:3260', iqn: 'iqn.2001-04.com.example:disk1', lun: 2}"), "path: /dev/sdb, links: ['/dev/disk/by-path/ip-10.0.0.1:3260-iscsi-iqn.2001-04.com.example:disk1-lun-2']"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := ledger(t, nodes, test.volume, inventoryOf("a", test.entry, "path: /dev/sdz, serial: ZZ26"))
			for i, d := range l.Disks() {
				if got := l.Verdict(d, disk.Want{}).Of(disk.PersistentVolume); (got == "it is PersistentVolume pv") != (i == 0) {
					t.Errorf("%s: %q", d.Path, got)
				}
			}
		})
	}
}

func TestLearnt(t *testing.T) {
	l := ledger(t, cluster)
	lost := "/dev/disk/by-id/ata-lost"
	names := func(id disk.Identity) string {
		var all []string
		for _, d := range l.Named(disk.Hold{Identity: id}) {
			all = append(all, d.Name().Name)
		}
		return strings.Join(all, " ")
	}
	if got := names(disk.Identity{Links: []string{lost}, Serial: "S1"}); got != "a-1" {
		t.Errorf("by its serial number: %q", got)
	}
	if got := names(disk.Identity{Links: []string{lost}}); got != "a-1" {
		t.Errorf("by a link that no report has: %q", got)
	}
	// A link that another disk has now is not that of the disk with another serial number.
	if got := names(disk.Identity{Serial: "S9-absent", Links: []string{"/dev/disk/by-id/scsi-35000c500a1"}}); got != "" {
		t.Errorf("a missing disk whose link is on another one: %q", got)
	}
	if got := names(disk.Identity{WWN: "0x5000c500a1", Serial: "told otherwise"}); got != "a-1" {
		t.Errorf("by its WWN: %q", got)
	}
}
