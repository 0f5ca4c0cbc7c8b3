package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/terminal"
)

// aloneFlags are flags that are for one DIR, each with the values that are for several, too.
type aloneFlags map[string][]string

// severalDirs lets a verb take several DIRs: it runs on one after the other, and on all of them, whatever comes of each. The
// exit code is that of the worst.
func severalDirs(alone aloneFlags) wrapper {
	return func(cmd *cobra.Command) *cobra.Command {
		takesOne, run := cmd.Args, cmd.RunE
		cmd.Use = strings.Replace(cmd.Use, "[DIR]", "[DIR]...", 1)
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if !areDirs(cmd, args) {
				return takesOne(cmd, args)
			}
			return alone.check(cmd, args)
		}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if !areDirs(cmd, args) {
				return run(cmd, args)
			}
			var worst error
			for i, dir := range args {
				if _, err := io.WriteString(cmd.OutOrStdout(), heading(cmd, dir, i == 0)); err != nil {
					return err
				}
				err := run(cmd, []string{dir})
				var misused *folder.UsageError
				switch {
				case errors.As(err, &misused):
					return err
				case err == nil, errors.Is(err, errFindings), errors.Is(err, errChanges):
				default:
					complain(cmd.ErrOrStderr(), fmt.Errorf("%s: %w", dir, err))
					err = errFindings
				}
				if worst == nil || errors.Is(worst, errChanges) && err != nil {
					worst = err
				}
			}
			return worst
		}
		return cmd
	}
}

// areDirs reports whether arguments are several DIRs: not one, nor one with a KIND/NAME.
func areDirs(cmd *cobra.Command, args []string) bool {
	if len(args) == 2 && takesObject(cmd) {
		_, missing := os.Stat(args[1])
		return missing == nil
	}
	return len(args) > 1
}

// check refuses what makes sense for one DIR only, before anything is done for the first of several.
func (alone aloneFlags) check(cmd *cobra.Command, dirs []string) error {
	for _, dir := range dirs {
		if dir == folder.Stdin {
			return usage("- is the standard input, and no folder: leave out the other DIRs")
		}
		if _, err := os.Stat(dir); err != nil {
			return usage("%s: no such folder or file", dir)
		}
	}
	for name, several := range alone {
		if f := cmd.Flag(name); f.Changed && !slices.Contains(several, f.Value.String()) {
			return usage("--%s is for one DIR: run %s for each of %s", name, cmd.CommandPath(), strings.Join(dirs, ", "))
		}
	}
	return nil
}

// heading separates what a verb prints for a package from what it printed for the one before.
func heading(cmd *cobra.Command, dir string, first bool) string {
	form := ""
	if f := cmd.Flag("output"); f != nil {
		form = f.Value.String()
	}
	between := func(text string) string {
		if first {
			return ""
		}
		return text
	}
	switch {
	case form == string(asJSON):
		return ""
	case form == string(asYAML), form == folder.Stdout:
		return between("---\n")
	case form == string(asMarkdown):
		return between("\n") + "## `" + dir + "`\n\n"
	case cmd.Name() == "render", cmd.Name() == "vet": // which print no table
		return ""
	}
	return between("\n") + terminal.Printable(dir) + ":\n"
}
