package keeper_test

import (
	"flag"
	"os"
	"testing"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/test/controlplane"
	"github.com/poolwright/poolwright/test/tool"
)

// One for the whole test binary, see TestMain.
var (
	plane   *controlplane.ControlPlane
	program string // poolwright

	function *fn.Function // that renders
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait most of the time
		panic(err)
	}
	function = fn.New(schema.Load(), systems.All()...)
	os.Exit(controlplane.Main(m, "../../bin", func(c *controlplane.ControlPlane) (err error) {
		plane = c
		if err := define(c); err != nil {
			return err
		}
		if program, err = tool.Build("../..", c.Dir); err != nil {
			return err
		}
		_, err = tool.BuildController("../..", c.Dir)
		return err
	}))
}
