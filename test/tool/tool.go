// Package tool finds what tests use that is not in the repository: programs and
// definitions of other projects, and unused addresses.
package tool

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Require is set where no test may be left out, as in continuous integration.
const Require = "POOLWRIGHT_REQUIRE_TOOLS"

// Required reports whether no test may be left out.
func Required() bool { return os.Getenv(Require) != "" }

// All is set where tests go through all that they have, as in make test-all: make test has two of the
// faults for each place where a program runs, the main scenarios of each engine, and a share of the random input.
const All = "POOLWRIGHT_TEST_ALL"

// Whole reports whether tests go through all that they have.
func Whole() bool { return os.Getenv(All) != "" }

// Share is how much a test on random input has: all of it where that is asked for, else a fifth.
func Share(all int) int {
	if Whole() {
		return all
	}
	return (all + 4) / 5
}

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
func Missing(t testing.TB, why string) {
	t.Helper()
	if Required() {
		t.Fatalf("%s, and %s is set", why, Require)
	}
	t.Skipf("skipped: %s", why)
}

// FreeAddress returns an unused address on loopback.
func FreeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Upstream names files with definitions of other projects, which stand in the
// folder POOLWRIGHT_UPSTREAM_CRDS. Without them the test is left out as by Missing.
func Upstream(t *testing.T, names ...string) []string {
	t.Helper()
	dir := os.Getenv("POOLWRIGHT_UPSTREAM_CRDS")
	if dir == "" {
		dir = filepath.Join(Root(t), "..", "shared", "crds")
	}
	var files []string
	for _, name := range names {
		file := filepath.Join(dir, name)
		if !exists(file) {
			Missing(t, name+" is not in "+dir+" (POOLWRIGHT_UPSTREAM_CRDS)")
		}
		files = append(files, file)
	}
	return files
}

// Root is the folder of the repository.
func Root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		// Modules within it have a go.mod of their own.
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(text), "module github.com/poolwright/poolwright\n") {
			return dir
		}
	}
	t.Fatal("the tests run outside of the repository")
	return ""
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

// Built is the variable with the folder of programs that make has built once for all tests.
const Built = "POOLWRIGHT_TEST_BUILT"

// Build puts poolwright into dir, and returns its path: what make has built, else what it builds itself, from
// the repository root.
func Build(root, dir string) (string, error) { return build(root, dir, "poolwright") }

// BuildController is the same for poolwright-controller, which poolwright finds beside itself.
func BuildController(root, dir string) (string, error) {
	return build(root, dir, "poolwright-controller")
}

func build(root, dir, name string) (string, error) {
	program, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	if built := os.Getenv(Built); built != "" {
		return program, errors.Join(os.MkdirAll(dir, 0o777), os.Symlink(filepath.Join(built, name), program))
	}
	cmd := exec.Command("go", "build", "-o", program, "./cmd/"+name)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s cannot be built: %w\n%s", name, err, out)
	}
	return program, nil
}
