// Package gpt reads and writes GUID partition tables (UEFI 2.10, section 5.3). It writes
// the copy at the end of the disk first and the header at its beginning last, so that
// whatever ends it half way leaves a disk that carries our GUID or none at all.
package gpt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/google/uuid"
)

// ErrNone says that there is no table.
var ErrNone = errors.New("there is no GUID partition table")

// Align is to what partitions are aligned, and what is kept free at either end of a disk.
const Align = 1 << 20

// LinuxData is the type of a partition that holds Linux data.
const LinuxData = "0fc63daf-8483-4772-8e79-3d69d8477de4"

const (
	signature  = "EFI PART"
	headerSize = 92
	entries    = 128
	entrySize  = 128
)

// Table is a partition table.
type Table struct {
	GUID       string // of the disk, lower case
	Sector     int64  // bytes
	Size       int64  // of the disk, bytes
	Partitions []Partition
	// Copies says how many of the two copies are whole.
	Copies int
}

// Partition is an entry.
type Partition struct {
	Number int    // from 1
	GUID   string // lower case
	Type   string // lower case
	Name   string
	Start  int64 // bytes
	Size   int64 // bytes
}

// End is the first byte after it.
func (p Partition) End() int64 { return p.Start + p.Size }

// New is an empty table for a disk.
func New(guid string, size, sector int64) Table {
	return Table{GUID: strings.ToLower(guid), Size: size, Sector: sector}
}

// Find is the partition with a GUID.
func (t *Table) Find(guid string) (Partition, bool) {
	for _, p := range t.Partitions {
		if strings.EqualFold(p.GUID, guid) {
			return p, true
		}
	}
	return Partition{}, false
}

// Free are the free ranges, aligned, in the order of the disk.
func (t *Table) Free() []Partition {
	var free []Partition
	at, last := int64(Align), t.Size/Align*Align-Align
	used := slices.Clone(t.Partitions)
	slices.SortFunc(used, func(a, b Partition) int { return int((a.Start - b.Start) / t.Sector) })
	for _, p := range append(used, Partition{Start: last}) {
		if room := (min(p.Start, last) - at) / Align * Align; room > 0 {
			free = append(free, Partition{Start: at, Size: room})
		}
		at = max(at, (p.End()+Align-1)/Align*Align)
	}
	return free
}

// Add puts a partition into the first free range that holds it. A size of 0 takes the
// largest range whole. The error says what is free.
func (t *Table) Add(guid, name string, size int64) (Partition, error) {
	size = (size + Align - 1) / Align * Align
	p := Partition{GUID: strings.ToLower(guid), Type: LinuxData, Name: name, Size: size}
	var largest int64
	for _, free := range t.Free() {
		switch {
		case size == 0 && free.Size > largest:
			p.Start = free.Start
		case size > 0 && p.Start == 0 && free.Size >= size:
			p.Start = free.Start
		}
		largest = max(largest, free.Size)
	}
	if p.Start == 0 {
		return Partition{}, fmt.Errorf("no free range of %d bytes: the largest has %d", size, largest)
	}
	if size == 0 {
		p.Size = largest
	}
	p.Number = 1
	for slices.ContainsFunc(t.Partitions, func(o Partition) bool { return o.Number == p.Number }) {
		p.Number++
	}
	if p.Number > entries {
		return Partition{}, fmt.Errorf("the table has its %d partitions", entries)
	}
	t.Partitions = append(t.Partitions, p)
	return p, nil
}

// Remove takes a partition out.
func (t *Table) Remove(guid string) {
	t.Partitions = slices.DeleteFunc(t.Partitions, func(p Partition) bool { return strings.EqualFold(p.GUID, guid) })
}

// Read reads the table of a disk; where only one copy is whole, that one. The error is
// ErrNone if neither is, and any other if the disk cannot be read.
func Read(disk io.ReaderAt, size, sector int64) (Table, error) {
	var found *Table
	for _, lba := range []int64{1, size/sector - 1} {
		t, ok, err := readCopy(disk, size, sector, lba)
		switch {
		case err != nil:
			return Table{}, err
		case !ok:
		case found == nil:
			found = &t
		case found.GUID == t.GUID && slices.Equal(found.Partitions, t.Partitions):
			found.Copies = 2
		}
	}
	if found == nil {
		return Table{}, ErrNone
	}
	return *found, nil
}

func readCopy(disk io.ReaderAt, size, sector, lba int64) (Table, bool, error) {
	header := make([]byte, sector)
	if _, err := disk.ReadAt(header, lba*sector); err != nil {
		return Table{}, false, fmt.Errorf("sector %d: %w", lba, err)
	}
	le := binary.LittleEndian
	length := le.Uint32(header[12:])
	if string(header[:8]) != signature || length < headerSize || int64(length) > sector {
		return Table{}, false, nil
	}
	sum := le.Uint32(header[16:])
	le.PutUint32(header[16:], 0)
	if crc32.ChecksumIEEE(header[:length]) != sum || int64(le.Uint64(header[24:])) != lba {
		return Table{}, false, nil
	}
	count, width := int64(le.Uint32(header[80:])), int64(le.Uint32(header[84:]))
	if count > 4096 || width < entrySize || width > 4096 {
		return Table{}, false, nil
	}
	list := make([]byte, count*width)
	start := int64(le.Uint64(header[72:]))
	if start <= 0 || start > size/sector {
		return Table{}, false, nil
	}
	if _, err := disk.ReadAt(list, start*sector); err != nil {
		return Table{}, false, fmt.Errorf("sector %d: %w", start, err)
	}
	if crc32.ChecksumIEEE(list) != le.Uint32(header[88:]) {
		return Table{}, false, nil
	}
	t := Table{GUID: readGUID(header[56:]), Sector: sector, Size: size, Copies: 1}
	for i := range count {
		e := list[i*width : (i+1)*width]
		if bytes.Equal(e[:16], make([]byte, 16)) {
			continue
		}
		first, last := int64(le.Uint64(e[32:])), int64(le.Uint64(e[40:]))
		t.Partitions = append(t.Partitions, Partition{
			Number: int(i) + 1, Type: readGUID(e), GUID: readGUID(e[16:]), Name: readName(e[56:128]),
			Start: first * sector, Size: (last - first + 1) * sector,
		})
	}
	return t, true, nil
}

// A GUID on disk has its first three parts in little endian.
func readGUID(b []byte) string {
	var u uuid.UUID
	copy(u[:], b)
	swapGUID(u[:])
	return u.String()
}

func writeGUID(b []byte, guid string) error {
	u, err := uuid.Parse(guid)
	if err != nil {
		return err
	}
	swapGUID(u[:])
	copy(b, u[:])
	return nil
}

func swapGUID(u []byte) {
	slices.Reverse(u[0:4])
	slices.Reverse(u[4:6])
	slices.Reverse(u[6:8])
}

func readName(b []byte) string {
	var units []uint16
	for i := 0; i+1 < len(b); i += 2 {
		unit := binary.LittleEndian.Uint16(b[i:])
		if unit == 0 {
			break
		}
		units = append(units, unit)
	}
	return string(utf16.Decode(units))
}
