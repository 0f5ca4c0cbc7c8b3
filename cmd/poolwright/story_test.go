package main

import (
	"errors"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/poolwright/poolwright/test/cstor/story"
)

// TestStories runs what happens to a cluster over days, as a person goes through it: he
// edits a spec, renders, and an engine applies what is rendered, while nodes and disks fail.
// The operators of cStor are played (test/cstor), and hold at every step that no
// volume loses a replica by our doing.
func TestStories(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/story",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return errors.Join(setup(env), story.Setup(env)) },
		Cmds:                story.Commands(nil),
	})
}
