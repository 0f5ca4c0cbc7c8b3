package argocd

import (
	"testing"

	"github.com/poolwright/poolwright/test/engines/scenario"
)

// TestLevels brings up a HyperCloudStorage, in which something is wrong at every level.
func TestLevels(t *testing.T) {
	s := suite
	s.Name = "Argo CD"
	a, err := New(plane.Kubeconfig, suite.Root, "levels", "rook-ceph")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	scenario.Levels(t, s, Levels{a}, true)
}

// TestHyperCloud holds that nothing of it goes by itself.
func TestHyperCloud(t *testing.T) { scenario.RunHyperCloud(t, application("hypercloud")) }
