package document

import "strings"

// lineEnd is the start of the line after i.
func lineEnd(text string, i int) int {
	if j := strings.IndexByte(text[i:], '\n'); j >= 0 {
		return i + j + 1
	}
	return len(text)
}

// restOfLine looks whether the rest of a line is blank or a comment, and gives
// the start of the next line, or the place of what stands there instead.
func restOfLine(text string, start int) (pos int, bare bool) {
	i := start
	for i < len(text) && text[i] == ' ' {
		i++
	}
	switch {
	case i == len(text):
		return i, true
	case text[i] == '\n':
		return i + 1, true
	case text[i] == '\r':
		return i + 2, true
	case text[i] == '#' && i > start:
		return lineEnd(text, i), true
	}
	return i, false
}

// blankAt reports whether a blank or the end stands at i.
func blankAt(text string, i int) bool { return i >= len(text) || isBlank(text[i]) }

// colonAfter gives the place of the colon that makes what ends at end a key, or -1.
func colonAfter(text string, end int) int {
	for end < len(text) && text[end] == ' ' {
		end++
	}
	if end < len(text) && text[end] == ':' && blankAt(text, end+1) {
		return end
	}
	return -1
}

// plainEnd gives the place where one line of a plain scalar ends: at the break,
// at a colon that makes it a key, or at a comment.
func plainEnd(text string, i int) int {
	for ; i < len(text); i++ {
		switch text[i] {
		case '\n':
			return i
		case ':':
			if i+1 == len(text) || isBlank(text[i+1]) {
				return i
			}
		case '#':
			if c := text[i-1]; c == ' ' || c == '\t' {
				return i
			}
		}
	}
	return i
}

// trimBlanks cuts the blanks at the end of a line.
func trimBlanks(line string) string {
	end := len(line)
	for end > 0 && isBlank(line[end-1]) {
		end--
	}
	return line[:end]
}

// isBlank reports whether c separates tokens.
func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }
