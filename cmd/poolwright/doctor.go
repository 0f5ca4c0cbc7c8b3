package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

const doctorLong = `Check whether a cluster has what the specs of a package need before they can work:

  crd/NAME       the kinds that are rendered are served, in their version
  operator/NAME  the operators have a ready pod
  release/rook   the operator of Rook is of the release that the spec names
  ndm            disks are reported on the allowed nodes
  nodes          enough allowed nodes are ready and schedulable
  disks          there are enough eligible disks
  webhook        the cStor webhook has the time for every step (timeoutSeconds)
  rights         poolwright inventory may list everything that it reads

The worst results come first: failed, warning, unknown, ok. A check is unknown if the observed
state does not contain what it needs. Each result except ok has a remedy. What the package
itself contains is ok.

DIR is the package (default the current folder). The observed state is read from the cluster, or
with --from from the inventory of the package or from another snapshot. Nothing is written.

Exit code 1 means that a check failed, or that there is no spec.`

const doctorExample = `  # The package in the current folder, against the cluster of the kubeconfig
  poolwright doctor

  # Without a cluster, from the inventory of the package
  poolwright doctor storage --from inventory

  # As JSON, with a remedy for each check
  poolwright doctor storage -o json`

type doctorFlags struct {
	clusterFlags
	format format
	from   string
}

func newDoctor(s program) *cobra.Command {
	f := doctorFlags{format: asTable}
	cmd := &cobra.Command{
		Use:               "doctor [DIR]",
		Short:             "Check whether a cluster has what the specs need",
		Long:              doctorLong,
		Example:           doctorExample,
		Args:              atMost(1, "doctor takes one DIR"),
		ValidArgsFunction: folders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := onlyLive(cmd, f.from); err != nil {
				return err
			}
			return runDoctor(cmd.Context(), s, dirArg(args), f)
		},
	}
	addClusterFlags(s, cmd, &f.clusterFlags)
	addOneOf(s, cmd, &f.format, "output", "o", "print as table or json", asTable, asJSON)
	addFrom(s, cmd, &f.from)
	return cmd
}

func runDoctor(ctx context.Context, s program, dir string, f doctorFlags) error {
	l, err := load(s, dir, "")
	if err != nil {
		return err
	}
	if findings := l.WithoutSpec(s.function, dir, l.findings, finding.Error); finding.Failed(findings) {
		return report(s.streams, findings)
	}
	facts, live, err := f.look(ctx, s, l)
	if err != nil {
		return err
	}
	checks, findings := s.function.Doctor(l.Input(), facts, live)
	summary := prerequisite.Summarize(checks)
	if f.format == asJSON {
		err = printAs(s.out, asJSON, machineDoctor{append([]prerequisite.Check{}, checks...), summary})
	} else {
		err = printPrerequisites(s.out, checks, summary)
	}
	if err != nil {
		return err
	}
	if err := report(s.streams, finding.Sort(append(findings, l.findings...))); err != nil {
		return err
	}
	if summary.Failed > 0 {
		return errFindings
	}
	return nil
}

// look reads the facts that the flags ask for; nil facts stand for those of the package, and nil live for
// a snapshot. What may not be read of a cluster is left out.
func (f doctorFlags) look(ctx context.Context, s program, l loaded) (*inventory.Facts, *prerequisite.Live, error) {
	if f.from != fromLive {
		facts, err := factsAt(s, f.from)
		return facts, nil, err
	}
	c, err := f.connectOrFrom()
	if err != nil {
		return nil, nil, err
	}
	defer terminal.Progress(s.err, "reading "+c.String())()
	served, err := c.Served(ctx)
	if err != nil {
		return nil, nil, err
	}
	kinds := s.function.Kinds()
	options := snapshot.Options{Kinds: kinds.Read(), Served: served, Readable: true}
	options.Keep(kinds.Specs(l.Objects))
	taken, err := snapshot.Take(ctx, c, options)
	if err != nil {
		return nil, nil, err
	}
	live := &prerequisite.Live{Versions: func(kind krm.GroupKind) ([]string, error) { return served.Versions(kind.Group, kind.Kind) }}
	for _, denied := range taken.Denied {
		kind, _ := kinds.Find(denied)
		live.Refused = append(live.Refused, strings.TrimSuffix(kind.Plural+"."+kind.Group, "."))
	}
	return inventory.NewLive(taken.Objects(), taken.Denied...), live, nil
}

// machineDoctor is what -o json prints.
type machineDoctor struct {
	Checks  []prerequisite.Check `json:"checks"`
	Summary prerequisite.Summary `json:"summary"`
}

// printPrerequisites prints a line for each check, then what to do, each once.
func printPrerequisites(w io.Writer, checks []prerequisite.Check, summary prerequisite.Summary) error {
	rows := make([]row, 0, len(checks))
	for i := range checks {
		c := &checks[i]
		rows = append(rows, row{resultColor(c.Result), []string{string(c.Result), c.Check, dash(c.Spec), c.Message}})
	}
	if err := printTable(w, []string{"RESULT", "CHECK", "SPEC", "MESSAGE"}, rows); err != nil {
		return err
	}
	terminal.Printf(w, "\n%d failed, %s, %d unknown, %d ok\n", summary.Failed, finding.Count(summary.Warning, "warning"), summary.Unknown, summary.OK)
	printRemedies(w, checks)
	return nil
}

// printRemedies prints what to do, the worst first, each once.
func printRemedies(w io.Writer, checks []prerequisite.Check) {
	printed := map[string]bool{"": true}
	for i := range checks {
		c := &checks[i]
		if printed[c.Remedy] {
			continue
		}
		if len(printed) == 1 {
			terminal.Println(w, "What to do:")
		}
		printed[c.Remedy] = true
		terminal.Println(w, "- "+c.Remedy)
	}
}

func resultColor(r prerequisite.Result) string {
	switch r {
	case prerequisite.Failed:
		return terminal.Red
	case prerequisite.Warning:
		return terminal.Yellow
	}
	return terminal.Cyan
}
