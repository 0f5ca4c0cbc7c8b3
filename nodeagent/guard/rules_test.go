package guard_test

import (
	"os"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
)

const none = "-- proc/1/mountinfo --\n-- proc/swaps --\nFilename Type Size Used Priority\n-- proc/cmdline --\nquiet\n"

// TestRules: each rule is broken by exactly what it is for, on an else free disk.
func TestRules(t *testing.T) {
	one := fixture.Disk("sda", "8:0", "naa.5000c500a1b2c3d4", "S1")
	two := fixture.Disk("sdb", "8:16", "naa.5000c500a1b2c3d5", "S2")
	const dir = "sys/devices/pci0000:00/host0/target0:0:0/0:0:0:0/block/sda/"
	part := "-- sys/class/block/sda1 --\n-> ../../devices/pci0000:00/host0/target0:0:0/0:0:0:0/block/sda/sda1\n" +
		"-- " + dir + "sda1/dev --\n8:1\n-- " + dir + "sda1/size --\n2048\n-- " + dir + "sda1/partition --\n1\n-- " + dir + "sda1/start --\n2048\n-- dev/sda1 --\n\n"
	for name, test := range map[string]struct {
		machine string
		content map[int64]string
		want    guard.Rule
		says    string // how its text begins
	}{
		"free":               {machine: one + two + none},
		"no identity":        {machine: fixture.Disk("sda", "8:0", "t10.QEMU", "") + none, want: guard.RuleIdentity, says: "/dev/sda has neither a WWN nor a serial number, so that it cannot be known again"},
		"twin by WWN":        {machine: one + fixture.Disk("sdb", "8:16", "naa.5000C500A1B2C3D4", "S2") + none, want: guard.RuleTwin},
		"twin by serial":     {machine: one + fixture.Disk("sdb", "8:16", "", "S1") + none, want: guard.RuleTwin},
		"eMMC boot area":     {machine: one + fixture.Disk("mmcblk0boot0", "179:8", "naa.5000c500a1b2c3d4", "S1") + none},
		"udev busy":          {machine: one + none + "-- run/udev/data/b8:16 --\n", want: guard.RuleUnsettled},
		"udev done":          {machine: one + none + "-- run/udev/data/b8:0 --\n"},
		"read-only":          {machine: strings.Replace(one, "/ro --\n0", "/ro --\n1", 1) + none, want: guard.RuleReadOnly, says: "/dev/sda is read-only"},
		"mounted":            {machine: one + strings.Replace(none, "mountinfo --\n", "mountinfo --\n30 1 8:0 / /mnt/my\\040data rw - ext4 /dev/sda rw\n", 1), want: guard.RuleMounted, says: "/dev/sda is mounted at /mnt/my data"},
		"root":               {machine: one + strings.Replace(none, "mountinfo --\n", "mountinfo --\n30 1 8:0 / / rw - ext4 /dev/sda rw\n", 1), want: guard.RuleSystem, says: "/dev/sda is of the system: "},
		"btrfs":              {machine: one + strings.Replace(none, "mountinfo --\n", "mountinfo --\n30 1 0:40 / /data rw - btrfs /dev/sda rw\n", 1), want: guard.RuleMounted},
		"partition mounted":  {machine: one + part + strings.Replace(none, "mountinfo --\n", "mountinfo --\n30 1 8:1 / /x rw - ext4 /dev/sda1 rw\n", 1), want: guard.RuleMounted},
		"partition":          {machine: one + part + none, want: guard.RulePartition, says: "/dev/sda has the partition /dev/sda1"},
		"swap":               {machine: one + strings.Replace(none, "Priority\n", "Priority\n/dev/sda partition 1 0 -2\n", 1), want: guard.RuleSystem},
		"resume":             {machine: one + strings.Replace(none, "quiet", "resume=/dev/sda", 1), want: guard.RuleSystem},
		"member of an array": {machine: one + none + "-- " + dir + "holders/md0 --\n", want: guard.RuleHeld},
		"holder":             {machine: one + none + "-- " + dir + "holders/dm-0 --\n", want: guard.RuleHeld, says: "/dev/sda is held by dm-0"},
		"NVMe target":        {machine: one + none + "-- sys/kernel/config/nvmet/subsystems/s/namespaces/1/device_path --\n/dev/sda\n", want: guard.RuleExported, says: "/dev/sda is under an NVMe target"},
		"loop over it":       {machine: one + none + "-- sys/class/block/loop0/dev --\n7:0\n-- sys/class/block/loop0/size --\n8192\n-- sys/class/block/loop0/loop/backing_file --\n/dev/sda\n-- dev/loop0 --\n", want: guard.RuleExported, says: "/dev/sda is under /dev/loop0"},
		"a byte at the end":  {machine: one + none, content: map[int64]string{4<<20 - 1: "x"}, want: guard.RuleContent, says: "/dev/sda has data of an unknown kind on it"},
		"a byte at 1 MiB":    {machine: one + none, content: map[int64]string{1<<20 - 1: "x"}, want: guard.RuleContent},
		"bluestore":          {machine: one + none, content: map[int64]string{0: "bluestore block device\n"}, want: guard.RuleContent, says: "/dev/sda has bluestore on it"},
		"cannot be read":     {machine: strings.Replace(one, "-- dev/sda --", "-- dev/none --", 1) + none, want: guard.RuleUnread, says: "/dev/sda cannot be read: "},
		"shorter than it is": {machine: strings.Replace(one, "8192", "9000", 1) + none, want: guard.RuleUnread},
	} {
		t.Run(name, func(t *testing.T) {
			h := fixture.Machine(t, test.machine)
			for at, text := range test.content {
				write(t, h, "/dev/sda", at, text)
			}
			f, err := facts.Read(h)
			if err != nil {
				t.Fatal(err)
			}
			refusals := guard.Fresh(f, f.Devices.Named("sda"))
			switch {
			case test.want == "" && len(refusals) > 0:
				t.Errorf("refused: %v", refusals)
			case test.want != "" && (len(refusals) == 0 || refusals[0].Rule != test.want):
				t.Errorf("%v, want the rule %s", refusals, test.want)
			case test.says != "" && !strings.HasPrefix(refusals[0].Text, test.says):
				t.Errorf("%s, want %s", refusals[0].Text, test.says)
			}
		})
	}
}

