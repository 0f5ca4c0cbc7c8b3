// Package probe says what is on a device. It reads, and never writes.
//
// That a device has no known signature does not make it empty: raw databases, plain
// dm-crypt and volumes of mode Block have none. Empty is a device all of whose first and
// last MiB are zero, on which neither this package nor wipefs finds anything, and which has no copy of a
// superblock further in.
package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/poolwright/poolwright/nodeagent/gpt"
)

// Edge is how much is read at either end of a device. Every signature known here lies
// within it.
const Edge = 1 << 20

// Content is what is on a device.
type Content struct {
	// Kinds are the names of what is on it, sorted: ext4, xfs, lvm, md, zfs and so on, and
	// "data" for what has no name.
	Kinds []string
	// Blank says that all of the first and the last MiB is zero.
	Blank bool
	// Filesystem is that of an ext or XFS filesystem.
	Filesystem *Filesystem
	// Table is its partition table, if it has a GUID partition table.
	Table *gpt.Table
	// PV is the UUID of the LVM physical volume on it, as LVM writes it.
	PV string
}

// Filesystem is an ext2, ext3, ext4 or XFS filesystem.
type Filesystem struct {
	Type  string
	UUID  string // lower case
	Label string
	Size  int64 // bytes
	Block int64 // bytes of a block
	Whole bool  // made to its end, with a checksum that is right: a superblock alone can be of a mkfs that was cut off
}

// Has reports whether something of a kind is on the device.
func (c Content) Has(kind string) bool { return slices.Contains(c.Kinds, kind) }

// Empty reports whether nothing is on the device, as far as it was read.
func (c Content) Empty() bool { return c.Blank && len(c.Kinds) == 0 }

// Read reads a device of size bytes with sectors of sector bytes. Any error means that
// nothing may be concluded.
func Read(device io.ReaderAt, size, sector int64) (Content, error) {
	if size <= 0 {
		return Content{}, errors.New("the device has no size")
	}
	head, err := read(device, 0, min(size, Edge))
	if err != nil {
		return Content{}, err
	}
	tail, err := read(device, max(0, size-Edge), min(size, Edge))
	if err != nil {
		return Content{}, err
	}
	c := Content{Blank: zero(head) && zero(tail)}
	if zero(head) {
		// Somebody has zeroed the beginning: a filesystem has copies of its superblock further in.
		if c.Kinds, err = backups(device, size); err != nil {
			return Content{}, err
		}
	}
	if c.Blank {
		return c, nil
	}
	for _, s := range signatures() {
		if s.in(head, tail, size) {
			c.Kinds = append(c.Kinds, s.kind)
		}
	}
	if fs := filesystem(head); fs != nil {
		c.Filesystem = fs
		c.Kinds = append(c.Kinds, fs.Type)
	}
	if c.PV = physicalVolume(head); c.PV != "" {
		c.Kinds = append(c.Kinds, "lvm")
	}
	if uberblocks(head) || uberblocks(tail) {
		c.Kinds = append(c.Kinds, "zfs")
	}
	switch table, err := gpt.Read(device, size, sector); {
	case err == nil:
		c.Table = &table
		c.Kinds = append(c.Kinds, "gpt")
	case !errors.Is(err, gpt.ErrNone):
		return Content{}, err
	case len(head) >= 1024 && (string(head[512:520]) == "EFI PART" || len(head) > 4104 && string(head[4096:4104]) == "EFI PART"):
		c.Kinds = append(c.Kinds, "gpt") // damaged, or of another sector size
	case partitioned(head):
		c.Kinds = append(c.Kinds, "mbr")
	}
	c.Kinds = append(c.Kinds, remnants(tail)...)
	if len(c.Kinds) == 0 {
		c.Kinds = []string{"data"}
	}
	slices.Sort(c.Kinds)
	c.Kinds = slices.Compact(c.Kinds)
	return c, nil
}

// ReadMark reads only what has a UUID that the agent knows: the filesystem, the label of LVM and the
// table. It says nothing of what else is on the device.
func ReadMark(device io.ReaderAt, size, sector int64) (Content, error) {
	head, err := read(device, 0, min(size, 4096))
	if err != nil {
		return Content{}, err
	}
	c := Content{Filesystem: filesystem(head), PV: physicalVolume(head)}
	switch table, err := gpt.Read(device, size, sector); {
	case err == nil:
		c.Table = &table
	case !errors.Is(err, gpt.ErrNone):
		return Content{}, err
	}
	return c, nil
}

// Add adds what another prober found.
func (c *Content) Add(kinds ...string) {
	if len(kinds) > 0 {
		c.Kinds = slices.DeleteFunc(c.Kinds, func(k string) bool { return k == "data" })
	}
	c.Kinds = append(c.Kinds, kinds...)
	slices.Sort(c.Kinds)
	c.Kinds = slices.Compact(c.Kinds)
}

func read(device io.ReaderAt, at, n int64) ([]byte, error) {
	b := make([]byte, n)
	if got, err := device.ReadAt(b, at); int64(got) < n {
		return nil, fmt.Errorf("byte %d: %w", at+int64(got), err)
	}
	return b, nil
}

func zero(b []byte) bool {
	var block [4096]byte
	for len(b) > 0 {
		n := min(len(b), len(block))
		if !bytes.Equal(b[:n], block[:n]) {
			return false
		}
		b = b[n:]
	}
	return true
}
