package gpt

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"unicode/utf16"
)

// Disk is what a table is written to.
type Disk interface {
	io.WriterAt
	Sync() error
}

// Write writes both copies and the protective MBR. Each part is on the disk before the
// next is begun: the copy at the end, then the entries at the beginning, then the MBR, and
// the header at the beginning last.
func (t *Table) Write(disk Disk) error {
	list, err := t.entries()
	if err != nil {
		return err
	}
	last := t.Size/t.Sector - 1
	listSectors := int64(len(list)) / t.Sector
	if t.Size < 4*Align || int64(len(list))%t.Sector != 0 {
		return fmt.Errorf("a disk of %d bytes with sectors of %d is too small for a partition table", t.Size, t.Sector)
	}
	front, err := t.header(1, last, 2, list)
	if err != nil {
		return err
	}
	back, err := t.header(last, 1, last-listSectors, list)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		at   int64
		data []byte
	}{
		{(last - listSectors) * t.Sector, list}, {last * t.Sector, back},
		{2 * t.Sector, list}, {0, t.protective()}, {t.Sector, front},
	} {
		if _, err := disk.WriteAt(part.data, part.at); err != nil {
			return fmt.Errorf("partition table at byte %d: %w", part.at, err)
		}
		if err := disk.Sync(); err != nil {
			return fmt.Errorf("partition table at byte %d: %w", part.at, err)
		}
	}
	return nil
}

func (t *Table) entries() ([]byte, error) {
	list := make([]byte, entries*entrySize)
	for _, p := range t.Partitions {
		if p.Number < 1 || p.Number > entries {
			return nil, fmt.Errorf("partition %d is not among the %d of this table", p.Number, entries)
		}
		e := list[(p.Number-1)*entrySize:]
		if err := writeGUID(e, p.Type); err != nil {
			return nil, err
		}
		if err := writeGUID(e[16:], p.GUID); err != nil {
			return nil, err
		}
		binary.LittleEndian.PutUint64(e[32:], uint64(p.Start/t.Sector))
		binary.LittleEndian.PutUint64(e[40:], uint64(p.End()/t.Sector-1))
		// 36 UTF-16 units; a name is for people, the GUID is what counts.
		for i, unit := range utf16.Encode([]rune(p.Name)) {
			if i == 36 {
				break
			}
			binary.LittleEndian.PutUint16(e[56+2*i:], unit)
		}
	}
	return list, nil
}

func (t *Table) header(at, other, list int64, content []byte) ([]byte, error) {
	h := make([]byte, t.Sector)
	le := binary.LittleEndian
	copy(h, signature)
	le.PutUint32(h[8:], 0x00010000)
	le.PutUint32(h[12:], headerSize)
	le.PutUint64(h[24:], uint64(at))
	le.PutUint64(h[32:], uint64(other))
	sectors := int64(len(content)) / t.Sector
	le.PutUint64(h[40:], uint64(2+sectors))
	le.PutUint64(h[48:], uint64(t.Size/t.Sector-1-sectors-1))
	if err := writeGUID(h[56:], t.GUID); err != nil {
		return nil, err
	}
	le.PutUint64(h[72:], uint64(list))
	le.PutUint32(h[80:], entries)
	le.PutUint32(h[84:], entrySize)
	le.PutUint32(h[88:], crc32.ChecksumIEEE(content))
	le.PutUint32(h[16:], crc32.ChecksumIEEE(h[:headerSize]))
	return h, nil
}

// protective is the MBR that keeps tools without GPT off the disk.
func (t *Table) protective() []byte {
	b := make([]byte, t.Sector)
	e := b[446:]
	copy(e, []byte{0, 0, 2, 0, 0xee, 0xff, 0xff, 0xff})
	binary.LittleEndian.PutUint32(e[8:], 1)
	binary.LittleEndian.PutUint32(e[12:], uint32(min(t.Size/t.Sector-1, 0xffffffff)))
	b[510], b[511] = 0x55, 0xaa
	return b
}