// TestIdentity: all that is declared must match, and a size matches in the unit written.
func TestIdentity(t *testing.T) {
	d := &device.Device{WWN: "0x5000c500a1b2c3d4", Serial: "S1", Size: 200_000_000_000}
	for _, test := range []struct {
		id   device.Identity
		want string
	}{
		{device.Identity{WWN: "naa.5000C500A1B2C3D4", Serial: "S1", Size: "200G"}, ""},
		{device.Identity{Serial: "S1", Size: "186Gi"}, ""},
		{device.Identity{Serial: "S1", Size: "186.3Gi"}, ""},
		{device.Identity{Serial: "S1", Size: "0.2T"}, ""},
		{device.Identity{Serial: "S1", Size: "0.3T"}, "its size is 200000000000, and 0.3T is declared"},
		{device.Identity{Serial: "S1", Size: "200000000000"}, ""},
		{device.Identity{Serial: "S1", Size: "200000000001"}, "size"},
		{device.Identity{Serial: "S1", Size: "200Gi"}, "size"},
		{device.Identity{WWN: "0x5000c500a1b2c3d4", Serial: "S2"}, `its serial is "S1", and "S2" is declared`},
		{device.Identity{WWN: "0x5000c500a1b2c3d5", Serial: "S1"}, `its wwn is "0x5000c500a1b2c3d4", and "0x5000c500a1b2c3d5" is declared`},
		{device.Identity{Size: "200G"}, "neither wwn nor serial is declared"},
	} {
		err := test.id.Matches(d)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want %q", test.id, err, test.want)
		}
	}
}

func write(t *testing.T, h host.Host, path string, at int64, text string) {
	t.Helper()
	f, err := os.OpenFile(h.Path(path), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(text), at); err != nil {
		t.Fatal(err)
	}
}

// TestMultipath: of the paths to one disk and the map over them it is the map that is found and taken;
// the paths are held, and are no twins of it.
func TestMultipath(t *testing.T) {
	const wwn = "naa.5000c500a1b2c3d4"
	path := func(name, number string) string {
		dir := "sys/devices/pci0000:00/host0/target0:0:0/0:0:0:0/block/" + name
		return fixture.Disk(name, number, wwn, "S1") + "-- " + dir + "/holders/dm-0 --\n"
	}
	const dm = "sys/devices/virtual/block/dm-0"
	h := fixture.Machine(t, path("sda", "8:0")+path("sdb", "8:16")+
		"-- sys/class/block/dm-0 --\n-> ../../devices/virtual/block/dm-0\n-- "+dm+"/dev --\n254:0\n-- "+dm+"/size --\n8192\n-- "+dm+"/ro --\n0\n-- "+
		dm+"/dm/uuid --\nmpath-35000c500a1b2c3d4\n-- "+dm+"/dm/name --\nmpatha\n-- "+dm+"/slaves/sda --\n-- "+dm+"/slaves/sdb --\n-- dev/dm-0 --\n\n"+none)
	f, err := facts.Read(h)
	if err != nil {
		t.Fatal(err)
	}
	found := f.Devices.Candidates(device.Identity{WWN: wwn})
	if len(found) != 1 || found[0].Name != "dm-0" {
		t.Fatalf("found %v", found)
	}
	if refusals := guard.Fresh(f, found[0]); len(refusals) > 0 {
		t.Errorf("the map: %v", refusals)
	}
	if refusals := guard.Fresh(f, f.Devices.Named("sda")); len(refusals) == 0 {
		t.Error("a path may be written beside its map")
	}
}
