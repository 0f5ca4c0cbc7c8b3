package source_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/api"
)

// kills is how many times a test kills the agent: as many as asked for in POOLWRIGHT_TEST_KILLS, which make test-kills
// does, or else a share in each run of the tests.
func kills(t *testing.T, share string) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("POOLWRIGHT_TEST_KILLS"), share))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestKills kills the agent at random points between creating and removing volumes on sparse files, whole disks
// and partitions, beside baits. A new agent continues: the disks end as without a kill, and no bait changes.
func TestKills(t *testing.T) {
	needLoops(t)
	if testing.Short() {
		t.Skip("skipped: it makes some hundred processes, which is no short test")
	}
	one, two := part("one", "S1", "8Mi", api.Filesystem), part("two", "S1", "8Mi", api.Block)
	lives := []struct {
		name       string
		operations []operation
		onDisks    bool
	}{
		{"sparse", []operation{
			{Apply: sparse("data", "40Mi", api.Filesystem), FS: "ext4"}, {Apply: sparse("block", "24Mi", api.Block)},
			{Remove: sparse("data", "40Mi", api.Filesystem)}, {Remove: sparse("block", "24Mi", api.Block)},
		}, false},
		{"raw", []operation{
			{Apply: raw("data", "S1", api.Block)}, {Use: raw("data", "S1", api.Block)}, {Remove: raw("data", "S1", api.Block)},
			{Apply: raw("next", "S1", api.Filesystem), FS: "ext4"}, {Remove: raw("next", "S1", api.Filesystem)},
		}, true},
		{"partitions", []operation{
			{Apply: one, FS: "ext4"}, {Apply: two}, {Use: two}, {Remove: one}, {Apply: part("two", "S1", "16Mi", api.Block)},
			{Remove: part("two", "S1", "16Mi", api.Block)},
		}, true},
	}
	random := rand.New(rand.NewPCG(1, 2))
	total := kills(t, "3")
	for i, l := range lives {
		n := total/len(lives) + min(1, max(0, total%len(lives)-i))
		t.Run(l.name, func(t *testing.T) {
			reset := dropLoops(t)
			if l.onDisks {
				// Baits come along, in the facts that each run reads: all of them where there are many runs.
				disks, _ := baitDisks()
				reset = loopDisks(t, append([]loopDisk{{serial: "S1"}}, disks[:min(len(disks), 2+n)]...)...)
			}
			killAtRandom(t, random, life{l.operations, reset, []string{"sda"}}, n)
		})
	}
}

// TestKillsLVM does the same with groups and logical volumes, on disks of the virtual machine. The baits are other
// disks of it, which are compared from outside.
func TestKillsLVM(t *testing.T) {
	one, scsi := machineDisk(t, "VBLK0001"), machineDisk(t, "SCSI0001")
	both := group("fast", "VBLK0001", "SCSI0001")
	data, bare := logical("data", "fast", "40Mi", api.Filesystem), logical("bare", "fast", "12Mi", api.Block)
	killAtRandom(t, rand.New(rand.NewPCG(3, 4)), life{
		operations: []operation{
			{Group: group("fast", "VBLK0001")}, {Apply: logical("data", "fast", "20Mi", api.Filesystem), FS: "ext4"}, {Apply: bare}, {Use: bare},
			{Group: both}, {Apply: data, FS: "ext4"}, {Remove: data}, {Remove: bare}, {Ungroup: both},
		},
		reset: emptyDisks(t, one, scsi), names: []string{one.Name, scsi.Name},
	}, kills(t, "3"))
}

// life is what is made and removed, on a machine that reset makes again, and the disks that it is on.
type life struct {
	operations []operation
	reset      func(folder string)
	names      []string
}

// killAtRandom runs the operations once without a kill, then repeats them with random kills until there were as
// many kills as asked for.
func killAtRandom(t *testing.T, random *rand.Rand, l life, deaths int) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "agent")
	b := &bench{t: t, folder: folder}
	begin := func() run {
		l.reset(folder)
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		return run{Folder: folder, Root: machine(folder).Root, Operations: l.operations, KillAt: -1, Tools: []string{controllers(folder)}}
	}
	t.Cleanup(func() { dropLoops(t)(folder) })
	r := begin()
	before := b.baitSums()
	points, _, err := start(t, r)
	if err != nil {
		t.Fatalf("without a death: %v", err)
	}
	want := summary(t, folder, l.names...)
	unchanged := func() {
		t.Helper()
		if after := b.baitSums(); after != before {
			t.Fatalf("a bait was written to: %s, was %s", after, before)
		}
	}
	unchanged()
	met := 0
	for met < deaths {
		r := begin()
		before = b.baitSums() // a filesystem is made with another UUID and at another time
		history := ""
		for {
			r.KillAt = random.IntN(2 * len(points) / 3)
			passed, killed, err := start(t, r)
			if err != nil {
				t.Fatalf("killed after %s: %v", history, err)
			}
			if !killed {
				break
			}
			met++
			if met%10 == 0 {
				fmt.Printf("PROGRESS %s: %d deaths\n", t.Name(), met)
			}
			if len(passed) > 0 {
				history += fmt.Sprintf("\n%s", passed[len(passed)-1])
			}
		}
		if got := summary(t, folder, l.names...); got != want {
			t.Fatalf("killed after %s:\n%swant\n%s", history, got, want)
		}
		unchanged()
	}
	t.Logf("%d deaths", met)
}

// baitSums are the checksums of all disks but the first.
func (b *bench) baitSums() (sums string) {
	b.t.Helper()
	for _, sum := range b.sums() {
		if sum[:3] != "S1 " {
			sums += sum + "\n"
		}
	}
	return sums
}
