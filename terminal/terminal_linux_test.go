package terminal_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/terminal"
	"github.com/poolwright/poolwright/test/tool"
)

// open makes a terminal of a width, and returns what a program writes to, and what
// the screen gets.
func open(t *testing.T, columns uint16) (program, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		tool.Missing(t, fmt.Sprintf("no terminal to test with: %v", err))
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		tool.Missing(t, fmt.Sprintf("no terminal to test with: %v", err))
	}
	t.Cleanup(func() { program.Close() })
	return program, screen
}

// A line of progress takes one row, however narrow the terminal is: a longer one
// would leave a row behind with every update.
func TestFollowFitsTheTerminal(t *testing.T) {
	program, screen := open(t, 40)
	stop := terminal.Follow(program, func() string { return "asking https://cluster.example.com:6443 about 40 objects" })
	defer time.AfterFunc(2*time.Minute, func() { program.Close() }).Stop() // which ends reading in vain
	const erase = "\r\x1b[K"
	shown := readTo(t, screen, " s")
	stop()
	shown += readTo(t, screen, erase)
	for _, u := range strings.Split(shown, erase) {
		if columns := len([]rune(u)); u != "" && (columns != 39 || !strings.HasPrefix(u, "asking https://") || !strings.HasSuffix(u, " s")) {
			t.Errorf("%d columns: %q", columns, u)
		}
	}
}

// readTo reads from the screen until the text ends with something.
func readTo(t *testing.T, screen *os.File, end string) string {
	t.Helper()
	var text []byte
	for buffer := make([]byte, 4096); !strings.HasSuffix(string(text), end); {
		n, err := screen.Read(buffer)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		text = append(text, buffer[:n]...)
	}
	return string(text)
}
