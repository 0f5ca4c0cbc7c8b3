package document

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"unicode/utf8"
)

// Document is one document of a source.
//
// Start and End are the range of its text in the source: comments above the
// content belong to it, the line with its --- does not. Written back after a
// "---" line, these bytes are the document.
//
// Linked says that parts of the text need other parts: it has aliases (*) or
// directives (%), so only the whole of it can be written back.
type Document struct {
	Node       Node
	Start, End int32
	Linked     bool
}

// SyntaxError says where a source is not YAML, and what to do about it.
type SyntaxError struct {
	Pos Position
	Msg string
}

func (e *SyntaxError) Error() string {
	switch {
	case e.Pos.File == "" && e.Pos.Line == 0:
		return e.Msg
	case e.Pos.Line == 0:
		return e.Pos.File + ": " + e.Msg
	case e.Pos.Column == 0:
		return fmt.Sprintf("%s:%d: %s", e.Pos.File, e.Pos.Line, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Pos.File, e.Pos.Line, e.Pos.Column, e.Msg)
}

const (
	// maxDepth bounds how deep maps and sequences may be nested.
	maxDepth = 1000
	// maxFallback bounds the size of a document that only the general parser
	// can read: it needs some fifteen times the memory.
	maxFallback = 64 << 20
)

// Parse reads all documents of a source. Documents without content are left
// out. The error is a *SyntaxError.
//
// There are two roads to the same tree. The fast one (reader) knows the YAML
// that tools and people write, and stops at anything of which it is not
// certain. Then the general one (fallback, on yaml.v3) reads that document: it
// decides what is an error, and resolves anchors, merge keys and tags.
//
// Several processors read the halves of a long list side by side, which changes nothing
// but the time that it takes.
func Parse(src *Source) ([]Document, error) {
	return parseAt(src, pace{readers: runtime.GOMAXPROCS(0), bytes: 256 << 10})
}

func parseAt(src *Source, p pace) ([]Document, error) {
	marks, odd, err := checkText(src)
	if err != nil {
		return nil, err
	}
	text := src.text()
	parts := splitter{text: text, pos: bomLen(text), marks: marks}
	r := reader{pace: p}
	var docs []Document
	for {
		part, more, err := parts.next(src)
		if err != nil {
			return nil, err
		}
		if !more {
			return docs, nil
		}
		r.text, r.trouble = text[:part.end], trouble{}
		node, linked, found, ok := Node{}, false, false, false
		if !odd && !part.directives {
			node, found, ok = r.document(part)
		}
		if !ok {
			if node, linked, found, err = fallback(src, text, part, r.trouble); err != nil {
				return nil, err
			}
		}
		if found {
			docs = append(docs, Document{node, int32(part.start), int32(part.end), linked})
		}
	}
}

// checkText refuses what is not text in UTF-8. It gives the lines that end a document,
// and reports as odd what only the general parser can count lines in: breaks other than
// LF and CRLF, and byte order marks inside the text.
func checkText(src *Source) (marks []int, odd bool, err error) {
	data := src.Data
	if err := checkSize(src.Name, int64(len(data))); err != nil {
		return nil, false, err
	}
	fail := func(i int, format string, args ...any) ([]int, bool, error) {
		return nil, false, &SyntaxError{src.Position(int32(i)), fmt.Sprintf(format, args...)}
	}
	i := bomLen(data)
	if isConflict(data, i) {
		return fail(i, msgConflict)
	}
	if isMark(data, i) {
		marks = append(marks, i)
	}
	for i < len(data) {
		// Up to eight bytes at once where they are printable ASCII: the first that is
		// not has its highest bit set here.
		if i+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[i:])
			const ones, tops = 0x0101010101010101, 0x8080808080808080
			other := (w | (w - ones*0x20) | (w + ones)) & tops
			if other == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(other) / 8
		}
		switch c := data[i]; {
		case c == '\n':
			i++
			if i < len(data) && data[i] == ' ' {
				continue // as most lines
			}
			if isConflict(data, i) {
				return fail(i, msgConflict)
			}
			if isMark(data, i) {
				marks = append(marks, i)
			}
		case c >= 0x20 && c < 0x7F, c == '\t':
			i++
		case c == '\r':
			if i+1 == len(data) || data[i+1] != '\n' {
				odd = true
			}
			i++
		case c < utf8.RuneSelf:
			if c == 0 {
				return fail(i, "this is not text: it holds a NUL byte; give a YAML or JSON file in UTF-8")
			}
			return fail(i, "this is not text: it holds the control character 0x%02X; remove it, or write it as an escape inside double quotes", c)
		default:
			char, size := utf8.DecodeRune(data[i:])
			switch {
			case char == utf8.RuneError && size == 1:
				return fail(i, "this is not UTF-8: byte 0x%02X is not valid here; save the file as UTF-8", c)
			case char == 0x85, char == 0x2028, char == 0x2029, char == 0xFEFF:
				odd = true
			case char < 0xA0, char == 0xFFFE, char == 0xFFFF:
				return fail(i, "this is not text: it holds the control character U+%04X; remove it, or write it as an escape inside double quotes", char)
			}
			i += size
		}
	}
	return marks, odd, nil
}

func checkSize(name string, size int64) error {
	if size >= math.MaxInt32 {
		return &SyntaxError{Position{File: name}, fmt.Sprintf("%d bytes are too many; split it into files below 2 GiB", size)}
	}
	return nil
}

func bomLen[T string | []byte](text T) int {
	if len(text) >= len(bom) && string(text[:len(bom)]) == bom {
		return len(bom)
	}
	return 0
}
