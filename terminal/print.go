package terminal

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"unicode/utf16"
	"unicode/utf8"
)

// Printf is fmt.Fprintf for people: the format is the program's own, and each
// argument is Printable, whatever is in it. An argument cannot begin a line or a
// cell of a table. %q is for text that is quoted as in Go.
func Printf(w io.Writer, format string, args ...any) (int, error) {
	return fmt.Fprintf(w, format, printable(args)...)
}

// Println is fmt.Fprintln for people: one line, with arguments that are Printable.
func Println(w io.Writer, args ...any) (int, error) {
	return fmt.Fprintln(w, printable(args)...)
}

func printable(args []any) []any {
	safe := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			safe[i] = cell(v)
		case fmt.Stringer:
			safe[i] = cell(v.String())
		case error:
			safe[i] = cell(v.Error())
		default:
			switch reflect.ValueOf(arg).Kind() {
			case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
				safe[i] = arg
			default:
				safe[i] = cell(fmt.Sprint(arg))
			}
		}
	}
	return safe
}

// cell is a text that is escaped once, also where it is quoted.
type cell string

// Format implements fmt.Formatter.
func (c cell) Format(s fmt.State, verb rune) {
	text := string(c)
	if verb != 'q' {
		text = Printable(text)
	}
	fmt.Fprintf(s, fmt.FormatString(s, verb), text)
}

// JSON escapes what is not visible in the strings of a JSON text. It means the same.
func JSON(text []byte) []byte {
	if Visible(text) {
		return text
	}
	var b bytes.Buffer
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r != utf8.RuneError && !isInvisible(r):
			b.Write(text[:size])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	return b.Bytes()
}

// Visible reports whether everything in a text of lines can be seen.
func Visible(text []byte) bool {
	return utf8.Valid(text) && !bytes.ContainsFunc(text, func(r rune) bool { return r != '\n' && isInvisible(r) })
}
