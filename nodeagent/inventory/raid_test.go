package inventory_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
	"github.com/poolwright/poolwright/nodeagent/inventory"
	"github.com/poolwright/poolwright/test/storcli"
)

// TestMain is storcli where it is run under that name.
func TestMain(m *testing.M) {
	if storcli.Is(os.Args[0]) {
		os.Exit(storcli.Main(os.Args[0], os.Args[1:], os.Stdout))
	}
	os.Exit(m.Run())
}

// node is a machine with a disk that is a virtual drive and one that is none, and with a program for RAID
// controllers.
func node(t *testing.T, program string) (host.Host, string) {
	t.Helper()
	second := func(disk string) string { return strings.ReplaceAll(disk, "0:0:0:0", "0:0:1:0") }
	h := fixture.Machine(t, fixture.Disk("sda", "8:0", "naa.600605b000000001", "V1")+second(fixture.Disk("sdb", "8:16", "naa.5000c500a1b2c3d5", "S2"))+
		"-- proc/1/mountinfo --\n-- proc/swaps --\nFilename Type Size Used Priority\n-- proc/cmdline --\nquiet\n")
	dir := filepath.Join(h.Root, "usr/sbin")
	self, err := os.Executable()
	if err := errors.Join(err, os.MkdirAll(dir, 0o755), os.Symlink(self, filepath.Join(dir, program))); err != nil {
		t.Fatal(err)
	}
	h.Tools.Root, h.Tools.Folders = "/", []string{dir}
	return h, dir
}

func compose(t *testing.T, h host.Host, owners inventory.Owners) api.Inventory {
	t.Helper()
	f, err := facts.Read(h)
	if err != nil {
		t.Fatal(err)
	}
	return inventory.Compose(t.Context(), f, owners, nil)
}

// TestControllers: every drive behind a controller is reported, with the rule for which it may not be used, and
// the disk that it is; a disk that is a virtual drive has its place, and another disk has none.
func TestControllers(t *testing.T) {
	for _, program := range []string{"storcli64", "perccli2"} {
		h, dir := node(t, program)
		if err := (storcli.State{Controllers: []*storcli.Controller{{
			Index: 2, Drives: []*storcli.Drive{
				{Enclosure: 252, Slot: 4, Serial: "S1", State: "Onln"}, {Enclosure: 252, Slot: 5, State: "UGood"},
				{Enclosure: 252, Slot: 6, Serial: "S6", State: "UBad"}, {Enclosure: 252, Slot: 7, Serial: "S7", WWN: "5000C500A1B2C3D7", State: "UGood"},
				{Enclosure: 252, Slot: 8, Serial: "S8", State: "UGood"}, {Enclosure: 252, Slot: 9, Serial: "S8", State: "UGood"},
			},
			Virtual: []*storcli.Virtual{{Name: "pw-0123456789ab", NAA: "600605b000000001", Read: "ra", Write: "wt", IO: "direct", Drive: "252:4"}},
		}}}).Write(dir); err != nil {
			t.Fatal(err)
		}
		inv := compose(t, h, func(mark string) string {
			return map[string]string{"pw-0123456789ab": "Volume/data"}[mark]
		})
		if len(inv.Disks) != 2 || len(inv.Controllers) != 1 || len(inv.Controllers[0].Drives) != 6 {
			t.Fatalf("%+v", inv)
		}
		if r := inv.Disks[0].RAID; r == nil || r.Controller != 2 || *r.Enclosure != 252 || *r.Slot != 4 {
			t.Errorf("%+v", r)
		}
		if r := inv.Disks[1].RAID; r != nil {
			t.Errorf("a disk that no controller shows is %+v", *r)
		}
		c := inv.Controllers[0]
		if c.Program != program || *c.Number != 2 || c.Model != "StandIn" || c.Reason != "" {
			t.Errorf("%+v", c)
		}
		for i, want := range []struct{ state, path, owner, rule string }{
			{"configured", "/dev/sda", "Volume/data", "rule raid: the drive 252:4"}, {"unconfigured", "", "", "rule identity"},
			{"unusable", "", "", "rule raid"}, {"unconfigured", "", "", ""}, {"unconfigured", "", "", "rule twin"}, {"unconfigured", "", "", "rule twin"},
		} {
			d := c.Drives[i]
			if d.Slot != 4+i || d.State != want.state || d.Path != want.path || d.Owner != want.owner || d.Usable != (want.rule == "") || !strings.HasPrefix(d.Reason, want.rule) {
				t.Errorf("%+v, want %+v", d, want)
			}
		}
		if d := c.Drives[3]; d.Serial != "S7" || d.WWN != "0x5000c500a1b2c3d7" || d.Model != "STANDIN" {
			t.Errorf("%+v", d)
		}
	}
}

