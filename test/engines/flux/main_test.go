package flux

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

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
		log.SetLogger(logr.Discard())
		suite.KindOrder = true
	}))
}

func TestLibraryVolumes(t *testing.T) { scenario.RunVolumes(t, library("library-volumes")) }

func TestLibraryDrain(t *testing.T) {
	s := library("library-drain")
	s.AllOrNothing = true
	scenario.RunDrain(t, s)
}

// library is the suite of what Flux applies with.
func library(name string) scenario.Suite {
	s := suite
	s.Name = name
	s.New = func(t *testing.T, name string) scenario.Engine {
		l, err := NewLibrary(plane.Kubeconfig, name)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	return s
}
