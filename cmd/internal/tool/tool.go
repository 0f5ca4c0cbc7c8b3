// Package tool finds the programs of other projects that tests run.
package tool

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Require is set where no test may be left out, as in continuous integration.
const Require = "POOLWRIGHT_REQUIRE_TOOLS"

// Need returns the path of a program: the one that make put into bin, else the
// one on the PATH. A machine without it leaves the test out and says so; where
// nothing may be left out, the test fails.
func Need(t *testing.T, name string) string {
	t.Helper()
	if path := filepath.Join(Root(t), "bin", name); exists(path) {
		return path
	}
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name+" is not on this machine")
	}
	return path
}

// Missing leaves a test out for the given reason, or fails it.
func Missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv(Require) != "" {
		t.Fatalf("%s, and %s is set", why, Require)
	}
	t.Skipf("skipped: %s", why)
}

// Root is the folder of the module.
func Root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, "go.mod")) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("the tests run outside of the module")
		}
	}
}

// Run runs a program, and returns its standard output and standard error.
func Run(t *testing.T, dir string, env []string, program string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
