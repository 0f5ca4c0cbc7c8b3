package flux

import (
	"testing"

	"github.com/poolwright/poolwright/test/engines/scenario"
)

// TestLevels brings up a HyperCloudStorage, in which something is wrong at every level.
func TestLevels(t *testing.T) {
	cluster, source := startController(t)
	s := suite
	s.Name = "Flux"
	scenario.Levels(t, s, NewLevels(cluster, source, readChecks(t)), true)
}

// TestLibraryHyperCloud holds that nothing of it goes by itself.
func TestLibraryHyperCloud(t *testing.T) { scenario.RunHyperCloud(t, library("library-hypercloud")) }
