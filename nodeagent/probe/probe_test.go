package probe_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/gpt"
	"github.com/poolwright/poolwright/nodeagent/probe"
	"github.com/poolwright/poolwright/test/tool"
)

// FuzzRead: whatever is on a disk is read without a panic, and what is not all zero is not
// empty.
func FuzzRead(f *testing.F) {
	table := gpt.New("11111111-2222-5333-8444-555555555555", 8<<20, 512)
	disk := filepath.Join(f.TempDir(), "disk")
	if err := os.WriteFile(disk, make([]byte, 8<<20), 0o600); err != nil {
		f.Fatal(err)
	}
	file, err := os.OpenFile(disk, os.O_RDWR, 0)
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	if err := table.Write(file); err != nil {
		f.Fatal(err)
	}
	head := make([]byte, 4096)
	if _, err := file.ReadAt(head, 0); err != nil {
		f.Fatal(err)
	}
	f.Add(head, uint32(0), false)
	f.Add([]byte("LABELONE\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x20\x00\x00\x00LVM2 001"), uint32(512), false)
	f.Add([]byte("XFSB"), uint32(0), true)
	f.Add([]byte("\x53\xef"), uint32(1080), false)
	f.Fuzz(func(t *testing.T, data []byte, at uint32, end bool) {
		content := make([]byte, 4<<20)
		if end {
			copy(content[max(0, len(content)-len(data)):], data)
		} else {
			copy(content[int(at)%len(content):], data)
		}
		c, err := probe.Read(bytes.NewReader(content), int64(len(content)), 512)
		if err != nil {
			return
		}
		edges := append(bytes.Clone(content[:probe.Edge]), content[len(content)-probe.Edge:]...)
		if zeros := bytes.Equal(edges, make([]byte, len(edges))); c.Blank != zeros || c.Empty() != (zeros && len(c.Kinds) == 0) {
			t.Errorf("zero %v, empty %v: %v", zeros, c.Empty(), c.Kinds)
		}
		m, err := probe.ReadMark(bytes.NewReader(content), int64(len(content)), 512)
		if err != nil || !reflect.DeepEqual(m, probe.Content{Filesystem: c.Filesystem, Table: c.Table, PV: c.PV}) {
			t.Errorf("the mark alone is %+v, %v; all is %+v", m, err, c)
		}
	})
}

// TestExt4 reads what mkfs.ext4 writes: whole, and with a damaged superblock not.
func TestExt4(t *testing.T) {
	mkfs := tool.Need(t, "mkfs.ext4")
	path := filepath.Join(t.TempDir(), "disk")
	const uuid, size = "11111111-2222-5333-8444-555555555555", 16 << 20
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := tool.Run(t, "", nil, mkfs, "-q", "-U", uuid, "-L", "data", path); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := probe.Read(bytes.NewReader(content), size, 512)
	if err != nil || c.Filesystem == nil || *c.Filesystem != (probe.Filesystem{Type: "ext4", UUID: uuid, Label: "data", Size: size, Block: c.Filesystem.Block, Whole: true}) {
		t.Fatalf("%+v, %v", c.Filesystem, err)
	}
	content[1024+200] ^= 1
	c, err = probe.Read(bytes.NewReader(content), size, 512)
	if err != nil || c.Filesystem == nil || c.Filesystem.Whole {
		t.Errorf("with a damaged superblock: %+v, %v", c.Filesystem, err)
	}
}

// TestCopies: a filesystem whose first MiB somebody has zeroed is content, whatever its size, and Copies has the
// places.
func TestCopies(t *testing.T) {
	mkfs := tool.Need(t, "mkfs.ext4")
	for _, args := range [][]string{{"-b", "1024"}, {"-b", "2048"}, {"-b", "4096"}, {"-t", "ext2"}} {
		path := filepath.Join(t.TempDir(), "disk")
		const size = 600 << 20
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size)); err != nil {
			t.Fatal(err)
		}
		if _, stderr, err := tool.Run(t, "", nil, mkfs, append([]string{"-q", "-E", "lazy_itable_init=1"}, append(args, path)...)...); err != nil {
			t.Fatalf("%v\n%s", err, stderr)
		}
		disk, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer disk.Close()
		for _, at := range []int64{0, size - probe.Edge} {
			if _, err := disk.WriteAt(make([]byte, probe.Edge), at); err != nil {
				t.Fatal(err)
			}
		}
		c, err := probe.Read(disk, size, 512)
		if err != nil || c.Empty() || !slices.Equal(c.Kinds, []string{"ext4"}) || !c.Blank {
			t.Errorf("%v: %+v, %v", args, c, err)
		}
		for _, at := range probe.Copies(size) {
			if _, err := disk.WriteAt(make([]byte, probe.CopySize), at); err != nil {
				t.Fatal(err)
			}
		}
		if c, err := probe.Read(disk, size, 512); err != nil || !c.Empty() {
			t.Errorf("%v, without its copies: %+v, %v", args, c, err)
		}
	}
	for at, text := range map[int64]string{150 << 20: "XFSB", 64<<20 + 64: "_BHRfS_M"} {
		content := make([]byte, 600<<20)
		copy(content[at:], text)
		if c, err := probe.Read(bytes.NewReader(content), int64(len(content)), 512); err != nil || c.Empty() {
			t.Errorf("%s at %d: %+v, %v", text, at, c, err)
		}
	}
}

// TestRemnants: what is left of a partition table or an array at the end of a disk has its name, where it is damaged
// and where it is not in its place.
func TestRemnants(t *testing.T) {
	for _, test := range []struct {
		before int64 // the end
		text   string
		want   string
	}{
		{512, "EFI PART", "gpt"}, {4096, "EFI PART", "gpt"}, {512 << 10, "EFI PART", "gpt"},
		{8192, "\xfc\x4e\x2b\xa9\x01\x00\x00\x00", "md"}, {64 << 10, "\xa9\x2b\x4e\xfc\x00\x00\x00\x00", "md"},
		{300 << 10, "\xfc\x4e\x2b\xa9\x00\x00\x00\x00", "md"}, {300 << 10, "\xfc\x4e\x2b\xa9\x07\x00\x00\x00", "data"},
	} {
		content := make([]byte, 8<<20)
		copy(content[len(content)-int(test.before):], test.text)
		c, err := probe.Read(bytes.NewReader(content), int64(len(content)), 512)
		if err != nil || !slices.Equal(c.Kinds, []string{test.want}) {
			t.Errorf("%q, %d bytes before the end: %v, %v", test.text, test.before, c.Kinds, err)
		}
	}
}
