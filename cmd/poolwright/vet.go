package main

import (
	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

const vetLong = `Validate a package without rendering it: every file can be read, every spec is complete
and valid, and no two specs conflict. Every mistake is reported in one run, with file, line
and column.`

const vetExample = `  poolwright vet
  poolwright vet storage/cstor.yaml
  poolwright vet storage -o json
  poolwright vet clusters/*`

func newVet(s program) *cobra.Command {
	var f format
	cmd := &cobra.Command{
		Use:               "vet [DIR]",
		Short:             "Validate a package",
		Long:              vetLong,
		Example:           vetExample,
		Args:              atMost(1, "vet takes one DIR"),
		ValidArgsFunction: folders,
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := load(s, dirArg(args), "")
			if err != nil {
				return err
			}
			fs := append(l.findings, s.function.Vet(l.Input())...)
			if !s.function.HasHydration(l.Objects) { // which need not lie beside the specs
				fs = l.WithoutSpec(s.function, l.input.Dir, fs, finding.Warning)
			}
			fs = finding.Sort(fs)
			if f == asText {
				if err := report(s.streams, fs); err != nil {
					return err
				}
				terminal.Printf(s.err, "%s: no errors\n", dirArg(args))
				return nil
			}
			if err := printAs(s.out, f, finding.Records(fs)); err != nil {
				return err
			}
			s.note(fs)
			return failure(fs)
		},
	}
	addFormat(s, cmd, &f)
	return cmd
}
