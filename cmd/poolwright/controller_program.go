package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/cmd/internal/hydrationflags"
)

// controllerProgram keeps Hydrations. It lies beside this program, or on the PATH.
const controllerProgram = "poolwright-controller"

// runHydrations goes on as that program, with the flags of the command.
func runHydrations(cmd *cobra.Command) error {
	path := ""
	if self, err := os.Executable(); err == nil {
		path, _ = exec.LookPath(filepath.Join(filepath.Dir(self), controllerProgram))
	}
	if path == "" {
		var err error
		if path, err = exec.LookPath(controllerProgram); err != nil {
			return errors.New("the program " + controllerProgram + ", which keeps Hydrations, is neither beside this one nor on the PATH; install it, or name a DIR")
		}
	}
	return become(path, append([]string{controllerProgram}, hydrationflags.Given(cmd.Flags())...))
}
