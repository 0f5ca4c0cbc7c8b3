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
		suite.KeepsDefinitions = true
	}))
}

func TestApplication(t *testing.T) {
	s := suite
	s.Name = "application"
	s.New = func(t *testing.T, name string) scenario.Engine {
		a, err := New(plane.Kubeconfig, suite.Root, name, "openebs-"+name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(a.Close)
		return a
	}
	scenario.Run(t, s)
}
