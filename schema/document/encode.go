package document

import (
	"strings"
	"unicode/utf8"
)

// Append writes a tree as block YAML, every line behind indent spaces and with
// a break at its end. There is one form for each tree, so equal trees whose
// keys have one order give equal bytes:
//
//   - two spaces for each level, "- " at the indentation of its key, {} and []
//     for what is empty, keys in the order of the tree;
//   - a text is plain where no YAML reader, of version 1.1 or 1.2, could take it
//     for anything else; a text of several lines is a literal block where that
//     keeps it exactly; any other text stands in double quotes, as JSON would
//     write it;
//   - numbers and booleans stand as they were read.
//
// Bytes that are not UTF-8 become U+FFFD.
func Append(dst []byte, n *Node, indent int) []byte {
	dst = appendSpaces(dst, indent)
	return appendBlock(dst, n, indent)
}

// Room is about how many bytes Append writes for a tree: enough where no text needs escapes
// or several lines.
func Room(n *Node, indent int) int {
	const around = len(`: ""`) + 1 // a value
	room := around + len(n.Value())
	for i := range n.Fields() {
		f := &n.Fields()[i]
		room += indent + len(f.Key) + Room(&f.Value, indent+2)
	}
	for i := range n.Items() {
		room += indent + Room(&n.Items()[i], indent+2)
	}
	return room
}

// appendBlock writes what follows the indentation of the first line.
func appendBlock(dst []byte, n *Node, indent int) []byte {
	switch {
	case n == nil || n.Kind() == Null:
		return append(dst, "null\n"...)
	case n.Kind() == Map && len(n.Fields()) > 0:
		for i := range n.Fields() {
			if i > 0 {
				dst = appendSpaces(dst, indent)
			}
			dst = appendKey(dst, n.Fields()[i].Key, indent)
			dst = appendValue(dst, &n.Fields()[i].Value, indent)
		}
		return dst
	case n.Kind() == Seq && len(n.Items()) > 0:
		for i := range n.Items() {
			if i > 0 {
				dst = appendSpaces(dst, indent)
			}
			dst = append(dst, "- "...)
			if item := &n.Items()[i]; item.Kind() == Scalar {
				dst = appendScalar(dst, item, indent+2)
			} else {
				dst = appendBlock(dst, item, indent+2)
			}
		}
		return dst
	case n.Kind() == Map:
		return append(dst, "{}\n"...)
	case n.Kind() == Seq:
		return append(dst, "[]\n"...)
	case n.isText():
		return append(appendText(dst, n.Value()), '\n')
	}
	return append(append(dst, n.Value()...), '\n')
}

// maxKey is the most bytes that a key takes on one line, with its quotes: YAML
// allows 1024 characters. A longer one takes the "? " form.
const maxKey = 1000

func appendKey(dst []byte, key string, indent int) []byte {
	start := len(dst)
	dst = appendText(dst, key)
	if len(dst)-start > maxKey {
		dst = append(dst[:start], "? "...)
		dst = append(appendText(dst, key), '\n')
		dst = appendSpaces(dst, indent)
	}
	return append(dst, ':')
}

// appendValue writes what follows the colon of a key at indent.
func appendValue(dst []byte, n *Node, indent int) []byte {
	switch {
	case n.Kind() == Map && len(n.Fields()) > 0:
		dst = appendSpaces(append(dst, '\n'), indent+2)
		return appendBlock(dst, n, indent+2)
	case n.Kind() == Seq && len(n.Items()) > 0:
		dst = appendSpaces(append(dst, '\n'), indent)
		return appendBlock(dst, n, indent)
	}
	dst = append(dst, ' ')
	if n.Kind() == Scalar {
		return appendScalar(dst, n, indent+2)
	}
	return appendBlock(dst, n, indent)
}

// appendScalar writes a scalar that may be a literal block, whose lines stand at
// indent then.
func appendScalar(dst []byte, n *Node, indent int) []byte {
	if !n.isText() {
		return append(append(dst, n.Value()...), '\n')
	}
	switch s := n.Value(); {
	case isPlain(s): // as most are
		return append(append(dst, s...), '\n')
	case !isLiteral(s):
		return append(appendQuoted(dst, s), '\n')
	}
	dst = append(dst, '|')
	text, ends := strings.CutSuffix(n.Value(), "\n")
	if !ends {
		dst = append(dst, '-')
	}
	for more := true; more; {
		var line string
		line, text, more = strings.Cut(text, "\n")
		dst = append(dst, '\n')
		if line != "" {
			dst = append(appendSpaces(dst, indent), line...)
		}
	}
	return append(dst, '\n')
}

