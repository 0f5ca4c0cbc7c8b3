package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/cmd/internal/kustomize"
	"github.com/poolwright/poolwright/cmd/internal/terminal"
)

const buildLong = `Build a kustomization with Poolwright's function built in, and print the manifests.

It gives what "kustomize build --enable-alpha-plugins --enable-exec DIR" gives,
without the flags, without a program or an image to find, and without the danger
that kustomize leaves the function out. The function runs where the kustomization
lists it, at any level; if none lists it, it runs at the end.

What lies in the folder rendered beside the kustomization that calls the function
is the lock, as it is for render, also where it is not among the resources.

Functions of other people stay off, which is an error, unless --enable-exec
allows them to be run as programs and containers.`

const buildExample = `  poolwright build overlays/prod | kubectl apply --dry-run=server -f -`

func newBuild(s program) *cobra.Command {
	var enableExec bool
	cmd := &cobra.Command{
		Use:               "build [DIR]",
		Short:             "Build a kustomization, with the function built in",
		Long:              buildLong,
		Example:           buildExample,
		Args:              atMost(1, "build takes one DIR"),
		ValidArgsFunction: folders,
		RunE: func(_ *cobra.Command, args []string) error {
			return runBuild(s, dirArg(args), enableExec)
		},
	}
	cmd.Flags().BoolVar(&enableExec, "enable-exec", false, "run the functions of other people, too")
	return cmd
}

func runBuild(s program, dir string, enableExec bool) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return usage("%s: no such folder", dir)
	}
	options := kustomize.Options{Process: s.function.Process, HasSpec: s.function.HasSpec, EnableExec: enableExec}
	if enableExec {
		program, err := os.Executable()
		if err != nil {
			return fmt.Errorf("--enable-exec: this program cannot be found: %w", err)
		}
		options.Program = program
	}
	collectLate()
	stop := terminal.Progress(s.err, "building "+dir)
	manifests, findings, err := kustomize.Build(dir, options)
	stop()
	failed := report(s.streams, findings)
	if err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	_, err = s.out.Write(manifests)
	return err
}
