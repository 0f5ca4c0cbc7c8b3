package inventory_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/facts"
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

// TestBehindController: a disk that is a virtual drive, or a drive as JBOD, has its place, and another
// disk has none.
func TestBehindController(t *testing.T) {
	second := func(disk string) string { return strings.ReplaceAll(disk, "0:0:0:0", "0:0:1:0") }
	h := fixture.Machine(t, fixture.Disk("sda", "8:0", "naa.600605b000000001", "V1")+second(fixture.Disk("sdb", "8:16", "naa.5000c500a1b2c3d5", "S2"))+
		"-- proc/1/mountinfo --\n-- proc/swaps --\nFilename Type Size Used Priority\n-- proc/cmdline --\nquiet\n")
	dir := filepath.Join(h.Root, "usr/sbin")
	self, err := os.Executable()
	state := storcli.State{Controllers: []*storcli.Controller{{
		Index: 2, Drives: []*storcli.Drive{{Enclosure: 252, Slot: 4, Serial: "S1", State: "Onln"}, {Enclosure: 252, Slot: 7, Serial: "S2", WWN: "5000C500A1B2C3D5", State: "UGood"}},
		Virtual: []*storcli.Virtual{{Name: "data", NAA: "600605b000000001", Read: "ra", Write: "wt", IO: "direct", Drive: "252:4"}},
	}}}
	if err := errors.Join(err, os.MkdirAll(dir, 0o755), os.Symlink(self, filepath.Join(dir, "storcli64")), state.Write(dir)); err != nil {
		t.Fatal(err)
	}
	h.Tools.Root, h.Tools.Folders = "/", []string{dir}
	f, err := facts.Read(h)
	if err != nil {
		t.Fatal(err)
	}
	inv := inventory.Compose(t.Context(), f, func(string) string { return "" }, nil)
	if len(inv.Disks) != 2 {
		t.Fatalf("%+v", inv.Disks)
	}
	if r := inv.Disks[0].RAID; r == nil || r.Controller != 2 || *r.Enclosure != 252 || *r.Slot != 4 {
		t.Errorf("%+v", r)
	}
	if r := inv.Disks[1].RAID; r != nil {
		t.Errorf("a drive that the controller does not show is %+v", *r)
	}
}
