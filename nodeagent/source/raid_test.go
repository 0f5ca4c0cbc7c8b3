package source_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/nodeagent/step"
	"github.com/poolwright/poolwright/test/storcli"
	"github.com/poolwright/poolwright/test/tool"
)

func behind(name, serial, mode, level, write string) *api.Volume {
	v := &api.Volume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: api.VolumeSpec{NodeName: "n1", Mode: mode, RAID: &api.RAIDDAS{Level: level}}}
	v.Spec.RAID.Drive.Serial, v.Spec.RAID.CachePolicy.Write = serial, write
	return v
}

// controller is one with a drive that is free, and one that is somebody's.
func controller() storcli.State {
	return storcli.State{Controllers: []*storcli.Controller{{
		Battery: true, Next: 1,
		Drives: []*storcli.Drive{
			{Enclosure: 252, Slot: 4, Serial: "FREE", WWN: "5000000000000002", NAA: "5000000000000002", State: "UGood"},
			{Enclosure: 252, Slot: 5, Serial: "TAKEN", WWN: "5000C500A1B2C3D1", State: "Onln"},
		},
		Virtual: []*storcli.Virtual{{Name: "theirs", NAA: "600605b0aabbccdd", Read: "ra", Write: "wb", IO: "direct", Drive: "252:5"}},
	}}}
}

// standIn puts the stand-in and its state beside the folder of the agent.
func standIn(t *testing.T, folder, program string, state storcli.State) {
	t.Helper()
	dir := controllers(folder)
	self, err := os.Executable()
	if err == nil {
		err = errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700), os.Symlink(self, filepath.Join(dir, program)), state.Write(dir))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRAIDRefused: what a controller or a drive is not, and nothing is written to the controller.
func TestRAIDRefused(t *testing.T) {
	free := func(change func(*storcli.Controller)) storcli.State {
		s := controller()
		change(s.Controllers[0])
		return s
	}
	fine := behind("drive", "FREE", api.Filesystem, "raid0", "")
	absent := behind("drive", "FREE", api.Filesystem, "raid0", "")
	absent.Spec.RAID.Controller = 3
	for name, test := range map[string]struct {
		volume  *api.Volume
		state   storcli.State
		program string
		want    guard.Rule
		text    string
	}{
		"no program":          {fine, controller(), "", guard.RuleTool, "storcli"},
		"no controller":       {absent, controller(), "storcli64", guard.RuleNotFound, "controller 3"},
		"no identity":         {behind("drive", "", api.Filesystem, "raid0", ""), controller(), "storcli64", guard.RuleIdentity, "neither"},
		"no drive":            {behind("drive", "GONE", api.Filesystem, "raid0", ""), controller(), "storcli2", guard.RuleNotFound, "GONE"},
		"twins":               {fine, free(func(c *storcli.Controller) { c.Drives[1].Serial = "FREE" }), "storcli64", guard.RuleTwin, "same identity"},
		"of somebody":         {behind("drive", "TAKEN", api.Filesystem, "raid0", ""), controller(), "storcli64", guard.RuleHeld, "theirs"},
		"somebody's, as JBOD": {behind("drive", "TAKEN", api.Filesystem, "jbod", ""), controller(), "storcli64", guard.RuleRAID, "Onln"},
		"bad":                 {fine, free(func(c *storcli.Controller) { c.Drives[0].State = "UBad" }), "storcli2", guard.RuleRAID, "UConf Bad"},
		"JBOD into RAID":      {fine, free(func(c *storcli.Controller) { c.Drives[0].State = "JBOD" }), "storcli64", guard.RuleRAID, "JBOD"},
		"foreign":             {fine, free(func(c *storcli.Controller) { c.Drives[0].Foreign = true }), "storcli64", guard.RuleRAID, "never clears"},
		"another one foreign": {behind("drive", "FREE", api.Filesystem, "jbod", ""), free(func(c *storcli.Controller) { c.Drives[1].State, c.Drives[1].Foreign, c.Virtual = "UGood", true, nil }), "storcli2", guard.RuleRAID, "never clears"},
		"no battery":          {behind("drive", "FREE", api.Filesystem, "raid0", "wb"), free(func(c *storcli.Controller) { c.Battery = false }), "storcli64", guard.RuleRAID, "power failure"},
		"our name, not our drive": {fine, free(func(c *storcli.Controller) {
			c.Virtual[0].Name = mark.Short(mark.Cluster("test").Of(api.KindVolume, "drive", "n1"))
		}), "storcli64", guard.RuleTwin, "another drive"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "agent")
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			journal, err := step.Open(folder)
			if err != nil {
				t.Fatal(err)
			}
			h := host.New("/")
			if test.program != "" {
				standIn(t, folder, test.program, test.state)
				h.Tools.Folders = append([]string{controllers(folder)}, h.Tools.Folders...)
			}
			e := &source.Engine{Host: h, Cluster: "test", Node: "n1", Folder: folder, Runner: step.Runner{Journal: journal}}
			before, _ := os.ReadFile(filepath.Join(controllers(folder), storcli.StateFile))
			_, err = e.Apply(context.Background(), source.Request{Volume: test.volume, Filesystem: source.Filesystem{Type: "ext4"}})
			var refusal guard.Refusal
			if !errors.As(err, &refusal) || refusal.Rule != test.want || !strings.Contains(refusal.Text, test.text) {
				t.Errorf("%v, want the rule %s and %q", err, test.want, test.text)
			}
			after, _ := os.ReadFile(filepath.Join(controllers(folder), storcli.StateFile))
			if string(before) != string(after) {
				t.Errorf("the controller was written to:\n%s", after)
			}
		})
	}
}