// isLiteral reports whether a literal block keeps a text of several lines: it
// begins with content, ends with at most one break, no line is only blanks or
// begins with a tab, and all of it is printable.
func isLiteral(s string) bool {
	if strings.IndexByte(s, '\n') < 0 || isBlank(s[0]) || strings.HasSuffix(s, "\n\n") {
		return false
	}
	blank := false // only blanks on this line, and at least one
	start := true
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\n':
			if blank {
				return false
			}
			start = true
		case c == '\t' && start:
			return false
		case c == ' ' || c == '\t':
			blank = blank || start
			start = false
		case c < ' ' || c == 0x7F:
			return false
		case c < utf8.RuneSelf:
			start, blank = false, false
		default:
			char, size := utf8.DecodeRuneInString(s[i:])
			if !isPrintable(char, size) {
				return false
			}
			start, blank = false, false
			i += size
			continue
		}
		i++
	}
	return !blank
}

// isPrintable reports whether a character outside ASCII may stand in YAML as it
// is, in every version, and is no kind of break.
func isPrintable(char rune, size int) bool {
	switch {
	case char == utf8.RuneError && size == 1, char < 0xA0, char == 0x2028, char == 0x2029, char == 0xFEFF, char == 0xFFFE, char == 0xFFFF:
		return false
	}
	return true
}

// appendText writes a text on one line.
func appendText(dst []byte, s string) []byte {
	if isPlain(s) {
		return append(dst, s...)
	}
	return appendQuoted(dst, s)
}

// isPlain reports whether a text needs no quotes.
func isPlain(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c >= 0x7F:
			return false
		case c == ':':
			if i+1 == len(s) || s[i+1] == ' ' {
				return false
			}
		case c == '#':
			if i == 0 || s[i-1] == ' ' {
				return false
			}
		}
	}
	if s[len(s)-1] == ' ' {
		return false
	}
	switch c := s[0]; {
	case isLetter(c):
		return !isWord(s)
	case c >= '0' && c <= '9':
		return !mayBeNumber(s)
	case c == '/' || c == '_' || c == '(' || c == '$' || c == ';' || c == '^':
		return true
	case c == '-':
		rest := strings.TrimPrefix(s[1:], "-")
		return rest != "" && isLetter(rest[0])
	case c == '.':
		return len(s) > 1 && s[1] == '/'
	}
	return false
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isWord reports whether a text is one of the words that some YAML reader takes
// for a boolean, a null or a number.
func isWord(s string) bool {
	if len(s) > len("false") {
		return false
	}
	for _, word := range [...]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan"} {
		if len(word) == len(s) && strings.EqualFold(word, s) {
			return true
		}
	}
	return false
}

// mayBeNumber reports whether a text that begins with a digit has only
// characters that numbers and dates have, in any base and of any version:
// 0x1F, 0o17, 1_000, 12:30:45, 1E5, 2001-12-14t21:59:43.10-05:00.
func mayBeNumber(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'f':
		case strings.IndexByte("xXoOtTzZ.,_+-: ", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// appendQuoted writes a text as a JSON string that is one in YAML too: YAML takes
// fewer characters as they are.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0 // written up to here
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < 0x7F {
			i++
			continue
		}
		size := 1
		char := rune(c)
		if c >= utf8.RuneSelf {
			char, size = utf8.DecodeRuneInString(s[i:])
			if isPrintable(char, size) {
				i += size
				continue
			}
		}
		dst = append(dst, s[done:i]...)
		i += size
		done = i
		switch char {
		case '"', '\\':
			dst = append(dst, '\\', byte(char))
		case '\n':
			dst = append(dst, `\n`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\r':
			dst = append(dst, `\r`...)
		default:
			const hex = "0123456789abcdef"
			dst = append(dst, '\\', 'u', hex[char>>12&15], hex[char>>8&15], hex[char>>4&15], hex[char&15])
		}
	}
	return append(append(dst, s[done:]...), '"')
}

func appendSpaces(dst []byte, n int) []byte {
	const spaces = "                                                                "
	for n > len(spaces) {
		dst = append(dst, spaces...)
		n -= len(spaces)
	}
	return append(dst, spaces[:max(n, 0)]...)
}
