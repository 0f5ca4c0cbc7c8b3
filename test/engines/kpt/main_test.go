package kpt

import (
	"os"
	"testing"

	"sigs.k8s.io/cli-utils/pkg/inventory"

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

func TestDrain(t *testing.T) { scenario.RunDrain(t, library("drain")) }

// TestDrainRefused has kpt take over nothing, as it does by default.
func TestDrainRefused(t *testing.T) {
	s := library("drain-refused")
	adopts := s.New
	s.New = func(t *testing.T, name string) scenario.Engine {
		p := adopts(t, name).(*Package)
		p.policy = inventory.PolicyMustMatch
		return p
	}
	scenario.RunDrainRefused(t, s, "inventory")
}

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

func TestProgram(t *testing.T) { scenario.Run(t, program(t, "program")) }

func TestProgramDrain(t *testing.T) { scenario.RunDrain(t, program(t, "program-drain")) }

// program is the suite of a kpt that is installed.
func program(t *testing.T, name string) scenario.Suite {
	kpt := tool.Need(t, "kpt")
	s := suite
	s.Name, s.Brief = name, true
	s.New = func(t *testing.T, name string) scenario.Engine {
		p, err := NewProgram(t.Context(), kpt, plane.Kubeconfig, name, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	return s
}
