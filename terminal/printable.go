package terminal

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable makes a text fit for one cell of a table, or one line: what is not
// visible in it is written as in Go. Names, paths and messages in a cluster are
// anybody's, and must not steer the terminal of who looks at them, or add a row.
// Text for machines is not to be changed.
func Printable(s string) string {
	if !strings.ContainsFunc(s, isInvisible) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if !isInvisible(r) && (r != utf8.RuneError || strings.HasPrefix(s[i:], string(utf8.RuneError))) {
			b.WriteRune(r)
			continue
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		quoted := strconv.Quote(s[i : i+size])
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

func isInvisible(r rune) bool { return !unicode.IsPrint(r) }
