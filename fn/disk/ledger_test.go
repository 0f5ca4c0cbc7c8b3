package disk_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// cluster has two nodes, whose disks are a-1 (serial S1), a-2 (serial S2) and b-1.
const cluster = `
apiVersion: v1
kind: Node
metadata: {name: a, labels: {kubernetes.io/hostname: host-a}}
---
apiVersion: v1
kind: Node
metadata: {name: b, labels: {kubernetes.io/hostname: b}}
---
apiVersion: openebs.io/v1alpha1
kind: BlockDevice
metadata: {name: a-1, namespace: openebs, labels: {kubernetes.io/hostname: host-a}}
spec:
  path: /dev/sdb
  capacity: {storage: 1000000000000}
  details: {deviceType: disk, driveType: HDD, serial: S1}
  devlinks:
  - {kind: by-id, links: [/dev/disk/by-id/wwn-0x5000c500a1, /dev/disk/by-id/scsi-35000c500a1]}
  - {kind: by-path, links: [/dev/disk/by-path/pci-1]}
status: {state: Active, claimState: Unclaimed}
---
apiVersion: openebs.io/v1alpha1
kind: BlockDevice
metadata: {name: a-2, namespace: openebs, labels: {kubernetes.io/hostname: host-a}}
spec:
  path: /dev/nvme0n1
  capacity: {storage: 2000000000000}
  details: {deviceType: disk, driveType: SSD, serial: S2}
status: {state: Active, claimState: Unclaimed}
---
apiVersion: openebs.io/v1alpha1
kind: BlockDevice
metadata: {name: b-1, namespace: openebs, labels: {kubernetes.io/hostname: b}}
spec:
  path: /dev/sdb
  capacity: {storage: 1000000000000}
  details: {deviceType: disk, driveType: HDD}
status: {state: Active, claimState: Unclaimed}
`

func ledger(t *testing.T, texts ...string) *disk.Ledger {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Name: "facts.yaml", Data: []byte(strings.Join(texts, "\n---\n"))})
	if err != nil {
		t.Fatal(err)
	}
	return disk.NewLedger(inventory.New(objects))
}

func holder(name string) disk.Holder {
	return disk.Holder{Object: finding.Ref{Kind: "DiskPool", Namespace: "mayastor", Name: name}, Source: disk.Live}
}

func TestHolds(t *testing.T) {
	tests := []struct {
		name string
		hold disk.Hold
		want string // the block devices that are held
	}{
		{"a block device", disk.Hold{Device: inventory.Key{Namespace: "openebs", Name: "a-1"}}, "a-1"},
		{"a block device that nobody reports", disk.Hold{Device: inventory.Key{Namespace: "openebs", Name: "gone"}}, ""},
		{"a block device that is back under another name", disk.Hold{
			Device: inventory.Key{Namespace: "openebs", Name: "gone"}, Identity: disk.Identity{Serial: "S1"},
		}, "a-1"},
		{"a serial number", disk.Hold{Identity: disk.Identity{Serial: "S2"}}, "a-2"},
		{"a WWN as a tool writes it", disk.Hold{Identity: disk.Identity{WWN: disk.WWN("naa.5000C500A1")}}, "a-1"},
		{"a link", disk.Hold{Identity: disk.Identity{Links: []string{"/dev/disk/by-id/wwn-0x5000c500a1"}}}, "a-1"},
		{"a path of a node", disk.Hold{Identity: disk.Identity{Node: "b", Path: "/dev/sdb"}}, "b-1"},
		{"a path of a host", disk.Hold{Identity: disk.Identity{Node: "host-a", Path: "/dev/sdb"}}, "a-1"},
		{"a link as a path", disk.Hold{Identity: disk.Identity{Node: "a", Path: "/dev/disk/by-path/pci-1"}}, "a-1"},
		{"a partition", disk.Hold{Identity: disk.Identity{Node: "a", Path: "/dev/sdb2"}}, "a-1"},
		{"a partition of an NVMe disk", disk.Hold{Identity: disk.Identity{Node: "a", Path: "/dev/nvme0n1p3"}}, "a-2"},
		{"a partition by link", disk.Hold{Identity: disk.Identity{Node: "a", Path: "/dev/disk/by-path/pci-1-part1"}}, "a-1"},
		{"a path that no disk has", disk.Hold{Identity: disk.Identity{Node: "a", Path: "/dev/sdz"}}, ""},
		{"a filter", disk.Hold{Matches: func(d *disk.Disk) bool { return strings.HasPrefix(d.Path, "/dev/sd") }}, "a-1 b-1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := ledger(t, cluster)
			l.Add(holder("p"), []disk.Hold{test.hold})
			var held []string
			for _, d := range l.Disks() {
				reason := l.Verdict(d, disk.Want{}).Of(disk.Held)
				if reason != "" {
					held = append(held, d.Name().Name)
				}
				if reason != "" && reason != "it is taken by the live DiskPool mayastor/p" {
					t.Errorf("reason %q", reason)
				}
			}
			if got := strings.Join(held, " "); got != test.want {
				t.Errorf("held are %q, want %q", got, test.want)
			}
			mine := disk.Want{Mine: func(h disk.Holder) bool { return h.Object.Name == "p" }}
			for _, d := range l.Disks() {
				if reason := l.Verdict(d, mine).Of(disk.Held); reason != "" {
					t.Errorf("what is held is refused to its own holder: %s", reason)
				}
			}
		})
	}
}

