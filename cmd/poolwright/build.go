package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/cmd/internal/kustomize"
	"github.com/poolwright/poolwright/terminal"
)

const buildLong = `Build a kustomization with Poolwright's function built in, and print the manifests.

The output is that of "kustomize build --enable-alpha-plugins --enable-exec DIR",
but you need no flags, no program and no image, and kustomize cannot silently skip
the function. The function runs where the kustomization lists it, at any level. If
none lists it, it runs at the end.

As for render, the folder rendered beside the kustomization that calls the function
is the lock, even if it is not among the resources.

Third-party functions are an error, unless --enable-exec allows them to run as
programs and containers.`

const buildExample = `  poolwright build overlays/prod | kubectl apply --dry-run=server -f -`

func newBuild(s program) *cobra.Command {
	var enableExec bool
	cmd := &cobra.Command{
		Use:               "build [DIR]",
		Short:             "Run kustomize build with the function built in",
		Long:              buildLong,
		Example:           buildExample,
		Args:              atMost(1, "build takes one DIR"),
		ValidArgsFunction: folders,
		RunE: func(_ *cobra.Command, args []string) error {
			return runBuild(s, dirArg(args), enableExec)
		},
	}
	cmd.Flags().BoolVar(&enableExec, "enable-exec", false, "also run third-party functions")
	return cmd
}

func runBuild(s program, dir string, enableExec bool) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return usage("%s: no such folder", dir)
	}
	options := kustomize.Options{Process: s.function.Process, HasSpec: s.function.HasSpec, Packages: s.function.Packages, KeepNames: true, EnableExec: enableExec}
	if enableExec {
		program, err := os.Executable()
		if err != nil {
			return fmt.Errorf("--enable-exec: this program cannot be found: %w", err)
		}
		options.Program = program
	}
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
