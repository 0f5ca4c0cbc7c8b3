package gpt_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/nodeagent/gpt"
	"github.com/poolwright/poolwright/test/tool"
)

const (
	disk = "11111111-2222-5333-8444-555555555555"
	one  = "aaaaaaaa-bbbb-5ccc-8ddd-eeeeeeeeeeee"
	two  = "aaaaaaaa-bbbb-5ccc-8ddd-ffffffffffff"
)

// TestAnswersBlkid holds that what is written is what util-linux reads.
func TestAnswersBlkid(t *testing.T) {
	blkid := tool.Need(t, "blkid")
	path := filepath.Join(t.TempDir(), "disk")
	f := file(t, path, 64<<20)
	table := gpt.New(disk, 64<<20, 512)
	p, err := table.Add(one, "data", 8<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Write(f); err != nil {
		t.Fatal(err)
	}
	out, _, err := tool.Run(t, "", nil, blkid, "-p", "-o", "export", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"PTTYPE=gpt", "PTUUID=" + disk} {
		if !slices.Contains(strings.Split(out, "\n"), want) {
			t.Errorf("blkid says no %s:\n%s", want, out)
		}
	}
	if p.Start != gpt.Align || p.Size != 8<<20 || p.Number != 1 {
		t.Errorf("the first partition is %+v", p)
	}
}

// TestRoundTrip: what is written is read again, from either copy alone.
func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	rapid.Check(t, func(r *rapid.T) {
		sector := rapid.SampledFrom([]int64{512, 4096}).Draw(r, "sector")
		size := rapid.Int64Range(8, 64).Draw(r, "MiB")<<20 + rapid.Int64Range(0, 255).Draw(r, "odd")*4096
		f, err := os.Create(path)
		if err != nil {
			r.Fatal(err)
		}
		defer f.Close()
		if err := f.Truncate(size); err != nil {
			r.Fatal(err)
		}
		table := gpt.New(disk, size, sector)
		for i, guid := range []string{one, two} {
			if _, err := table.Add(guid, "p", rapid.Int64Range(1, 8<<20).Draw(r, "size")); err != nil && i == 0 && size > 12<<20 {
				r.Fatal(err)
			}
		}
		if err := table.Write(f); err != nil {
			r.Fatal(err)
		}
		for _, lost := range []int64{-1, sector, size/sector*sector - sector} {
			if lost >= 0 {
				if _, err := f.WriteAt(make([]byte, sector), lost); err != nil {
					r.Fatal(err)
				}
			}
			got, err := gpt.Read(f, size, sector)
			if lost > sector { // both are gone now
				if !errors.Is(err, gpt.ErrNone) {
					r.Fatalf("read %+v, %v of no table", got, err)
				}
				break
			}
			if err != nil || got.GUID != disk || !slices.Equal(got.Partitions, table.Partitions) {
				r.Fatalf("read %+v, %v; want %+v", got, err, table)
			}
			if want := map[bool]int{true: 2, false: 1}[lost < 0]; got.Copies != want {
				r.Fatalf("%d copies, want %d", got.Copies, want)
			}
		}
		for i, p := range table.Partitions {
			if p.Start%gpt.Align != 0 || p.Start < gpt.Align || p.End() > size-gpt.Align || i > 0 && p.Start < table.Partitions[i-1].End() {
				r.Fatalf("partition %+v of %d bytes", p, size)
			}
		}
	})
}

// TestCutOff holds that a table that is cut off after any of its parts carries our GUID or none.
func TestCutOff(t *testing.T) {
	table := gpt.New(disk, 16<<20, 512)
	if _, err := table.Add(one, "", 0); err != nil {
		t.Fatal(err)
	}
	for parts := range 6 {
		f := file(t, filepath.Join(t.TempDir(), "disk"), 16<<20)
		err := table.Write(&cut{f, parts})
		if (err == nil) != (parts == 5) {
			t.Fatalf("after %d parts: %v", parts, err)
		}
		got, err := gpt.Read(f, 16<<20, 512)
		if err != nil && !errors.Is(err, gpt.ErrNone) || err == nil && got.GUID != disk {
			t.Errorf("after %d parts: %+v, %v", parts, got, err)
		}
		if parts >= 2 && err != nil {
			t.Errorf("after %d parts the copy is there, and is not read: %v", parts, err)
		}
	}
}

type cut struct {
	gpt.Disk
	left int
}

func (c *cut) WriteAt(p []byte, off int64) (int, error) {
	if c.left--; c.left < 0 {
		return 0, errors.New("cut off")
	}
	return c.Disk.WriteAt(p, off)
}

func file(t *testing.T, path string, size int64) *os.File {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	return f
}
