// Package watch_test follows a real API server with the real program: what it
// prints, what it writes, and what it does when the server is gone.
package watch_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/live/controlplane"
)

// One for the whole test binary, see TestMain.
var (
	plane   *controlplane.ControlPlane
	program string // poolwright
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	plane, err = controlplane.Start("../../bin")
	switch {
	case errors.Is(err, controlplane.ErrNotBuilt) && !requireTools():
		fmt.Println("skipped: the tests of status against a real API server:", err)
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := plane.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	fmt.Println("API server", plane.Version)
	dir, err := os.MkdirTemp("", "poolwright-watch-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "poolwright")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/poolwright").CombinedOutput(); err != nil {
		fmt.Fprintln(os.Stderr, err, string(out))
		return 1
	}
	return m.Run()
}

// requireTools reports whether no test may be left out, as in continuous
// integration.
func requireTools() bool { return os.Getenv("POOLWRIGHT_REQUIRE_TOOLS") != "" }
