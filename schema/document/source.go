package document

import (
	"bytes"
	"unicode/utf8"
)

// Source is one file or stream as it was read.
type Source struct {
	Name string // as it is to be named in messages
	Data []byte
}

// Position is a place in a source. Line and Column count from 1, Column in
// characters; 0 means not known.
type Position struct {
	File   string
	Line   int
	Column int
}

// Position turns a byte offset into a place. It scans the source, so it is for
// messages, not for loops.
func (s *Source) Position(off int32) Position {
	if s == nil || off < 0 || int(off) > len(s.Data) {
		return Position{}
	}
	head := s.Data[:off]
	start := bytes.LastIndexByte(head, '\n') + 1
	lead := head[start:]
	if start == 0 {
		lead = bytes.TrimPrefix(lead, []byte(bom))
	}
	return Position{
		File:   s.Name,
		Line:   bytes.Count(head, []byte{'\n'}) + 1,
		Column: utf8.RuneCount(lead) + 1,
	}
}

const bom = "\uFEFF"
