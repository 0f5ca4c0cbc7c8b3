package scenario

import (
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/poolwright/poolwright/test/controlplane"
	"github.com/poolwright/poolwright/test/tool"
)

// Main is the TestMain of an engine's tests: it has one control plane for the test
// binary, and poolwright built from the repository root. It returns the exit code.
func Main(m *testing.M, root string, setUp func(*controlplane.ControlPlane, Suite)) int {
	debug.SetGCPercent(400) // much garbage, of which little stays, as where schemas are read
	return controlplane.Main(m, filepath.Join(root, "bin"), func(c *controlplane.ControlPlane) error {
		program, err := tool.Build(root, c.Dir)
		if err != nil {
			return err
		}
		setUp(c, Suite{Root: root, Plane: c, Poolwright: program, Brief: !tool.Whole()})
		return nil
	})
}
