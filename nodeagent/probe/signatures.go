package probe

import (
	"bytes"
	"encoding/binary"
)

// signature is a magic text at a place of the device.
type signature struct {
	kind  string
	magic string
	at    int64 // from the beginning, or before the end where it is negative
}

// signatures are those that need no more than a look at one place. The places are those of
// the formats' own descriptions; wipefs knows many more.
func signatures() []signature {
	return []signature{
		{"bluestore", "bluestore block device\n", 0},
		{"spdk", "SPDKBLOB", 0}, // also the pools of Mayastor
		{"luks", "LUKS\xba\xbe", 0},
		{"luks", "SKUL\xba\xbe", 0x4000},
		{"btrfs", "_BHRfS_M", 64<<10 + 64},
		{"bcache", "\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81", 4096 + 24},
		{"md", "\xfc\x4e\x2b\xa9", 0},    // 1.1
		{"md", "\xfc\x4e\x2b\xa9", 4096}, // 1.2
		{"swap", "SWAPSPACE2", 4096 - 10},
		{"swap", "SWAP-SPACE", 4096 - 10},
		{"swap", "SWAPSPACE2", 64<<10 - 10},
		{"iso9660", "CD001", 32<<10 + 1},
		{"f2fs", "\x10\x20\xf5\xf2", 1024},
		{"reiserfs", "ReIsEr", 64<<10 + 52},
		{"ntfs", "NTFS    ", 3},
		{"exfat", "EXFAT   ", 3},
		{"vfat", "FAT32   ", 82},
		{"vfat", "FAT16   ", 54},
		{"vfat", "FAT12   ", 54},
		{"asm", "ORCLDISK", 32}, // Oracle ASM
		{"squashfs", "hsqs", 0},
		{"erofs", "\xe2\xe1\xf5\xe0", 1024},
		{"vdo", "dmvdo001", 0},
		{"stratis", "!Stra0tis\x86\xff\x02^A\r", 512 + 4},
		{"minix", "\x7f\x13", 1024 + 16},
		{"isw", "Intel Raid ISM Cfg Sig. ", -1024},
		{"ddf", "\xde\x11\xde\x11", -512},
	}
}

// in looks for the signature, and for those that move with the size of the device.
func (s signature) in(head, tail []byte, size int64) bool {
	at := s.at
	from := head
	if at < 0 {
		from, at = tail, at+int64(len(tail))
	}
	if at >= 0 && at+int64(len(s.magic)) <= int64(len(from)) && string(from[at:at+int64(len(s.magic))]) == s.magic {
		return true
	}
	// Versions 1.0 and 0.90 of md are near the end.
	return s.kind == "md" &&
		(atEnd(tail, size, (size-8192)&^4095, s.magic) || atEnd(tail, size, size&^(64<<10-1)-64<<10, s.magic))
}

// atEnd looks at a place of the device that is counted from its beginning and lies in tail.
func atEnd(tail []byte, size, at int64, magic string) bool {
	at -= size - int64(len(tail))
	return at >= 0 && at+int64(len(magic)) <= int64(len(tail)) && string(tail[at:at+int64(len(magic))]) == magic
}

// uberblocks looks for ZFS: its labels are at both ends of a device, and the uberblocks in
// them are at multiples of 1 KiB, in either byte order. cStor's pools are ZFS.
func uberblocks(edge []byte) bool {
	const magic = 0x00bab10c
	for at := 0; at+8 <= len(edge); at += 1024 {
		if binary.LittleEndian.Uint64(edge[at:]) == magic || binary.BigEndian.Uint64(edge[at:]) == magic {
			return true
		}
	}
	return false
}

// physicalVolume is the UUID in the label of an LVM physical volume, which is in one of the
// first four sectors, or "".
func physicalVolume(head []byte) string {
	for at := 0; at+512 <= min(len(head), 2048); at += 512 {
		b := head[at:]
		if string(b[:8]) != "LABELONE" || string(b[24:32]) != "LVM2 001" {
			continue
		}
		offset := int(binary.LittleEndian.Uint32(b[20:]))
		if offset < 32 || offset+32 > 512 {
			return "unreadable"
		}
		id := b[offset : offset+32]
		var text bytes.Buffer
		for i, n := range []int{6, 4, 4, 4, 4, 4, 6} {
			if i > 0 {
				text.WriteByte('-')
			}
			text.Write(id[:n])
			id = id[n:]
		}
		return text.String()
	}
	return ""
}

// partitioned reports whether there is an MBR. A boot sector of a filesystem ends alike, so
// it counts only with a partition in it.
func partitioned(head []byte) bool {
	if len(head) < 512 || head[510] != 0x55 || head[511] != 0xaa {
		return false
	}
	for at := 446; at < 510; at += 16 {
		if head[at+4] != 0 && binary.LittleEndian.Uint32(head[at+12:]) != 0 && head[at]&0x7f == 0 {
			return true
		}
	}
	return false
}
