package document

import (
	"bytes"
	"strings"
)

// part is the text of one document of a source.
type part struct {
	whole      int  // where its directives or its --- begin
	start, end int  // its text
	inline     bool // its text begins on the line of its ---
	directives bool // it has directives that matter (%TAG)
}

// splitter cuts a source into documents. A line that begins with --- or ... and
// a blank ends a document wherever it stands, inside quotes too.
type splitter struct {
	text  string
	pos   int
	marks []int // where these lines begin
}

// isMark reports whether a line that begins at i ends a document.
func isMark(text []byte, i int) bool {
	if i+3 > len(text) || text[i] != '-' && text[i] != '.' || text[i+1] != text[i] || text[i+2] != text[i] {
		return false
	}
	return i+3 == len(text) || isBlank(text[i+3])
}

// msgConflict says what to do about a file that Git could not merge.
const msgConflict = "unresolved merge conflict; resolve it (in rendered/, take one side of each file whole, then render again); docs/merging.md says how"

// minConflict is the length of a conflict marker of Git (gitattributes, conflict-marker-size).
const minConflict = 7

// isConflict reports whether a line that begins at i is one that Git writes where a merge
// failed. No object has such a line: what it contains is indented.
func isConflict(text []byte, i int) bool {
	if i+minConflict > len(text) {
		return false
	}
	c, end := text[i], i
	if c != '<' && c != '|' && c != '=' && c != '>' {
		return false
	}
	for end < len(text) && text[end] == c {
		end++
	}
	switch {
	case end-i < minConflict:
		return false
	case end == len(text), text[end] == '\n', text[end] == '\r':
		return true
	}
	return c != '=' && text[end] == ' '
}

// CheckMerged reports the first line of a source that Git wrote where a merge failed, as a
// *SyntaxError. Parse does, too.
func CheckMerged(src *Source) error {
	for i := bomLen(src.Data); i < len(src.Data); i = nextLine(src.Data, i) {
		if isConflict(src.Data, i) {
			return &SyntaxError{src.Position(int32(i)), msgConflict}
		}
	}
	return nil
}

// nextLine is the start of the line after i.
func nextLine(text []byte, i int) int {
	if j := bytes.IndexByte(text[i:], '\n'); j >= 0 {
		return i + j + 1
	}
	return len(text)
}

// Blank reports whether a text has nothing but comments, and marks between documents.
func Blank(text []byte) bool {
	for i := bomLen(text); i < len(text); i = nextLine(text, i) {
		line := bytes.TrimSpace(text[i:nextLine(text, i)])
		if len(line) > 0 && line[0] != '#' && !isMark(line, 0) {
			return false
		}
	}
	return true
}

// next cuts off the next document; more is false at the end.
func (s *splitter) next(src *Source) (p part, more bool, err error) {
	if s.pos >= len(s.text) {
		return part{}, false, nil
	}
	p = part{whole: s.pos, start: s.pos}
	p.end = s.marker(s.pos)
	first, other := directives(s.text[p.start:p.end])
	p.directives = other
	if first || p.start == p.end {
		if p.end < len(s.text) && s.text[p.end] == '-' {
			if !other {
				p.whole = p.end
			}
			p.start, p.inline = s.afterMarker(p.end)
			p.end = p.start
			if p.inline {
				p.end = lineEnd(s.text, p.start)
			}
			p.end = s.marker(p.end)
		}
	}
	s.pos = p.end
	if p.end < len(s.text) && s.text[p.end] == '.' {
		next, inline := s.afterMarker(p.end)
		if inline {
			return p, false, &SyntaxError{src.Position(int32(next)), "nothing but a comment may follow ... on its line; start the next document with ---"}
		}
		s.pos = next
	}
	return p, true, nil
}

// marker finds the first line from pos on that is a --- or ... line.
func (s *splitter) marker(pos int) int {
	for len(s.marks) > 0 && s.marks[0] < pos {
		s.marks = s.marks[1:]
	}
	if len(s.marks) == 0 {
		return len(s.text)
	}
	return s.marks[0]
}

// afterMarker gives the place where the text goes on after a marker: the start
// of the next line, or, inline, what follows the marker on its own line.
func (s *splitter) afterMarker(mark int) (pos int, inline bool) {
	end := lineEnd(s.text, mark)
	for i := mark + len("---"); i < end; i++ {
		switch c := s.text[i]; {
		case c == '#':
			return end, false
		case !isBlank(c):
			return i, true
		}
	}
	return end, false
}

// directives reports whether a text begins with directives, and whether there
// are others than %YAML, which changes nothing.
func directives(text string) (first, other bool) {
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		if strings.HasPrefix(line, "%") {
			first = true
			other = other || !strings.HasPrefix(line, "%YAML ")
		} else if line = strings.TrimLeft(line, " \t\r"); line != "" && line[0] != '#' {
			return first, first // content before the ---: the general parser says what is wrong
		}
		text = rest
	}
	return first, other
}
