package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/fn/conformance"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

const verifyLong = `Compare what the operators created with what was rendered, and volumes with their
preview. Run it in a pipeline after a sync, once status is OK or PROGRESSING.

    cStor volumes   each claim and volume, object by object: what is missing, extra or left
                    over; owners, labels and versions; two replicas on one pool, or one on a
                    pool of another cluster; fewer healthy replicas than consistencyFactor; the
                    target, the PodDisruptionBudget, and the CStorVolumePolicy
    cStor clusters  from the CStorPoolCluster to its instances, disks and their claims
    other specs     what was rendered for them, with the rules of status

Without KIND/NAME, verify checks every spec of the package in DIR, and all volumes and pool
clusters of cStor. KIND/NAME limits it to one spec, or to one object that belongs to these. The
observed state is read from the cluster, in all namespaces, or with --from from the inventory of
the package or from another snapshot.

Findings go to stderr, one per line. Any deviation is an error. A replica, pool or disk that
exists but is unhealthy, while enough others are healthy, is a warning.

Several DIRs are verified one after the other; -o json prints a document for each.

Exit code 1 means that there is an error, or nothing to verify.`

const verifyExample = `  # After a sync: the package in the current folder, against the cluster of the kubeconfig
  poolwright verify

  # One claim, as JSON
  poolwright verify storage PersistentVolumeClaim/shop/pg-0 -o json

  # Without a cluster, from the inventory of the package
  poolwright verify storage --from inventory`

// asTable is the table of a verb that also names it.
const asTable format = "table"

type verifyFlags struct {
	clusterFlags
	format format
	from   string
}

func newVerify(s program) *cobra.Command {
	f := verifyFlags{format: asTable}
	cmd := &cobra.Command{
		Use:               "verify [DIR] [KIND/NAME]",
		Short:             "Compare what the operators created with what was rendered",
		Long:              verifyLong,
		Example:           verifyExample,
		Args:              atMost(2, "verify takes one DIR and one KIND/NAME"),
		ValidArgsFunction: s.verifyWords,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := onlyLive(cmd, f.from); err != nil {
				return err
			}
			dir, subject, err := explainArgs(args)
			if err != nil {
				return err
			}
			return runVerify(cmd.Context(), s, dir, subject, f)
		},
	}
	addClusterFlags(s, cmd, &f.clusterFlags)
	addOneOf(s, cmd, &f.format, "output", "o", "print as table or json", asTable, asJSON)
	addFrom(s, cmd, &f.from)
	return cmd
}

func runVerify(ctx context.Context, s program, dir string, subject *ref, f verifyFlags) error {
	l, err := load(s, dir, "")
	if err != nil {
		return err
	}
	if finding.Failed(l.findings) {
		return report(s.streams, l.findings)
	}
	facts, err := f.facts(ctx, s, l)
	if err != nil {
		return err
	}
	checks, findings := s.function.Verify(l.Input(), facts)
	findings = append(findings, l.findings...)
	switch {
	case subject != nil:
		all := checks
		if checks = about(all, subject); len(checks) == 0 {
			return fmt.Errorf("there is no %s to verify in %s%s", subject, dir, verified(all))
		}
	case len(checks) == 0:
		findings = append(findings, finding.Finding{
			Severity: finding.Error, Rule: "nothing-to-verify", Pos: document.Position{File: dir},
			Message: "there is nothing to verify: no spec in it, and no claim, volume or pool of cStor among the facts; is it the right package, and the right cluster?",
		})
	}
	findings = finding.Sort(append(findings, conformance.Findings(checks)...))
	if f.format == asJSON {
		err = printAs(s.out, asJSON, verifyForMachines(checks, findings))
	} else {
		err = printChecks(s.out, checks)
	}
	if err != nil {
		return err
	}
	return verdict(report(s.streams, findings))
}

// facts are those that the flags ask for; nil stands for the package's own.
func (f verifyFlags) facts(ctx context.Context, s program, l loaded) (*inventory.Facts, error) {
	if f.from != fromLive {
		return factsAt(s, f.from)
	}
	c, err := f.connectOrFrom()
	if err != nil {
		return nil, err
	}
	defer terminal.Progress(s.err, "reading "+c.String())()
	kinds := s.function.Kinds()
	options := snapshot.Options{Kinds: kinds.Read()}
	options.Keep(kinds.Specs(l.Objects))
	taken, err := snapshot.Take(ctx, c, options)
	if err != nil {
		return nil, err
	}
	return inventory.NewLive(taken.Objects()), nil
}

// about leaves the checks of a subject, or of what is about it.
func about(checks []conformance.Check, subject *ref) []conformance.Check {
	var left []conformance.Check
	for i := range checks {
		if checks[i].IsAbout(subject.matches) {
			left = append(left, checks[i])
		}
	}
	return left
}

// verified names what there is instead.
func verified(checks []conformance.Check) string {
	var names []string
	for i := range checks {
		names = append(names, checks[i].Subject.String())
	}
	if len(names) == 0 {
		return ", nor anything else"
	}
	return "; there are " + finding.Names(names)
}

// result is the verdict on a check as a person reads it.
func result(c *conformance.Check) string {
	return cmp.Or(strings.ToUpper(string(c.Verdict())), "OK")
}

func printChecks(w io.Writer, checks []conformance.Check) error {
	if len(checks) == 0 {
		return nil
	}
	rows := make([]row, 0, len(checks))
	for i := range checks {
		c := &checks[i]
		rows = append(rows, row{severityColor(c.Verdict()), []string{result(c), strconv.Itoa(1 + len(c.Parts)), c.Subject.String(), dash(c.Summary())}})
	}
	return printTable(w, []string{"RESULT", "OBJECTS", "SUBJECT", "FINDINGS"}, rows)
}

// machineVerification is what -o json prints.
type machineVerification struct {
	Checks   []machineCheck   `json:"checks"`
	Findings []machineFinding `json:"findings"`
}

type machineCheck struct {
	Subject  machineRef       `json:"subject"`
	Result   string           `json:"result"`
	Objects  []machineRef     `json:"objects"`
	Findings []machineFinding `json:"findings"`
}

func verifyForMachines(checks []conformance.Check, findings []finding.Finding) machineVerification {
	out := machineVerification{[]machineCheck{}, finding.Records(findings)}
	for i := range checks {
		c := &checks[i]
		shown := machineCheck{Subject: machineRef(c.Subject), Result: result(c), Objects: []machineRef{}, Findings: finding.Records(finding.Sort(c.Findings))}
		for _, part := range c.Parts {
			shown.Objects = append(shown.Objects, machineRef(part))
		}
		out.Checks = append(out.Checks, shown)
	}
	return out
}
