package controller_test

import (
	"os"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
	"github.com/poolwright/poolwright/test/storcli"
)

// TestMain is storcli where it is run under that name.
func TestMain(m *testing.M) {
	if storcli.Is(os.Args[0]) {
		os.Exit(storcli.Main(os.Args[0], os.Args[1:], os.Stdout))
	}
	os.Exit(fixture.LoopTests(m))
}
