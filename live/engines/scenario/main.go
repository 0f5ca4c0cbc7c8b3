package scenario

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/live/controlplane"
)

// Main is the TestMain of an engine's tests: it starts one control plane for the
// test binary and builds poolwright from the repository root, sets up, runs the
// tests and clears all away. It returns the exit code.
func Main(m *testing.M, engine, root string, setUp func(*controlplane.ControlPlane, Suite) error) int {
	code, err := runMain(m, engine, root, setUp)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func runMain(m *testing.M, engine, root string, setUp func(*controlplane.ControlPlane, Suite) error) (code int, err error) {
	plane, err := controlplane.Start(root + "/bin")
	switch {
	case errors.Is(err, controlplane.ErrNotBuilt) && os.Getenv("POOLWRIGHT_REQUIRE_TOOLS") == "":
		fmt.Printf("skipped: the tests with %s: %v\n", engine, err)
		return 0, nil
	case err != nil:
		return 1, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	fmt.Println("API server", plane.Version)
	dir, err := os.MkdirTemp("", "poolwright-engines-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := buildPoolwright(root, dir)
	if err != nil {
		return 1, err
	}
	if err := setUp(plane, Suite{Root: root, Kubeconfig: plane.Kubeconfig, Poolwright: program}); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// buildPoolwright builds the program from the repository root into dir.
func buildPoolwright(root, dir string) (string, error) {
	program, err := filepath.Abs(filepath.Join(dir, "poolwright"))
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", program, "./cmd/poolwright")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("poolwright cannot be built: %w\n%s", err, out)
	}
	return program, nil
}
