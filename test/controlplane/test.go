package controlplane

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/test/tool"
)

// Main is the TestMain of tests that share a control plane. It starts one from the
// programs in bin, sets up, runs the tests, and returns the exit code. The tests are
// left out if they are to be short, or if the programs are missing where they may be.
func Main(m *testing.M, bin string, setUp func(*ControlPlane) error) int {
	code, err := runMain(m, bin, setUp)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func runMain(m *testing.M, bin string, setUp func(*ControlPlane) error) (code int, err error) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("skipped: the tests against a real API server, which are not short")
		return 0, nil
	}
	c, err := Start(bin)
	switch {
	case errors.Is(err, ErrNotBuilt) && !tool.Required():
		fmt.Println("skipped: the tests against a real API server:", err)
		return 0, nil
	case err != nil:
		return 1, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	fmt.Println("API server", c.Version)
	if err := setUp(c); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// ForTest starts a control plane for one test, and stops it after it. The test is left
// out as by Main.
func ForTest(t *testing.T) *ControlPlane {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: a control plane is not short")
	}
	c, err := Start(filepath.Join(tool.Root(t), "bin"))
	switch {
	case errors.Is(err, ErrNotBuilt):
		tool.Missing(t, err.Error())
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Log("API server", c.Version)
	return c
}
