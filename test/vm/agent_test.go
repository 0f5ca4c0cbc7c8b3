package vm_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/tool"
	"github.com/poolwright/poolwright/test/vm"
)

// machines are the tests of nodeagent/source that each of some machines runs, at the same time.
func machines() map[string]string {
	runs := map[string]string{
		"crashes": "TestCrashDisks",
		"faults":  "TestFaultsDisks|TestKillsLVM",
		"stories": "TestAdoption|TestBaitsAreLeft|TestStory",
	}
	if os.Getenv("POOLWRIGHT_VM_ALL") != "" {
		runs["crashes"] += "|TestBaitRAID"
		runs["faults"] += "|TestCrashRAID"
	}
	return runs
}

// patience is for a machine that runs for one to three minutes where nothing else does.
const patience = time.Hour

// told is what tests say, without the progress of those that pass.
var told = regexp.MustCompile(`(?m)^ +\w+_test\.go:\d+: .*\n(?: {8,}.*\n)*`)

// TestNodeAgent runs the tests of nodeagent/source on the disks of virtual machines. Beside
// the disks that are declared there are baits: disks with somebody's data, of every kind that
// can be made here. Their checksums are the same afterwards. POOLWRIGHT_VM_ALL=1 adds
// RAID controllers, all faults of each run of a program, all points of each step, and all baits in each
// machine; POOLWRIGHT_VM_RUN names other tests, for one
// machine; POOLWRIGHT_TEST_KILLS says how often TestKillsLVM kills the agent, instead of 3 times.
func TestNodeAgent(t *testing.T) {
	begin(t)
	program := build(t, "source")
	var baits []vm.Disk
	for i, content := range baitContents() {
		size := int64(64 << 20)
		if strings.HasPrefix(content, "mkfs.xfs") {
			size = 320 << 20 // it takes no less than 300
		}
		baits = append(baits, vm.NewDisk(t, "virtio", fmt.Sprintf("BAIT%04d", i), "", size))
	}
	fillBaits(t, baits)
	runs := machines()
	if only := os.Getenv("POOLWRIGHT_VM_RUN"); only != "" {
		runs = map[string]string{"named": only}
	}
	var counted sync.Map
	t.Cleanup(func() { // after the machines, which run at the same time
		total := func(what string) (sum int) {
			counted.Range(func(_, out any) bool {
				for _, m := range regexp.MustCompile(`(\d+) `+what).FindAllStringSubmatch(out.(string), -1) {
					n, _ := strconv.Atoi(m[1])
					sum += n
				}
				return true
			})
			return sum
		}
		t.Logf("%d crash points, %d faults, %d baits", total("crash points, of"), total("faults of"), len(baits))
	})
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := copies(t, beside(name, baits))
			before := sums(t, own)
			machine := vm.Machine{Memory: 3072, Timeout: 100 * time.Minute, Disks: append([]vm.Disk{
				vm.NewDisk(t, "virtio", "VBLK0001", "", 320<<20),
				vm.NewDisk(t, "scsi", "SCSI0001", "0x5000000000000001", 640<<20),
				vm.NewDisk(t, "nvme", "NVME0001", "", 64<<20),
				// The drive of a RAID controller, which is there while the controller shows it.
				vm.NewDisk(t, "scsi", "SCSI0002", "0x5000000000000002", 64<<20),
			}, own...)}
			out, code := machine.Run(t, "export POOLWRIGHT_TEST_MACHINE=1 TMPDIR=/var/lib POOLWRIGHT_TEST_KILLS="+os.Getenv("POOLWRIGHT_TEST_KILLS")+
				" "+tool.All+"="+os.Getenv("POOLWRIGHT_VM_ALL")+
				"\ncd /tmp && /source.test -test.v -test.timeout 99m -test.run '"+run+"' 2>&1\n", map[string]string{"/source.test": program})
			t.Log(out)
			counted.Store(name, out)
			if code != 0 || !strings.Contains(out, "--- PASS") {
				t.Errorf("the tests in the virtual machine ended with %d: %s", code, strings.Join(told.FindAllString(out, -1), ""))
			}
			for file, sum := range sums(t, own) {
				if before[file] != sum {
					t.Errorf("the bait %s was written to", filepath.Base(file))
				}
			}
		})
	}
}