// moved is a-1 under another name, with what is said of its state.
func moved(name, state string) string {
	return `
apiVersion: openebs.io/v1alpha1
kind: BlockDevice
metadata: {name: ` + name + `, namespace: openebs, labels: {kubernetes.io/hostname: b}}
spec:
  path: /dev/sdc
  capacity: {storage: 1000000000000}
  details: {deviceType: disk, driveType: HDD, serial: S1}
status: {state: ` + state + `, claimState: Unclaimed}`
}

func TestIdentity(t *testing.T) {
	device := func(name string) *disk.Hold {
		return &disk.Hold{Device: inventory.Key{Namespace: "openebs", Name: name}}
	}
	link := &disk.Hold{Identity: disk.ByPath("a", "/dev/disk/by-id/wwn-0x5000c500a1")}
	mine := func(disk.Holder) bool { return true }
	tests := []struct {
		name string
		fact string
		held *disk.Hold // what somebody holds
		mine func(disk.Holder) bool
		want map[string]disk.Rule
	}{
		{"two active reports are both refused", moved("x", "Active"), nil, nil, map[string]disk.Rule{"a-1": disk.Ambiguous, "x": disk.Ambiguous}},
		{"a disk that was moved", moved("x", "Inactive"), nil, nil, map[string]disk.Rule{"a-1": "", "x": disk.Ambiguous}},
		{"a disk that was moved and whose old name is held", moved("x", "Inactive"), device("x"), nil, map[string]disk.Rule{"a-1": disk.Held, "x": disk.Held}},
		{"a disk that is held under its new name", moved("x", "Inactive"), device("a-1"), nil, map[string]disk.Rule{"a-1": disk.Held, "x": disk.Held}},
		{"a disk that was moved, for who holds it under its old name", moved("x", "Inactive"), device("x"), mine, map[string]disk.Rule{"a-1": disk.Ambiguous, "x": disk.Ambiguous}},
		{"a disk that was moved, for who holds it by its link", moved("x", "Inactive"), link, mine, map[string]disk.Rule{"a-1": "", "x": disk.Ambiguous}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := ledger(t, cluster, test.fact)
			if test.held != nil {
				l.Add(holder("p"), []disk.Hold{*test.held})
			}
			for name, want := range test.want {
				verdict, got := l.Verdict(l.Device("openebs", name), disk.Want{Mine: test.mine}), disk.Rule("")
				if len(verdict) > 0 {
					got = verdict[0].Rule
				}
				if got != want {
					t.Errorf("%s: %q, want %q", name, verdict.Reason(), want)
				}
			}
		})
	}
}

