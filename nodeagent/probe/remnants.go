package probe

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// copyAt is where a filesystem may have a copy of its superblock.
type copyAt struct {
	kind string
	at   int64 // of the superblock, bytes
	is   func(block []byte) bool
}

// backups are the filesystems of which a copy of the superblock is on a device whose first MiB is zero. One that
// cannot be read is an error.
func backups(device io.ReaderAt, size int64) ([]string, error) {
	var kinds []string
	block := make([]byte, 4096)
	for _, c := range copies(size) {
		if c.at < Edge || c.at+int64(len(block)) > size {
			continue
		}
		if _, err := device.ReadAt(block, c.at); err != nil {
			return nil, fmt.Errorf("byte %d: %w", c.at, err)
		}
		if c.is(block) {
			kinds = append(kinds, c.kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds), nil
}

// copies are the places of copies, for the sizes of blocks and groups that mkfs chooses by itself. They are few: an
// empty disk that turns is asked for each of them.
func copies(size int64) []copyAt {
	var all []copyAt
	// ext2 to ext4: in the groups 1 and 3, of 8 * block size blocks.
	for _, block := range []int64{1 << 10, 2 << 10, 4 << 10, 16 << 10, 64 << 10} {
		for _, group := range []int64{1, 3} {
			at := group * 8 * block * block
			if block == 1<<10 {
				at += block // the first block is that of the boot sector
			}
			all = append(all, copyAt{"ext4", at, extCopy})
		}
	}
	// XFS: at the beginning of the second allocation group, of 4 up to 4 TiB, more on stripes, or of a TiB each.
	xfsCopy := func(b []byte) bool { return string(b[:4]) == "XFSB" }
	const block = 4 << 10
	places := []int64{1 << 40, 1<<40 - block}
	for _, groups := range []int64{4, 16, 32} {
		blocks := size / block
		places = append(places, blocks/groups*block, (blocks+groups-1)/groups*block)
	}
	for _, at := range places {
		all = append(all, copyAt{"xfs", at, xfsCopy})
	}
	// btrfs: at fixed places.
	for _, at := range []int64{64 << 20, 256 << 30} {
		all = append(all, copyAt{"btrfs", at, func(b []byte) bool { return string(b[64:72]) == "_BHRfS_M" }})
	}
	return all
}

// Copies are the ranges of a device, of CopySize bytes each, that Read looks at between its ends.
func Copies(size int64) []int64 {
	var starts []int64
	for _, c := range copies(size) {
		if start := c.at &^ 4095; start >= Edge && start+CopySize <= size {
			starts = append(starts, start)
		}
	}
	slices.Sort(starts)
	return slices.Compact(starts)
}

// CopySize is how much of a device has a copy of a superblock, and what a sector of 4 KiB adds before and behind.
const CopySize = 8 << 10

// extCopy reports whether a block is a superblock of ext: its magic, and a block size that there is.
func extCopy(b []byte) bool {
	return binary.LittleEndian.Uint16(b[56:]) == 0xef53 && binary.LittleEndian.Uint32(b[24:]) <= 6
}

// remnants are what the end of a device has of partition tables and of md arrays, also where it is damaged or is not
// where the size of the device would have it: the device was another one's part, or has grown.
func remnants(tail []byte) []string {
	var kinds []string
	for at := 0; at+16 <= len(tail); at += 512 {
		b := tail[at:]
		if string(b[:8]) == "EFI PART" {
			kinds = append(kinds, "gpt")
		}
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			if order.Uint32(b) == 0xa92b4efc && order.Uint32(b[4:]) <= 1 { // its version, 0.90 or 1
				kinds = append(kinds, "md")
			}
		}
	}
	return kinds
}
