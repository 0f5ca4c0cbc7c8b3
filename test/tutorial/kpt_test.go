package tutorial_test

import (
	"testing"

	"github.com/poolwright/poolwright/test/tutorial"
)

// TestKpt is here, and those of Argo CD and Flux are in test/engines, because kpt is
// a program, and needs no code of an engine to be played.
func TestKpt(t *testing.T) {
	cluster, reader := tutorial.Start(t, "../..", nil, "kpt")
	reader.Meanwhile = map[string]func(tutorial.Shell) error{
		"operate":    func(tutorial.Shell) error { return cluster.Operate() },
		"node-joins": func(tutorial.Shell) error { return cluster.Join("stor-4") },
	}
	tutorial.Run(t, "../../docs/tutorial-kpt.md", reader)
}
