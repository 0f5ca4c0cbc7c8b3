package source_test

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/gpt"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/probe"
)

// at puts texts on a disk, each at a byte from its beginning, or before its end where that is negative.
func at(texts map[int64]string) func(*testing.T, string) {
	return func(t *testing.T, file string) {
		t.Helper()
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		for place, text := range texts {
			if place < 0 {
				place += info.Size()
			}
			_, written := f.WriteAt([]byte(text), place)
			err = errors.Join(err, written)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// filesystemOn makes a filesystem, and then zeroes so much of the beginning.
func filesystemOn(zeroed int64, args ...string) func(*testing.T, string) {
	return func(t *testing.T, file string) {
		t.Helper()
		if out, err := exec.Command("mkfs.ext4", append(append([]string{"-q", "-F"}, args...), file)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		at(map[int64]string{0: strings.Repeat("\x00", int(zeroed))})(t, file)
	}
}

// tableOn writes a partition table, and then damages what is to be damaged.
func tableOn(guid string, damage map[int64]string) func(*testing.T, string) {
	return func(t *testing.T, file string) {
		t.Helper()
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		table := gpt.New(guid, info.Size(), 512)
		_, err = table.Add(guid, "theirs", 4<<20)
		if err := errors.Join(err, table.Write(f), f.Close()); err != nil {
			t.Fatal(err)
		}
		at(damage)(t, file)
	}
}

// baits are disks with somebody's data, beside those of test/vm, and for what their content is refused.
func baits() map[string]struct {
	size int64
	fill func(*testing.T, string)
	rule guard.Rule
	says string
} {
	type bait = struct {
		size int64
		fill func(*testing.T, string)
		rule guard.Rule
		says string
	}
	const small, guid = 24 << 20, "77777777-2222-4333-8444-555555555555"
	ours := mark.Cluster("test").Of(api.KindVolume, "another", "n1")
	mib := strings.Repeat("\x00", probe.Edge)
	md := string(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 0xa92b4efc), 1))
	old := string(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 0xa92b4efc), 0))
	return map[string]bait{
		"EXT1K":     {small, filesystemOn(probe.Edge, "-b", "1024"), guard.RuleContent, "ext4"},
		"EXT2K":     {72 << 20, filesystemOn(probe.Edge, "-b", "2048"), guard.RuleContent, "ext4"},
		"EXT2":      {small, filesystemOn(probe.Edge, "-t", "ext2", "-b", "1024"), guard.RuleContent, "ext4"},
		"XFSCOPY":   {small, at(map[int64]string{small / 4: "XFSB"}), guard.RuleContent, "xfs"},
		"BTRFSCOPY": {72 << 20, at(map[int64]string{64<<20 + 64: "_BHRfS_M"}), guard.RuleContent, "btrfs"},
		"GPTEND":    {small, tableOn(guid, map[int64]string{0: mib}), guard.RuleContent, "gpt"},
		"GPTBAD":    {small, tableOn(guid, map[int64]string{0: mib, -512 + 16: "damaged"}), guard.RuleContent, "gpt"},
		"GPTMOVED":  {small, at(map[int64]string{-300 << 10: "EFI PART"}), guard.RuleContent, "gpt"},
		"GPTNOHEAD": {small, tableOn(guid, map[int64]string{512: "damaged!", -512: "damaged!"}), guard.RuleContent, ""},
		"MD10":      {small, at(map[int64]string{-500 << 10: md}), guard.RuleContent, "md"},
		"MD090":     {small, at(map[int64]string{-64 << 10: old}), guard.RuleContent, "md"},
		"ZFSEND":    {small, at(map[int64]string{-384 << 10: "\x0c\xb1\xba\x00\x00\x00\x00\x00"}), guard.RuleContent, "zfs"},
		"LUKS2":     {small, at(map[int64]string{0x4000: "SKUL\xba\xbe"}), guard.RuleContent, "luks"},
		"LVMTHIRD":  {small, at(map[int64]string{1024: "LABELONE\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x20\x00\x00\x00LVM2 001"}), guard.RuleContent, "lvm"},
		"BYTE":      {small, at(map[int64]string{probe.Edge - 1: "x"}), guard.RuleContent, "data of an unknown kind"},
		"OURS":      {small, filesystemOn(0, "-U", ours), guard.RuleContent, "ext4 (UUID " + ours + ")"},
		"OURTABLE":  {small, tableOn(ours, nil), guard.RuleContent, "gpt"},
	}
}

// baitDisks are the baits as disks, and their serial numbers.
func baitDisks() (disks []loopDisk, serials []string) {
	all := baits()
	for serial := range all {
		serials = append(serials, serial)
	}
	slices.Sort(serials)
	for _, serial := range serials {
		disks = append(disks, loopDisk{serial: serial, size: all[serial].size, fill: all[serial].fill})
	}
	return disks, serials
}

// TestBaitDisks: disks with somebody's data are refused in each way to take one, for what is on them, and not a byte
// of them is changed.
func TestBaitDisks(t *testing.T) {
	disks, serials := baitDisks()
	b := &bench{t: t, folder: filepath.Join(t.TempDir(), "agent")}
	loopDisks(t, disks...)(b.folder)
	if err := os.MkdirAll(b.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	b.begin()
	before := b.sums()
	refused := 0
	for _, serial := range serials {
		bait := baits()[serial]
		for _, v := range []*api.Volume{raw("bait", serial, api.Filesystem), raw("bait", serial, api.Block), part("bait", serial, "4Mi", api.Block)} {
			_, err := operation{Apply: v, FS: "ext4"}.once(b.engine)
			var refusal guard.Refusal
			if !errors.As(err, &refusal) || refusal.Rule != bait.rule || !strings.Contains(refusal.Text, bait.says) {
				t.Errorf("%s: %v, want the rule %s and %q", serial, err, bait.rule, bait.says)
			}
			refused++
		}
	}
	if after := b.sums(); !slices.Equal(before, after) {
		t.Errorf("a bait was written to: before\n%s\nafter\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	t.Logf("%d baits refused in %d attempts", len(serials), refused)
}

// TestBaitInUse: what is empty by its content, and somebody's by its use, is refused as well.
func TestBaitInUse(t *testing.T) {
	b := newBench(t, "S1")
	end := b.export("sda")
	for _, v := range []*api.Volume{raw("bait", "S1", api.Filesystem), raw("bait", "S1", api.Block)} {
		b.refused(operation{Apply: v, FS: "ext4"}, guard.RuleExported, "/dev/sda is under /dev/loop")
	}
	end()
	user, err := os.OpenFile(b.real("sda"), os.O_RDONLY|os.O_EXCL, 0)
	if err != nil {
		t.Fatal(err)
	}
	b.refused(operation{Apply: raw("bait", "S1", api.Filesystem), FS: "ext4"}, guard.RuleClaimed, "/dev/sda: somebody has it for himself")
	if err := user.Close(); err != nil {
		t.Fatal(err)
	}
}
