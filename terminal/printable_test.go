package terminal_test

import (
	"testing"

	"github.com/poolwright/poolwright/terminal"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"/dev/sdb, 2 TiB – “ü”":       "/dev/sdb, 2 TiB – “ü”",
		"\x1b[2J\x1b]0;title\a":       `\x1b[2J\x1b]0;title\a`,
		"a\nOK  b\tc\r":               `a\nOK  b\tc\r`,
		"\u009b31m":                   `\u009b31m`, // the same as ESC [ to some terminals
		"\u202egnp.exe":               `\u202egnp.exe`,
		"lone \x9b byte":              `lone \x9b byte`,
		`back\slash and "quote" stay`: `back\slash and "quote" stay`,
	} {
		if got := terminal.Printable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
