package scenario

import (
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/test/controlplane"
	"github.com/poolwright/poolwright/test/tool"
)

// Main is the TestMain of an engine's tests: it has one control plane for the test
// binary, and poolwright built from the repository root. It returns the exit code.
func Main(m *testing.M, root string, setUp func(*controlplane.ControlPlane, Suite)) int {
	return controlplane.Main(m, filepath.Join(root, "bin"), func(c *controlplane.ControlPlane) error {
		program, err := tool.Build(root, c.Dir)
		if err != nil {
			return err
		}
		setUp(c, Suite{Root: root, Plane: c, Poolwright: program})
		return nil
	})
}
