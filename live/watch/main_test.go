// Package watch_test follows a real API server with the real program: what it
// prints, what it writes, and what it does when the server is gone.
package watch_test

import (
	"os"
	"testing"

	"github.com/poolwright/poolwright/test/controlplane"
	"github.com/poolwright/poolwright/test/tool"
)

// One for the whole test binary, see TestMain.
var (
	plane   *controlplane.ControlPlane
	program string // poolwright
)

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m, "../../bin", func(c *controlplane.ControlPlane) (err error) {
		plane = c
		program, err = tool.Build("../..", c.Dir)
		return err
	}))
}