// hidden is the drive of a controller that is free, with a disk of the machine that is there only
// while the controller shows it: a SCSI disk of the virtual machine, elsewhere a loop device on a machine
// that is a folder. reset creates all of it again, with what the script content puts on $d.
func hidden(t *testing.T, program, content string) (reset func(folder string)) {
	t.Helper()
	if os.Getenv(inMachine) != "" {
		return hiddenSCSI(t, program, content)
	}
	needLoops(t)
	tool.Need(t, "losetup")
	if testing.Short() {
		t.Skip("skipped: it makes some hundred processes, which is no short test")
	}
	return func(folder string) {
		root := filepath.Join(filepath.Dir(folder), machineFolder)
		dropDrives(t, folder)
		t.Cleanup(func() { dropDrives(t, folder) })
		state := controller()
		c := state.Controllers[0]
		for _, d := range c.Drives {
			d.Root, d.File, d.NAA = root, filepath.Join(filepath.Dir(folder), d.Serial), ""
		}
		shell(t, fmt.Sprintf(`cd %s; rm -rf %s FREE TAKEN; truncate -s 16M FREE TAKEN; echo "of somebody" | dd of=TAKEN bs=1M seek=7 conv=notrunc; d=FREE; %s
			mkdir -p %[2]s/proc/1 %[2]s/proc/sys/kernel/random %[2]s/sys/class/block %[2]s/dev/disk/by-uuid %[2]s/dev/disk/by-partuuid
			touch %[2]s/proc/1/mountinfo %[2]s/proc/swaps %[2]s/proc/cmdline; cat /proc/sys/kernel/random/boot_id > %[2]s/proc/sys/kernel/random/boot_id`,
			filepath.Dir(folder), machineFolder, content))
		standIn(t, folder, program, state)
		if err := state.Hide(); err != nil {
			t.Fatal(err)
		}
		// The program is of this machine, and the devices are below the folder.
		script := "#!/bin/sh\nfor a; do shift; case $a in /dev/*) a=" + root + "$a;; esac; set -- \"$@\" \"$a\"; done\nexec " + tool.Need(t, "wipefs") + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(controllers(folder), "wipefs"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// dropDrives takes the disks of all drives away.
func dropDrives(t *testing.T, folder string) {
	t.Helper()
	state, err := storcli.Read(controllers(folder))
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range state.Controllers[0].Drives {
		d.State = "UGood"
	}
	if err := state.Hide(); err != nil {
		t.Error(err)
	}
}

func hiddenSCSI(t *testing.T, program, content string) func(folder string) {
	t.Helper()
	// An earlier test has hidden it.
	shell(t, `for host in /sys/class/scsi_host/*/scan; do echo "- - -" > $host; done; udevadm settle`)
	disk := machineDisk(t, "SCSI0002")
	link, err := os.Readlink("/sys/class/block/" + disk.Name + "/device")
	if err != nil {
		t.Fatal(err)
	}
	return func(folder string) {
		state := controller()
		d := state.Controllers[0].Drives[0]
		d.Address, d.State = filepath.Base(link), "JBOD"
		shell(t, "udevadm settle")
		if err := state.Hide(); err != nil {
			t.Fatal(err)
		}
		shell(t, `udevadm settle; d=$(readlink -f /dev/disk/by-id/wwn-0x5000000000000002); blockdev --flushbufs $d; blkdiscard -z $d; blockdev --rereadpt $d; `+content+` udevadm settle`)
		d.State = "UGood"
		if err := state.Hide(); err != nil {
			t.Fatal(err)
		}
		standIn(t, folder, program, state)
	}
}

func shell(t *testing.T, script string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", "set -e; "+script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestCrashRAID kills the agent at every point of making and removing volumes behind a controller,
// in either grammar.
func TestCrashRAID(t *testing.T) {
	for _, test := range []struct {
		name, program string
		ops           []operation
	}{
		{"raid0", "storcli64", []operation{
			{Apply: behind("drive", "FREE", api.Filesystem, "raid0", "wb"), FS: "ext4"}, {Apply: behind("drive", "FREE", api.Filesystem, "raid0", "wt"), FS: "ext4"},
			{Remove: behind("drive", "FREE", api.Filesystem, "raid0", "wt")},
		}},
		{"raid0 block", "perccli2", []operation{
			{Apply: behind("drive", "FREE", api.Block, "", "wt")}, {Use: behind("drive", "FREE", api.Block, "", "wt")}, {Remove: behind("drive", "FREE", api.Block, "", "wt")},
		}},
		{"jbod", "storcli2", []operation{
			{Apply: behind("drive", "FREE", api.Filesystem, "jbod", ""), FS: "ext4"}, {Remove: behind("drive", "FREE", api.Filesystem, "jbod", "")},
		}},
	} {
		t.Run(test.name, func(t *testing.T) { stutter(t, test.ops, hidden(t, test.program, ""), "sde", "sdf") })
	}
}

// TestFaultsRAID spoils every run of storcli in two of ten ways, in either grammar. With tool.All a run is spoiled in all
// ten, half of them in each grammar; the other halves are in make test-faults.
func TestFaultsRAID(t *testing.T) {
	grammars := []string{"storcli64", "storcli2"}
	for i, program := range grammars {
		t.Run(program, func(t *testing.T) {
			injectSome(t, inTurn(i, len(grammars)), []operation{
				{Apply: behind("drive", "FREE", api.Filesystem, "raid0", "wb"), FS: "ext4"}, {Remove: behind("drive", "FREE", api.Filesystem, "raid0", "wb")},
			}, []string{program}, hidden(t, program, ""), "sde", "sdf")
		})
	}
}

// TestBaitRAID: what is on a drive cannot be read before there is a virtual drive. Then it is found,
// and nothing more is done; when the Volume goes, the virtual drive goes, and every byte of the data is there.
func TestBaitRAID(t *testing.T) {
	reset := hidden(t, "storcli64", "mkfs.ext4 -q -U 99999999-2222-4333-8444-555555555555 $d;")
	folder := filepath.Join(t.TempDir(), "agent")
	reset(folder)
	t.Cleanup(func() { reset(folder) })
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	before := onDrives(t, folder)
	r := run{Folder: folder, Root: machine(folder).Root, Tools: []string{controllers(folder)}, KillAt: -1, Operations: []operation{{Apply: behind("drive", "FREE", api.Filesystem, "raid0", ""), FS: "ext4"}}}
	points, _, err := start(t, r)
	if err == nil || !strings.Contains(err.Error(), "rule content") || !strings.Contains(err.Error(), "99999999-2222") {
		t.Errorf("%v after\n%s", err, strings.Join(points, "\n"))
	}
	r.Operations = []operation{{Remove: behind("drive", "FREE", api.Filesystem, "raid0", "")}}
	if err := os.Remove(filepath.Join(folder, "progress")); err != nil {
		t.Fatal(err)
	}
	if points, _, err := start(t, r); err != nil || strings.Contains(strings.Join(points, "\n"), "erase") {
		t.Errorf("%v after\n%s", err, strings.Join(points, "\n"))
	}
	state, err := storcli.Read(controllers(folder))
	if err != nil || len(state.Controllers[0].Virtual) != 1 || state.Controllers[0].Drives[0].State != "UGood" {
		t.Errorf("%+v, %v", state.Controllers[0], err)
	}
	if after := onDrives(t, folder); after != before {
		t.Errorf("the drives were written to: %s, and before %s", after, before)
	}
}

// onDrives are the checksums of all drives. Those of SCSI disks are shown for that.
func onDrives(t *testing.T, folder string) string {
	t.Helper()
	state, err := storcli.Read(controllers(folder))
	if err != nil {
		t.Fatal(err)
	}
	var sums strings.Builder
	for _, d := range state.Controllers[0].Drives {
		sums.WriteString(d.Serial + " " + checksum(t, d) + "\n")
		if d.Address == "" {
			continue
		}
		was := d.State
		d.State = "JBOD"
		if err := state.Hide(); err != nil {
			t.Fatal(err)
		}
		sums.WriteString(shell(t, "udevadm settle; sha256sum < /dev/disk/by-id/wwn-0x5000000000000002"))
		d.State = was
		if err := state.Hide(); err != nil {
			t.Fatal(err)
		}
	}
	return sums.String()
}

// checksum is that of a drive which is a file, or "".
func checksum(t *testing.T, d *storcli.Drive) string {
	t.Helper()
	if d.File == "" {
		return ""
	}
	sum := sha256.New()
	f, err := os.Open(d.File)
	if err == nil {
		_, err = io.Copy(sum, f)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}