func TestNodeInventory(t *testing.T) {
	const report = `
apiVersion: poolwright.io/v1alpha1
kind: NodeInventory
metadata: {name: a}
status:
  disks:
  - {path: /dev/sdb, wwn: 5000C500A1, serial: S1, size: 1000000000000, content: [lvm], usable: false, reason: LVM is on it}
  - {path: /dev/sdq, serial: S9, size: 4000000000000, usable: true}
  - {path: /dev/sdr, serial: S10, size: 4000000000000}
`
	l := ledger(t, cluster, report)
	if n := len(l.Disks()); n != 5 {
		t.Fatalf("%d disks, want 5: a report of a known disk is no disk more", n)
	}
	for _, test := range []struct{ path, want string }{
		{"/dev/sdb", "node a reports content on it: lvm"},
		{"/dev/sdq", ""},
		{"/dev/sdr", "node a reports it as not usable: without a reason"},
	} {
		i := slices.IndexFunc(l.Disks(), func(d *disk.Disk) bool { return d.Path == test.path && d.Entry != nil })
		if got := l.Verdict(l.Disks()[i], disk.Want{}).Reason(); got != test.want {
			t.Errorf("%s: %q, want %q", test.path, got, test.want)
		}
	}
}

func TestVolumesOnDisks(t *testing.T) {
	const volumes = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: whole}
spec:
  local: {path: /dev/sdb}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [host-a]}]}]}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: part}
spec: {hostPath: {path: /dev/sdq1}, claimRef: {namespace: shop, name: db}}
---
apiVersion: poolwright.io/v1alpha1
kind: NodeInventory
metadata: {name: b}
status:
  disks:
  - {path: /dev/sdq, serial: S9, size: 4000000000000, usable: true}
`
	l := ledger(t, cluster, volumes)
	want := map[string]string{
		"host-a /dev/sdb": "it is PersistentVolume whole", "host-a /dev/nvme0n1": "", "b /dev/sdb": "",
		"b /dev/sdq": "it is PersistentVolume part of claim shop/db",
	}
	for _, d := range l.Disks() {
		if got := l.Verdict(d, disk.Want{}).Of(disk.PersistentVolume); got != want[d.Node+" "+d.Path] {
			t.Errorf("%s on %s: %q, want %q", d.Path, d.Node, got, want[d.Node+" "+d.Path])
		}
	}
}

func TestTakeAndRelease(t *testing.T) {
	l := ledger(t, cluster)
	d := l.Device("openebs", "a-1")
	first, second := finding.Ref{Kind: "Spec", Name: "first"}, finding.Ref{Kind: "Spec", Name: "second"}
	if other := l.Take(d, first, "first"); other != nil {
		t.Fatalf("a free disk is held by %s", other)
	}
	if other := l.Take(d, first, "first"); other != nil {
		t.Fatalf("taken twice by one: held by %s", other)
	}
	if other := l.Take(d, second, "second"); other == nil || other.Object != first {
		t.Fatalf("a taken disk is taken again: %v", other)
	}
	l.Release(d, "first")
	if other := l.Take(d, second, "second"); other != nil {
		t.Fatalf("a released disk is held by %s", other)
	}
	l.Add(disk.Holder{Object: second, Owner: "second", Source: disk.Live}, []disk.Hold{{Device: d.Name()}})
	l.Release(d, "second")
	if other := l.Take(d, first, "first"); other == nil {
		t.Fatal("what lives was released")
	}
}

// The smaller disk is first, and among equal ones the order of the most trusted name: a
// serial number counts for less than a WWN.
func TestRank(t *testing.T) {
	device := func(name, size, serial, link string) string {
		return "---\napiVersion: openebs.io/v1alpha1\nkind: BlockDevice\nmetadata: {name: " + name + ", namespace: openebs}\n" +
			"spec:\n  path: /dev/" + name + "\n  capacity: {storage: " + size + "}\n  details: {deviceType: disk, serial: " + serial + "}\n" +
			"  devlinks: [{kind: by-id, links: [" + link + "]}]\n"
	}
	l := ledger(t, device("d1", "100", "S1", "/dev/disk/by-id/wwn-0x52"), device("d2", "100", "S2", "/dev/disk/by-id/wwn-0x51"),
		device("d3", "50", "", ""), device("d4", "100", "T1", "/dev/disk/by-id/ata-x"), device("d5", "100", "", "/dev/disk/by-id/ata-y"))
	sorted := slices.SortedFunc(slices.Values(l.Disks()), disk.Rank)
	got := ""
	for _, d := range sorted {
		got += d.Name().Name + " "
	}
	if want := "d3 d5 d2 d1 d4 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