// TestControllersUnread: an answer that is not understood is reported, and is not a node without controllers.
func TestControllersUnread(t *testing.T) {
	h, _ := node(t, "storcli2") // without a state, which the stand-in complains of in plain text
	inv := compose(t, h, func(string) string { return "" })
	if len(inv.Controllers) != 1 || inv.Controllers[0].Number != nil || !strings.Contains(inv.Controllers[0].Reason, "no JSON") {
		t.Errorf("%+v", inv.Controllers)
	}
}

// TestControllersPartlyUnread: a controller that is not understood is reported beside one that is.
func TestControllersPartlyUnread(t *testing.T) {
	h, dir := node(t, "storcli64")
	if err := (storcli.State{Controllers: []*storcli.Controller{
		{Index: 0, Drives: []*storcli.Drive{{Enclosure: 252, Slot: 4, Serial: "S1", State: "UGood"}}},
		{Index: 1, Drives: []*storcli.Drive{{Enclosure: 252, Slot: 4, Serial: "S2", State: "Onln"}}}, // and in no group
	}}).Write(dir); err != nil {
		t.Fatal(err)
	}
	inv := compose(t, h, func(string) string { return "" })
	if len(inv.Controllers) != 2 || inv.Controllers[0].Reason != "" || len(inv.Controllers[0].Drives) != 1 {
		t.Fatalf("%+v", inv.Controllers)
	}
	if c := inv.Controllers[1]; *c.Number != 1 || len(c.Drives) != 0 || !strings.Contains(c.Reason, "do not fit") {
		t.Errorf("%+v", c)
	}
}

// TestControllersHang: a program that hangs is reported, and reported in the same words each time.
func TestControllersHang(t *testing.T) {
	h, dir := node(t, "storcli")
	if err := errors.Join(os.Remove(filepath.Join(dir, "storcli")), os.WriteFile(filepath.Join(dir, "storcli64"), []byte("#!/bin/sh\nexec sleep 600\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	h.Tools.Folders, h.Tools.Deadline = append(h.Tools.Folders, "/bin", "/usr/bin"), 200*time.Millisecond
	inv := compose(t, h, func(string) string { return "" })
	if len(inv.Controllers) != 1 || inv.Controllers[0].Reason != "storcli64 has not ended in time" {
		t.Errorf("%+v", inv.Controllers)
	}
}

// TestControllersReadOnly: no drive is usable where the agent only reads.
func TestControllersReadOnly(t *testing.T) {
	h, dir := node(t, "storcli")
	script := "#!/bin/sh\ncat <<'END'\nSmart Array P408i-a in Slot 0\n   Unassigned\n      physicaldrive 1I:1:3\n         Status: OK\n         Drive Type: Unassigned Drive\n         Serial Number: W3\nEND\n"
	if err := errors.Join(os.Remove(filepath.Join(dir, "storcli")), os.WriteFile(filepath.Join(dir, "ssacli"), []byte(script), 0o755)); err != nil {
		t.Fatal(err)
	}
	h.Tools.Folders = append(h.Tools.Folders, "/bin", "/usr/bin")
	inv := compose(t, h, func(string) string { return "" })
	if len(inv.Controllers) != 1 || len(inv.Controllers[0].Drives) != 1 {
		t.Fatalf("%+v", inv.Controllers)
	}
	if d := inv.Controllers[0].Drives[0]; d.Port != "1I" || *d.Enclosure != 1 || d.Slot != 3 || d.State != "unconfigured" || d.Usable || !strings.HasPrefix(d.Reason, "rule source: ") {
		t.Errorf("%+v", d)
	}
}

// TestArray: an array of md holds the disks that it is made of, and is itself no disk to be used.
func TestArray(t *testing.T) {
	const at = "sys/devices/pci0000:00/host0/target0:0:0/0:0:0:0/block/sda/"
	h := fixture.Machine(t, fixture.Disk("sda", "8:0", "naa.5000c500a1b2c3d5", "S1")+"-- "+at+"holders/md0 --\n"+
		"-- sys/class/block/md0 --\n-> ../../devices/virtual/block/md0\n-- sys/devices/virtual/block/md0/dev --\n9:0\n-- sys/devices/virtual/block/md0/size --\n8192\n"+
		"-- sys/devices/virtual/block/md0/md/level --\nraid1\n-- sys/devices/virtual/block/md0/slaves/sda --\n"+
		"-- proc/1/mountinfo --\n-- proc/swaps --\nFilename Type Size Used Priority\n-- proc/cmdline --\nquiet\n")
	inv := compose(t, h, func(string) string { return "" })
	if len(inv.Disks) != 1 || inv.Disks[0].Path != "/dev/sda" {
		t.Fatalf("%+v", inv.Disks)
	}
	if d := inv.Disks[0]; d.Holder != "md0" || d.Usable || d.Reason != "rule held: /dev/sda is held by md0" {
		t.Errorf("%+v", d)
	}
}
