package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/terminal"
)

const fnLong = `Run as KRM function: read a ResourceList (config.kubernetes.io/v1) from stdin, render
the specs among its items, and write the ResourceList to stdout. kustomize and kpt call
it, as a program or as a container.

The functionConfig is optional. A RenderConfig (poolwright.io/v1alpha1) says which
specs are rendered and for which GitOps engines the output is protected. The
functionConfig may also be a spec, or a ConfigMap: its data are the fields of a
RenderConfig, with dots in the path (engine, drain.volumes). Other items pass through
unchanged. Findings go to results and, for people, to stderr. If one is an error, the
items are returned unchanged and the exit code is 1.

kustomize needs both flags. Without --enable-exec, kustomize skips the function without
a message:

      kustomize build --enable-alpha-plugins --enable-exec DIR

"poolwright build DIR" prints the same and needs neither flag.`

const fnExample = `  # kustomization.yaml
  transformers:
  - |-
    apiVersion: poolwright.io/v1alpha1
    kind: RenderConfig
    metadata:
      name: render
      annotations:
        config.kubernetes.io/function: "exec: {path: poolwright}"

  # Kptfile
  pipeline:
    mutators:
    - exec: poolwright

  # With kpt, for one engine
  kpt fn eval --exec poolwright -- engine=argocd

  # By hand
  poolwright fn < resourcelist.yaml`

func newFn(s program) *cobra.Command {
	return &cobra.Command{
		Use:     "fn",
		Short:   "Run as KRM function, for kustomize and kpt",
		Long:    fnLong,
		Example: fnExample,
		Args:    atMost(0, "fn reads the standard input and takes none"),
		RunE:    func(*cobra.Command, []string) error { return runFunction(s) },
	}
}

func runFunction(s program) error {
	data, err := folder.ReadInput(s.in)
	if err != nil {
		return fmt.Errorf("the ResourceList cannot be read: %w", err)
	}
	fs, err := s.function.Run(&document.Source{Name: "stdin", Data: data}, s.out)
	if err != nil {
		return err
	}
	kept, more := s.fold(fs)
	printFindings(s.err, kept)
	for _, m := range more {
		terminal.Println(s.err, m.Line("the results have all")) // kustomize takes no -v for it
	}
	return failure(fs)
}
