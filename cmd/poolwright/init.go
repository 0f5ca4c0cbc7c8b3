package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/cmd/internal/folder"
	"github.com/poolwright/poolwright/examples"
)

const initLong = `Make a package that renders, to change into one's own: a spec, an inventory, and
the wiring for kustomize, kpt, Argo CD and Flux. SYSTEM is one of

  %s

DIR is a new or an empty folder, by default one with the name of the system.`

const initExample = `  poolwright init cstor-local
  poolwright init cstor-cloud clusters/prod/storage`

func newInit(s streams) *cobra.Command {
	systems := examples.Systems()
	return &cobra.Command{
		Use:     "init SYSTEM [DIR]",
		Short:   "Make a package that renders",
		Long:    fmt.Sprintf(initLong, strings.Join(systems, "\n  ")),
		Example: initExample,
		Args:    atMost(2, "init takes a SYSTEM and one DIR"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return systems, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("which SYSTEM? one of %s", strings.Join(systems, ", "))
			}
			files, err := examples.System(args[0])
			if err != nil {
				return usage("unknown system %q: one of %s", args[0], strings.Join(systems, ", "))
			}
			dir := args[0]
			if len(args) == 2 {
				dir = args[1]
			}
			if err := folder.Create(dir, files); err != nil {
				return err
			}
			fmt.Fprintf(s.err, "%s: made from %s; next: poolwright render %s\n", dir, args[0], dir)
			return nil
		},
	}
}
