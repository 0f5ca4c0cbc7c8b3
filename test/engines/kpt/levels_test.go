package kpt

import (
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/engines/scenario"
)

// TestLevels brings up a HyperCloudStorage, in which something is wrong at every level.
func TestLevels(t *testing.T) {
	s := suite
	s.Name = "kpt"
	p, err := New(plane.Kubeconfig, "levels", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// The tools of Ceph come together with the pools, and hold up what comes after both.
	p.timeout = 20 * time.Second
	scenario.Levels(t, s, p, false) // kpt knows of no status but conditions
}

// TestHyperCloud holds that nothing of it goes by itself.
func TestHyperCloud(t *testing.T) { scenario.RunHyperCloud(t, library("hypercloud")) }
