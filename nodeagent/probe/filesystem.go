package probe

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/google/uuid"
)

// filesystem reads the superblock of ext2 to ext4, or of XFS. The places are those of the
// kernel's own descriptions (Documentation/filesystems/ext4, XFS Filesystem Structure).
func filesystem(head []byte) *Filesystem {
	if fs := ext(head); fs != nil {
		return fs
	}
	return xfs(head)
}

func ext(head []byte) *Filesystem {
	if len(head) < 2048 {
		return nil
	}
	sb, le := head[1024:2048], binary.LittleEndian
	if le.Uint16(sb[56:]) != 0xef53 {
		return nil
	}
	const (
		hasJournal   = 0x4     // compatible
		extents      = 0x40    // incompatible
		bit64        = 0x80    // incompatible
		flexGroups   = 0x200   // incompatible
		metadataSums = 0x400   // read-only compatible
		hugeFile     = 0x8     // read-only compatible
		externalLog  = 0x8     // incompatible: this is a journal device
		maxLogBlock  = 6       // 64 KiB
		firstLogSize = 1 << 10 // bytes of a block of logarithm 0
	)
	compat, incompat, roCompat := le.Uint32(sb[92:]), le.Uint32(sb[96:]), le.Uint32(sb[100:])
	fs := &Filesystem{Type: "ext2", UUID: guid(sb[104:120]), Label: text(sb[120:136]), Whole: true}
	switch {
	case incompat&externalLog != 0:
		fs.Type = "jbd"
	case incompat&(extents|bit64|flexGroups) != 0 || roCompat&(metadataSums|hugeFile) != 0:
		fs.Type = "ext4"
	case compat&hasJournal != 0:
		fs.Type = "ext3"
	}
	if log := le.Uint32(sb[24:]); log <= maxLogBlock {
		fs.Block = firstLogSize << log
	}
	blocks := int64(le.Uint32(sb[4:]))
	if incompat&bit64 != 0 {
		blocks |= int64(le.Uint32(sb[0x150:])) << 32
	}
	fs.Size = blocks * fs.Block
	if roCompat&metadataSums != 0 {
		// The kernel's crc32c starts with all ones and is not inverted at the end.
		fs.Whole = ^crc32.Checksum(sb[:1020], crc32.MakeTable(crc32.Castagnoli)) == le.Uint32(sb[1020:])
	}
	return fs
}

func xfs(head []byte) *Filesystem {
	if len(head) < 512 || string(head[:4]) != "XFSB" {
		return nil
	}
	be := binary.BigEndian
	fs := &Filesystem{
		Type: "xfs", UUID: guid(head[32:48]), Label: text(head[108:120]), Block: int64(be.Uint32(head[4:])),
	}
	fs.Size = int64(be.Uint64(head[8:])) * fs.Block
	// mkfs.xfs writes the superblock first, and takes sb_inprogress away as the last thing.
	fs.Whole = head[126] == 0 && be.Uint64(head[48:]) != 0
	return fs
}

func guid(b []byte) string {
	u, err := uuid.FromBytes(b)
	if err != nil {
		return ""
	}
	return u.String()
}

func text(b []byte) string { return string(bytes.TrimRight(b, "\x00")) }
