package document

import (
	"strings"
	"unicode/utf8"
)

// plainStart checks that a plain scalar begins at i, outside flow collections.
func (r *reader) plainStart(i int) bool {
	switch c := r.text[i]; c {
	case '-':
		if !blankAt(r.text, i+1) {
			return true
		}
		return r.stop(i, msgIndent)
	case '@', '`', '%', ',', ']', '}':
		return r.stop(i, msgReserved)
	case '\t':
		return r.stop(i, msgTab)
	case '?', ':':
		return !blankAt(r.text, i+1) || r.stop(i, "")
	case '&', '*', '!', '|', '>', '#', '[', '{', '"', '\'':
		return r.stop(i, "")
	}
	return true
}

// plain makes the plain scalar whose first line ends at end, and moves on. Lines
// that follow deeper than indent go on with it.
func (r *reader) plain(start, end, indent int) bool {
	text := r.text
	value := trimBlanks(text[start:end])
	r.node = plainNode(value, start)
	if end < len(text) && text[end] == '#' {
		r.pos = lineEnd(r.text, end)
		return r.next()
	}
	r.pos = min(end+1, len(text))
	if !r.next() {
		return false
	}
	if r.col > indent && !r.comment {
		return r.plainLines(value, start, indent)
	}
	return true
}

// plainNode makes a plain scalar, or the null that it stands for.
func plainNode(value string, start int) Node {
	switch value {
	case "~", "null", "Null", "NULL":
		return Node{Off: int32(start)}
	}
	return plain(value, int32(start))
}

// plainLines reads the lines of a plain scalar behind the first: a break is a
// space, each empty line a break.
func (r *reader) plainLines(first string, start, indent int) bool {
	buf := append(r.buf[:0], first...)
	for r.col > indent && !r.comment {
		if r.empty == 0 {
			buf = append(buf, ' ')
		}
		for range r.empty {
			buf = append(buf, '\n')
		}
		end := plainEnd(r.text, r.pos)
		if end < len(r.text) && r.text[end] == ':' {
			return r.stop(r.pos, msgIndent)
		}
		buf = append(buf, trimBlanks(r.text[r.pos:end])...)
		if end < len(r.text) && r.text[end] == '#' {
			r.pos = lineEnd(r.text, end)
			if !r.next() {
				return false
			}
			break
		}
		r.pos = min(end+1, len(r.text))
		if !r.next() {
			return false
		}
	}
	r.node, r.buf = plainNode(string(buf), start), buf
	return true
}

// quoted reads the quoted scalar at start.
func (r *reader) quoted(start int) (value string, end int, ok bool) {
	text, quote := r.text, r.text[start]
	for i := start + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			if quote == '\'' && i+1 < len(text) && text[i+1] == '\'' {
				return r.quotedSlow(start)
			}
			return text[start+1 : i], i + 1, true
		case c == '\n', c == '\\' && quote == '"':
			return r.quotedSlow(start)
		}
	}
	return "", start, r.stop(start, msgQuote)
}

// quotedSlow reads a quoted scalar with escapes or several lines. Blanks around
// a break are dropped; one break is a space, each further one a break.
func (r *reader) quotedSlow(start int) (value string, end int, ok bool) {
	text, quote := r.text, r.text[start]
	buf := r.buf[:0]
	blanks := 0      // how many blanks at the end of buf would go with a break
	folding := false // in the blanks behind a break
	breaks := 0
	flush := func() {
		if !folding {
			return
		}
		if breaks == 1 {
			buf = append(buf, ' ')
		}
		for range breaks - 1 {
			buf = append(buf, '\n')
		}
		folding, breaks = false, 0
	}
	for i := start + 1; i < len(text); i++ {
		c := text[i]
		switch {
		case c == ' ' || c == '\t':
			if !folding {
				buf = append(buf, c)
				blanks++
			}
			continue
		case c == '\r':
			continue // part of CRLF
		case c == '\n':
			if !folding {
				buf = buf[:len(buf)-blanks]
			}
			folding = true
			breaks++
			blanks = 0
			continue
		}
		flush()
		blanks = 0
		switch {
		case c == quote && quote == '\'' && i+1 < len(text) && text[i+1] == '\'':
			buf = append(buf, c)
			i++
		case c == quote:
			r.buf = buf
			return string(buf), i + 1, true
		case c == '\\' && quote == '"':
			if i+1 == len(text) {
				break
			}
			if next := text[i+1]; next == '\n' || next == '\r' {
				// The escaped break itself says nothing, each empty line behind it
				// is a break.
				for i = lineEnd(r.text, i); i < len(text) && isBlank(text[i]); i++ {
					if text[i] == '\n' {
						buf = append(buf, '\n')
					}
				}
				i--
				continue
			}
			var size int
			if buf, size = appendEscape(buf, text[i+1:]); size == 0 {
				return "", start, r.stop(i, "this escape is not known; write \\\\ for a backslash")
			}
			i += size
		default:
			buf = append(buf, c)
		}
	}
	return "", start, r.stop(start, msgQuote)
}

