package worktree

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the checksum of the format
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// index is the index of a work tree. Of the entries that are not ours every bit is kept.
//
// Source: Documentation/gitformat-index.adoc, Git 2.47.
type index struct {
	entries []indexEntry // by name and stage
	kept    []byte       // extensions that stay right whatever the entries are
}

type indexEntry struct {
	stat     [statSize]byte // what lstat said when the content was last compared; zero for unknown
	hash     plumbing.Hash
	flags    uint16 // without the length of the name
	extended uint16
	name     string
}

const (
	statSize   = 40
	statMode   = 24 // where the mode is in it
	flagExtend = 0x4000
	flagStage  = 0x3000
	flagLength = 0x0fff
)

// readIndex reads the index; one that is not there has no entries.
func (w *WorkTree) readIndex() (*index, error) {
	data, err := os.ReadFile(w.indexFile())
	if errors.Is(err, fs.ErrNotExist) {
		return &index{}, nil
	}
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.indexFile(), err)
	}
	return x, nil
}

func (w *WorkTree) indexFile() string { return filepath.Join(w.git, "index") }

var errIndex = errors.New("is damaged; rebuild it with git reset")

func parseIndex(data []byte) (*index, error) {
	const head = 12
	if len(data) < head+sha1.Size || string(data[:4]) != "DIRC" {
		return nil, errIndex
	}
	body, sum := data[:len(data)-sha1.Size], data[len(data)-sha1.Size:]
	if want := sha1.Sum(body); !bytes.Equal(sum, want[:]) && !bytes.Equal(sum, make([]byte, sha1.Size)) { // zero with index.skipHash
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(body[4:]), binary.BigEndian.Uint32(body[8:])
	if version < 2 || version > 4 {
		return nil, fmt.Errorf("has the version %d, which is not known; write it again with git update-index --index-version 2", version)
	}
	x, rest, before := &index{}, body[head:], ""
	for range count {
		e, size, ok := parseEntry(rest, version, before)
		if !ok {
			return nil, errIndex
		}
		x.entries = append(x.entries, e)
		rest, before = rest[size:], e.name
	}
	for len(rest) >= 8 {
		name, size := string(rest[:4]), int(binary.BigEndian.Uint32(rest[4:]))
		if size > len(rest)-8 {
			return nil, errIndex
		}
		switch {
		case name == "link":
			return nil, errors.New("is split, which is not supported; run git update-index --no-split-index")
		case name == "sdir":
			return nil, errors.New("is sparse, which is not supported; run git sparse-checkout reapply --no-sparse-index")
		case name[0] < 'A' || name[0] > 'Z':
			return nil, fmt.Errorf("has the extension %q, which is not known", name)
		case name == "REUC": // how conflicts were resolved; all others are caches
			x.kept = append(x.kept, rest[:8+size]...)
		}
		rest = rest[8+size:]
	}
	return x, nil
}

// parseEntry reads an entry, and says how many bytes it has.
func parseEntry(data []byte, version uint32, before string) (e indexEntry, size int, ok bool) {
	const fixed = statSize + sha1.Size + 2
	if len(data) < fixed {
		return e, 0, false
	}
	copy(e.stat[:], data)
	copy(e.hash[:], data[statSize:])
	e.flags = binary.BigEndian.Uint16(data[statSize+sha1.Size:]) &^ flagLength
	size = fixed
	if e.flags&flagExtend != 0 {
		if len(data) < size+2 {
			return e, 0, false
		}
		e.extended = binary.BigEndian.Uint16(data[size:])
		size += 2
	}
	if version == 4 { // the name is that of the entry before, without some bytes at its end, and a rest
		cut, n := varint(data[size:])
		if n == 0 || cut > len(before) {
			return e, 0, false
		}
		size += n
		before = before[:len(before)-cut]
	} else {
		before = ""
	}
	end := bytes.IndexByte(data[size:], 0)
	if end < 0 {
		return e, 0, false
	}
	e.name = before + string(data[size:size+end])
	size += end + 1
	if version != 4 {
		size = (size + 7) &^ 7
	}
	return e, size, size <= len(data)
}

// varint is a number as pack files have offsets, and how many bytes it takes, 0 for none.
func varint(data []byte) (n, size int) {
	for i, b := range data[:min(len(data), 4)] {
		n = n<<7 | int(b&0x7f)
		if b&0x80 == 0 {
			return n, i + 1
		}
		n++
	}
	return 0, 0
}

// bytes is the index as a file.
func (x *index) bytes() []byte {
	version := uint32(2)
	if slices.ContainsFunc(x.entries, func(e indexEntry) bool { return e.flags&flagExtend != 0 }) {
		version = 3
	}
	b := binary.BigEndian.AppendUint32([]byte("DIRC"), version)
	b = binary.BigEndian.AppendUint32(b, uint32(len(x.entries)))
	for i := range x.entries {
		e := &x.entries[i]
		start := len(b)
		b = append(append(b, e.stat[:]...), e.hash[:]...)
		b = binary.BigEndian.AppendUint16(b, e.flags|uint16(min(len(e.name), flagLength)))
		if e.flags&flagExtend != 0 {
			b = binary.BigEndian.AppendUint16(b, e.extended)
		}
		b = append(append(b, e.name...), 0)
		for (len(b)-start)%8 != 0 {
			b = append(b, 0)
		}
	}
	b = append(b, x.kept...)
	sum := sha1.Sum(b)
	return append(b, sum[:]...)
}

// find finds an entry without a conflict.
func (x *index) find(name string) (*indexEntry, bool) {
	i, found := x.place(name)
	if !found || x.entries[i].flags&flagStage != 0 {
		return nil, false
	}
	return &x.entries[i], true
}

func (x *index) place(name string) (int, bool) {
	return slices.BinarySearchFunc(x.entries, name, func(e indexEntry, name string) int { return strings.Compare(e.name, name) })
}

// set gives a file another content; zero removes it.
func (x *index) set(name string, hash plumbing.Hash) {
	const regular = 0o100644
	i, found := x.place(name)
	switch {
	case found && hash.IsZero():
		x.entries = slices.Delete(x.entries, i, i+1)
		return
	case hash.IsZero():
		return
	case !found:
		x.entries = slices.Insert(x.entries, i, indexEntry{name: name})
		binary.BigEndian.PutUint32(x.entries[i].stat[statMode:], regular)
	}
	e := &x.entries[i]
	mode := bytes.Clone(e.stat[statMode : statMode+4])
	e.stat, e.hash = [statSize]byte{}, hash
	copy(e.stat[statMode:], mode)
}
