package main

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

const renderLong = `Render the specs of a package: read the folder DIR (by default the current one),
choose nodes and disks, and write all manifests for the specs.

The output goes to DIR/rendered, or to the folder that --output-dir names. An existing output
folder is the lock: nodes and disks that were chosen before are kept. The folder is
replaced completely, so there is never partial output. Files in it that are not
Poolwright's stay. If any finding is an error, nothing is written.

DIR may also be a single file, or - for a stream of documents on stdin, which needs -o - or --output-dir.
Several DIRs are rendered one after the other, all of them, even if one has errors.`

const renderExample = `  # Write ./rendered
  poolwright render

  # Print the manifests instead
  poolwright render storage -o -

  # In a pipeline: write nothing, exit with 1 if the output is out of date
  poolwright render storage --check

  # The same for all clusters
  poolwright render clusters/* --check`

func newRender(s program) *cobra.Command {
	var output string
	var check bool
	cmd := &cobra.Command{
		Use:               "render [DIR]",
		Short:             "Render the specs of a package into manifests",
		Long:              renderLong,
		Example:           renderExample,
		Args:              atMost(1, "render takes one DIR"),
		ValidArgsFunction: folders,
		RunE: func(_ *cobra.Command, args []string) error {
			return runRender(s, dirArg(args), output, check)
		},
	}
	addTarget(s, cmd, &output, "", "the output folder (default DIR/rendered)", nil)
	cmd.Flags().BoolVar(&check, "check", false, "write nothing, and exit with 1 if anything would change")
	return cmd
}

func runRender(s program, dir, output string, check bool) error {
	if check && output == folder.Stdout {
		return usage("--check compares with the output folder, and -o - has none; leave one of them out")
	}
	l, err := load(s, dir, output)
	if err != nil {
		return err
	}
	target, err := l.input.Target()
	if err != nil {
		return err
	}
	result := l.render(s)
	severity := finding.Warning
	if check {
		severity = finding.Error
	}
	if err := report(s.streams, l.WithoutSpec(s.function, l.input.Dir, result.Findings, severity)); err != nil {
		return err
	}
	if target == "" {
		return printManifests(s.out, result.Objects)
	}
	plan, err := folder.NewPlan(target, result.Objects, l.Package)
	if err != nil {
		return err
	}
	if check {
		return reportPlan(s, target, plan)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := plan.Write(ctx); err != nil {
		return err
	}
	terminal.Println(s.err, summary(target, plan, finding.Count(len(result.Objects), "object")))
	return nil
}

func printManifests(w io.Writer, rendered []fn.Rendered) error {
	for i, r := range rendered {
		if i > 0 {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		if _, err := w.Write(r.Object.Raw); err != nil {
			return err
		}
	}
	return nil
}

func reportPlan(s program, target string, plan *folder.Plan) error {
	if len(plan.Changes) == 0 {
		return nil
	}
	for _, c := range plan.Changes {
		terminal.Println(s.err, "would "+c.String())
	}
	return report(s.streams, []finding.Finding{{
		Severity: finding.Error,
		Message:  target + " is not what the specs and the inventory give; run poolwright render, and commit what it writes",
	}})
}

func summary(target string, plan *folder.Plan, objects string) string {
	if len(plan.Changes) == 0 {
		return fmt.Sprintf("%s: %s, nothing changed", target, objects)
	}
	return fmt.Sprintf("%s: %s; %s added, %d changed, %d removed, %d unchanged", target, objects,
		finding.Count(plan.Count(folder.Add), "file"), plan.Count(folder.Change), plan.Count(folder.Remove), plan.Unchanged)
}
