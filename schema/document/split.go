package document

import "strings"

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
	text       string
	pos        int
	dash, dots int // the next line that begins so, from pos on
}

func newSplitter(text string) *splitter {
	return &splitter{text: text, pos: bomLen(text), dash: -1, dots: -1}
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
				p.end = s.lineEnd(p.start)
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

// marker finds the first line from pos on that is a --- or ... line. pos is the
// start of a line.
func (s *splitter) marker(pos int) int {
	if s.dash < pos {
		s.dash = s.find("---", pos)
	}
	if s.dots < pos {
		s.dots = s.find("...", pos)
	}
	return min(s.dash, s.dots)
}

func (s *splitter) find(mark string, pos int) int {
	for pos < len(s.text) {
		if strings.HasPrefix(s.text[pos:], mark) {
			if after := pos + len(mark); after == len(s.text) || isBlank(s.text[after]) {
				return pos
			}
		}
		i := strings.Index(s.text[pos:], "\n"+mark)
		if i < 0 {
			break
		}
		pos += i + 1
	}
	return len(s.text)
}

// afterMarker gives the place where the text goes on after a marker: the start
// of the next line, or, inline, what follows the marker on its own line.
func (s *splitter) afterMarker(mark int) (pos int, inline bool) {
	end := s.lineEnd(mark)
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

// lineEnd is the start of the next line after pos.
func (s *splitter) lineEnd(pos int) int {
	if i := strings.IndexByte(s.text[pos:], '\n'); i >= 0 {
		return pos + i + 1
	}
	return len(s.text)
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

// isBlank reports whether c separates tokens.
func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }
