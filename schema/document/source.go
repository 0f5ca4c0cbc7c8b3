package document

import (
	"bytes"
	"sync"
	"unicode/utf8"
	"unsafe"
)

// Source is one file or stream as it was read. Its Data does not change.
type Source struct {
	Name string // as it is to be named in messages
	Data []byte

	// NoLines says that the text was encoded again, so that its lines are not those of the file:
	// a position has only its name.
	NoLines bool

	index sync.Once
	lines []int // the breaks before each stretch of Data
}

// text is Data as a string, of which the values of its nodes are parts. It is no copy: a
// snapshot has many megabytes, and Data does not change.
func (s *Source) text() string { return unsafe.String(unsafe.SliceData(s.Data), len(s.Data)) }

// stretch is how many bytes lie between two entries of the index of lines.
const stretch = 64 << 10

// Position is a place in a source. Line and Column count from 1, Column in
// characters; 0 means not known.
type Position struct {
	File   string
	Line   int
	Column int
}

// Position turns a byte offset into a place.
func (s *Source) Position(off int32) Position {
	if s == nil || off < 0 || int(off) > len(s.Data) {
		return Position{}
	}
	if s.NoLines {
		return Position{File: s.Name}
	}
	head := s.Data[:off]
	start := bytes.LastIndexByte(head, '\n') + 1
	lead := head[start:]
	if start == 0 {
		lead = bytes.TrimPrefix(lead, []byte(bom))
	}
	return Position{
		File:   s.Name,
		Line:   s.breaks(int(off)) + 1,
		Column: utf8.RuneCount(lead) + 1,
	}
}

// breaks counts the line breaks before off. The first call indexes the source:
// a bad input of many megabytes has thousands of findings.
func (s *Source) breaks(off int) int {
	lineBreak := []byte{'\n'}
	s.index.Do(func() {
		total := 0
		for from := 0; from <= len(s.Data); from += stretch {
			s.lines = append(s.lines, total)
			total += bytes.Count(s.Data[from:min(from+stretch, len(s.Data))], lineBreak)
		}
	})
	from := off / stretch
	return s.lines[from] + bytes.Count(s.Data[from*stretch:off], lineBreak)
}

const bom = "\uFEFF"