// beside are the baits of a machine. Every agent reads all disks: where hundreds of agents die, there are half of the
// baits, and the others in the next machine.
func beside(machine string, baits []vm.Disk) []vm.Disk {
	half := len(baits) / 2
	switch {
	case os.Getenv("POOLWRIGHT_VM_ALL") != "":
		return baits
	case machine == "crashes":
		return baits[:half]
	case machine == "faults":
		return baits[half:]
	}
	return baits
}

// begin leaves a test out unless make test-vm runs it. As many run at the same time as there are processors.
func begin(t *testing.T) {
	t.Helper()
	if os.Getenv("POOLWRIGHT_TEST_VM") == "" {
		t.Skip("skipped: the virtual machine takes long; make test-vm runs it")
	}
	t.Parallel()
}

// copies are disks of the same content.
func copies(t *testing.T, disks []vm.Disk) []vm.Disk {
	t.Helper()
	dir := t.TempDir()
	var all []vm.Disk
	for _, d := range disks {
		to := filepath.Join(dir, filepath.Base(d.File))
		if out, err := exec.Command("cp", "--sparse=always", d.File, to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		d.File = to
		all = append(all, d)
	}
	return all
}

// TestBoot makes volumes and sparse files, boots with the disks attached in another order and without a
// journal, and finds all of them again. One disk has become larger meanwhile. After a third boot the unit that attaches
// sparse files runs before there is an agent.
func TestBoot(t *testing.T) {
	begin(t)
	program := build(t, "source")
	disks := []vm.Disk{
		vm.NewDisk(t, "virtio", "VBLK0001", "", 320<<20), vm.NewDisk(t, "virtio", "VBLK0002", "", 320<<20),
		vm.NewDisk(t, "scsi", "SCSI0001", "0x5000000000000001", 320<<20), vm.NewDisk(t, "scsi", "SCSI0002", "0x5000000000000002", 320<<20),
		vm.NewDisk(t, "nvme", "NVME0001", "", 64<<20), vm.NewDisk(t, "nvme", "NVME0002", "", 64<<20),
		vm.NewDisk(t, "virtio", "STATE001", "", 2<<30), // sparse files leave a GiB free
	}
	files := map[string]string{
		"/source.test": program, "/usr/local/bin/nodeagent": buildAgent(t),
		"/etc/systemd/system/poolwright-attach.service": filepath.Join(tool.Root(t), "deploy/nodeagent/poolwright-attach.service"),
	}
	for _, test := range []string{"TestBootFirst", "TestBootSecond", "TestBootUnit"} {
		out, code := vm.Machine{Disks: disks, Timeout: patience}.Run(t, inMachine("source", test), files)
		t.Log(out)
		if code != 0 || !strings.Contains(out, "--- PASS: "+test) {
			t.Fatalf("%s ended with %d", test, code)
		}
		for _, d := range disks {
			if d.Serial != "SCSI0002" {
				continue
			}
			if err := os.Truncate(d.File, 448<<20); err != nil {
				t.Fatal(err)
			}
		}
		slices.Reverse(disks)
	}
}

// TestReboots makes and removes a group, a logical volume and a partition with a boot between every two
// steps. The disks are attached in another order each time.
func TestReboots(t *testing.T) {
	begin(t)
	program := build(t, "source")
	disks := []vm.Disk{
		vm.NewDisk(t, "virtio", "VBLK0001", "", 320<<20), vm.NewDisk(t, "virtio", "STATE001", "", 64<<20),
		vm.NewDisk(t, "scsi", "SCSI0001", "0x5000000000000001", 320<<20), vm.NewDisk(t, "nvme", "NVME0001", "", 64<<20),
	}
	steps := 0
	for boots := 1; ; boots++ {
		out, code := vm.Machine{Disks: disks, Timeout: patience}.Run(t, inMachine("source", "TestReboot"), map[string]string{"/source.test": program})
		if code != 0 || !strings.Contains(out, "--- PASS: TestReboot") {
			t.Fatalf("boot %d ended with %d:\n%s", boots, code, out)
		}
		done := regexp.MustCompile(`(?m)^STEP POINT (.*) ended`).FindAllStringSubmatch(out, -1)
		for _, m := range done {
			t.Logf("boot %d: %s", boots, m[1])
		}
		steps += len(done)
		if strings.Contains(out, "nothing is left to do") {
			t.Logf("%d boots, of %d steps", boots, steps)
			return
		}
		if boots > 40 {
			t.Fatalf("it gets no further:\n%s", out)
		}
		slices.Reverse(disks)
	}
}

// inMachine is what runs a test in a machine.
func inMachine(name, test string) string {
	return "export POOLWRIGHT_TEST_MACHINE=1 TMPDIR=/tmp\ncd /tmp && /" + name + ".test -test.v -test.run '^" + test + "$' 2>&1\n"
}

// TestNamespaces runs a test that needs a process 1 whose namespaces may be entered.
func TestNamespaces(t *testing.T) {
	begin(t)
	out, code := vm.Machine{Timeout: patience}.Run(t, inMachine("host", "TestNamespaces"), map[string]string{"/host.test": build(t, "host")})
	if code != 0 || !strings.Contains(out, "--- PASS: TestNamespaces") {
		t.Errorf("it ended with %d:\n%s", code, out)
	}
}

// build builds the tests of a package below nodeagent.
func build(t *testing.T, name string) string {
	t.Helper()
	return compile(t, name+".test", "test", "-c", "./nodeagent/"+name)
}

// buildAgent builds the agent.
func buildAgent(t *testing.T) string {
	t.Helper()
	return compile(t, "nodeagent", "build", "-ldflags", "-s -w", "./cmd/nodeagent")
}

// compile has go make a program, static, as the machine has no libraries for it. The package is the last argument.
func compile(t *testing.T, name string, args ...string) string {
	t.Helper()
	vm.Built(t)
	program := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", slices.Insert(args, len(args)-1, "-o", program)...)
	cmd.Dir, cmd.Env = tool.Root(t), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// baitContents are what is put on each bait, whose path is $d.
func baitContents() []string {
	return []string{
		"mkfs.ext4 -q -F $d", "mkfs.xfs -q -f $d", "mkswap $d", "lvm pvcreate -y $d", "lvm vgcreate bait $d && lvm lvcreate -an -L 8M -n data bait",
		"printf 'label: gpt\\n,16M\\n' | sfdisk -q $d", "printf 'label: dos\\n,16M\\n' | sfdisk -q $d",
		"mdadm --create /dev/md9 --run --level=1 --raid-devices=2 --metadata=1.0 $d missing && mdadm --stop /dev/md9",
		"printf 'bluestore block device\\n' | dd of=$d conv=notrunc", "printf SPDKBLOB | dd of=$d conv=notrunc",
		"echo secret | cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $d",
		// Data without a name, at the last byte: an old database, say.
		"printf x | dd of=$d bs=1 seek=$(($(blockdev --getsize64 $d) - 1)) conv=notrunc",
	}
}

// fillBaits puts somebody's data on disks: in a machine of their own.
func fillBaits(t *testing.T, baits []vm.Disk) {
	t.Helper()
	var script strings.Builder
	script.WriteString("set -ex\nexec 2>&1\n")
	for i, content := range baitContents() {
		fmt.Fprintf(&script, "d=$(readlink -f /dev/disk/by-id/virtio-%s); %s\n", baits[i].Serial, content)
	}
	out, code := vm.Machine{Disks: baits, Timeout: patience}.Run(t, script.String()+"udevadm settle; sync\n", nil)
	if code != 0 {
		t.Fatalf("the baits cannot be made: %s", out)
	}
}

func sums(t *testing.T, disks []vm.Disk) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, d := range disks {
		f, err := os.Open(d.File)
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.New()
		if _, err := io.Copy(hash, f); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		all[d.File] = fmt.Sprintf("%x", hash.Sum(nil))
	}
	return all
}
