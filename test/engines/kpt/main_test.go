package kpt

import (
	"os"
	"testing"

	"github.com/poolwright/poolwright/test/controlplane"
	"github.com/poolwright/poolwright/test/engines/scenario"
	"github.com/poolwright/poolwright/test/tool"
)

// One control plane for the whole test binary, see TestMain.
var (
	plane *controlplane.ControlPlane
	suite scenario.Suite
)

func TestMain(m *testing.M) {
	os.Exit(scenario.Main(m, "../../..", func(p *controlplane.ControlPlane, s scenario.Suite) {
		plane, suite = p, s
		suite.WaitsForReady = true
	}))
}

func TestPackage(t *testing.T) { scenario.Run(t, library("package")) }

func TestDiskPools(t *testing.T) { scenario.RunDiskPools(t, library("pools")) }

func TestVolumes(t *testing.T) { scenario.RunVolumes(t, library("volumes")) }

// library is the suite of what kpt applies with.
func library(name string) scenario.Suite {
	s := suite
	s.Name = name
	s.New = func(t *testing.T, name string) scenario.Engine {
		p, err := New(plane.Kubeconfig, name, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	return s
}

func TestProgram(t *testing.T) {
	kpt := tool.Need(t, "kpt")
	s := suite
	s.Name, s.Brief = "program", true
	s.New = func(t *testing.T, name string) scenario.Engine {
		p, err := NewProgram(t.Context(), kpt, plane.Kubeconfig, name, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	scenario.Run(t, s)
}