// appendEscape decodes the escape sequence behind a backslash; size is 0 if it
// is not one.
func appendEscape(buf []byte, s string) (out []byte, size int) {
	switch s[0] {
	case '0':
		return append(buf, 0), 1
	case 'a':
		return append(buf, '\a'), 1
	case 'b':
		return append(buf, '\b'), 1
	case 't', '\t':
		return append(buf, '\t'), 1
	case 'n':
		return append(buf, '\n'), 1
	case 'v':
		return append(buf, '\v'), 1
	case 'f':
		return append(buf, '\f'), 1
	case 'r':
		return append(buf, '\r'), 1
	case 'e':
		return append(buf, 0x1B), 1
	case ' ', '"', '\'', '\\':
		return append(buf, s[0]), 1
	case 'N':
		return append(buf, "\u0085"...), 1
	case '_':
		return append(buf, "\u00A0"...), 1
	case 'L':
		return append(buf, "\u2028"...), 1
	case 'P':
		return append(buf, "\u2029"...), 1
	case 'x':
		size = 2
	case 'u':
		size = 4
	case 'U':
		size = 8
	default:
		return buf, 0
	}
	if len(s) <= size {
		return buf, 0
	}
	var char uint32
	for _, c := range []byte(s[1 : size+1]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return buf, 0
		}
		char = char<<4 | uint32(c)
	}
	if char > utf8.MaxRune || !utf8.ValidRune(rune(char)) {
		return buf, 0
	}
	return utf8.AppendRune(buf, rune(char)), size + 1
}

// blockScalar reads the literal (|) or folded (>) text whose indicator stands at
// pos. indent is the column of the collection around it.
func (r *reader) blockScalar(indent int) bool {
	text, start := r.text, r.pos
	literal := text[start] == '|'
	i := start + 1
	var chomp byte
	width := 0 // of the indentation; 0: that of the first line with content
	for ; i < len(text); i++ {
		if c := text[i]; (c == '+' || c == '-') && chomp == 0 {
			chomp = c
		} else if c >= '1' && c <= '9' && width == 0 {
			width = max(indent, 0) + int(c-'0')
		} else {
			break
		}
	}
	i, bare := restOfLine(r.text, i)
	if !bare {
		return r.stop(i, "")
	}
	r.node = quoted("", int32(start))

	buf := r.buf[:0]
	line, first, oneLine := i, -1, 0
	breaks := 0         // empty lines not written yet
	broken := false     // a break not written yet
	afterBlank := false // the line before began with a blank
	for {
		// Indentation and empty lines.
		widest := 0
		for {
			line = i
			for i < len(text) && (width == 0 || i-line < width) && text[i] == ' ' {
				i++
			}
			widest = max(widest, i-line)
			if i == len(text) {
				break
			}
			if text[i] == '\t' && (width == 0 || i-line < width) {
				return r.stop(i, msgTab)
			}
			if text[i] == '\r' {
				i++
			}
			if text[i] != '\n' {
				break
			}
			breaks++
			i++
		}
		if width == 0 {
			width = max(widest, indent+1, 1)
		}
		if i == len(text) || i-line != width {
			break
		}
		// A line with content.
		blank := text[i] == ' ' || text[i] == '\t'
		if broken {
			if literal || afterBlank || blank {
				buf = append(buf, '\n')
			} else if breaks == 0 {
				buf = append(buf, ' ')
			}
		}
		for range breaks {
			buf = append(buf, '\n')
		}
		breaks, afterBlank = 0, blank
		end := lineEnd(r.text, i)
		content := strings.TrimSuffix(text[i:end], "\n")
		broken = len(content) < end-i
		if broken {
			content = strings.TrimSuffix(content, "\r")
		}
		if first < 0 && len(buf) == 0 {
			first, oneLine = i, i+len(content)
		} else {
			oneLine = -1
		}
		buf = append(buf, content...)
		i = end
	}
	if broken && chomp != '-' {
		buf = append(buf, '\n')
	}
	if chomp == '+' {
		for range breaks {
			buf = append(buf, '\n')
		}
	}
	r.buf = buf
	// One line, the most common form, needs no copy.
	if first >= 0 && oneLine >= 0 && strings.HasPrefix(text[first:], string(buf)) {
		r.node.SetValue(text[first : first+len(buf)])
	} else {
		r.node.SetValue(string(buf))
	}
	r.pos = line
	return r.next()
}
