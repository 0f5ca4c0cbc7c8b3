package controller_test

import (
	"os"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
)

func TestMain(m *testing.M) { os.Exit(fixture.LoopTests(m)) }
