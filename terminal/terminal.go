// Package terminal is about the person in front of the screen: what is only
// shown to people, and never to a pipe or a log file.
package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// Is reports whether a stream is a terminal, or another device that is no pipe
// and no file.
func Is(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// HasColor reports whether text on a stream may be coloured.
func HasColor(stream any) bool {
	return Is(stream) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Colors of the severities.
const (
	Red    = "\x1b[31m"
	Yellow = "\x1b[33m"
	Cyan   = "\x1b[36m"
	Plain  = "\x1b[0m"
)

const (
	patience = time.Second            // work that takes less shows nothing
	beat     = 250 * time.Millisecond // between two updates
)

// Progress shows on a terminal that long work goes on, until the function that
// it returns is called. On anything else it does nothing.
func Progress(w io.Writer, what string) (stop func()) {
	return Follow(w, func() string { return what })
}

// Follow is Progress for work that can say how far it is. It is asked now and
// then, from another goroutine.
func Follow(w io.Writer, what func() string) (stop func()) {
	if !Is(w) {
		return func() {}
	}
	done, gone := make(chan struct{}), make(chan struct{})
	start := time.Now()
	go func() {
		defer close(gone)
		wait := patience
		for {
			select {
			case <-done:
				if wait != patience {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-time.After(wait):
				wait = beat
				fmt.Fprint(w, "\r\x1b[K"+line(what(), time.Since(start), columns(w)))
			}
		}
	}()
	var once sync.Once
	return func() { once.Do(func() { close(done); <-gone }) }
}

// line is what goes on, and for how long, in less than a number of columns, 0 for
// any: a line that wraps cannot be written over, and the last column wraps in some
// terminals.
func line(what string, since time.Duration, columns int) string {
	text, clock := []rune(Printable(what)), fmt.Sprintf(" … %.1f s", since.Seconds())
	if room := max(columns-1-utf8.RuneCountInString(clock), 0); columns > 0 && len(text) > room {
		text = text[:room]
	}
	return string(text) + clock
}

// columns is the width of a terminal now, 0 if it is not known.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}
