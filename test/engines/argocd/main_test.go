package argocd

import (
	"os"
	"testing"

	"github.com/poolwright/poolwright/test/controlplane"
	"github.com/poolwright/poolwright/test/engines/scenario"
)

// One control plane for the whole test binary, see TestMain.
var (
	plane *controlplane.ControlPlane
	suite scenario.Suite
)

func TestMain(m *testing.M) {
	os.Exit(scenario.Main(m, "../../..", func(p *controlplane.ControlPlane, s scenario.Suite) {
		plane, suite = p, s
		suite.KeepsDefinitions, suite.HeedsHealth = true, true
	}))
}

func TestApplication(t *testing.T) { scenario.Run(t, application("application")) }

func TestDiskPools(t *testing.T) { scenario.RunDiskPools(t, application("pools")) }

func TestVolumes(t *testing.T) { scenario.RunVolumes(t, application("volumes")) }

func TestDrain(t *testing.T) { scenario.RunDrain(t, application("drain")) }

// TestDrainClientSide is for an Application that does not apply server-side: what is on each
// part says that Argo CD does with it.
func TestDrainClientSide(t *testing.T) {
	s := application("drain-client")
	s.Brief = true
	serverSide := s.New
	s.New = func(t *testing.T, name string) scenario.Engine {
		a := serverSide(t, name).(*Application)
		a.ClientSide = true
		return a
	}
	scenario.RunDrain(t, s)
}

// application is the suite of an Application.
func application(name string) scenario.Suite {
	s := suite
	s.Name = name
	s.New = func(t *testing.T, name string) scenario.Engine {
		a, err := New(plane.Kubeconfig, suite.Root, name, "openebs-"+name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(a.Close)
		return a
	}
	return s
}
