package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/own"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

const statusLong = `Show in one line for each spec whether its storage is healthy:

  OK           everything that the spec asks for exists and is healthy
  PROGRESSING  not complete yet: this resolves itself, or with the usual next step,
               which the line names: render, commit, apply
  ERROR        a person must look at it; it may still recover

with the reason, since when, and where. If there are several errors, the line shows the
worst, an outage first, and the number of the others; -o json lists them by node. The
specs are those of the folder DIR (by default the current one), together with their
rendered output. The observed state is read from the cluster, in all namespaces, or with
--from from the inventory of the package or from another snapshot.

%s

--watch continues until it is interrupted, and then exits with 0. On a terminal it keeps
the table up to date, with the last messages below. Otherwise it prints a line, which
starts with the time, whenever a status changes; as json, one object per line. It waits
for an API server that does not answer.

Several DIRs are shown one after the other; -o json prints a list for each.

Exit code 1 means that a status is ERROR.`

const statusCluster = `With --cluster the specs are read from the cluster, too, as custom resources
(%s). --write then sets their status there, and the status of their rendered objects that are
applied: phase, reason, and the conditions Ready, Reconciling and
Stalled, as kstatus reads them. It writes only differences.`

const statusExample = `  # The package in the current folder, against the cluster of the kubeconfig
  poolwright status

  # The specs of one namespace, from the cluster
  poolwright status --cluster -n openebs

  # Without a cluster, from the inventory of the package
  poolwright status --from inventory

  # Watch for changes
  poolwright status --watch

  # What deploy/status runs in the cluster
  poolwright status --cluster --watch --write`

// Where the facts come from.
const (
	fromLive      = "live"
	fromInventory = inventory.Folder
)

type statusFlags struct {
	clusterFlags
	format    format
	from      string
	namespace string // of the specs, "" for all; facts are of all namespaces
	cluster   bool
	watch     bool
	write     bool
}

func newStatus(s program) *cobra.Command {
	var f statusFlags
	cmd := &cobra.Command{
		Use:               "status [DIR]",
		Short:             "Show the health of the storage of each spec in one line",
		Long:              fmt.Sprintf(statusLong, wrap(fmt.Sprintf(statusCluster, specNames(s.function.Kinds())))),
		Example:           statusExample,
		Args:              atMost(1, "status takes one DIR"),
		ValidArgsFunction: folders,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.cluster = f.cluster || f.write
			switch {
			case f.cluster && len(args) > 0:
				return usage("with --cluster the specs are those in the cluster: leave out %s", args[0])
			case f.cluster && f.from != fromLive:
				return usage("--cluster looks at the cluster only: leave out --from %s", f.from)
			case f.watch && f.from != fromLive:
				return usage("--watch follows a cluster: leave out --from %s", f.from)
			}
			if err := onlyLive(cmd, f.from); err != nil {
				return err
			}
			return runStatus(cmd.Context(), s, dirArg(args), f)
		},
	}
	addClusterFlags(s, cmd, &f.clusterFlags)
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "only the specs of this namespace (default all)")
	completeWith(s, cmd, "namespace", func(args []string) []string {
		return namespacesOf(s.function.Kinds().Specs(s.packageAt(dirArg(args)).Objects))
	})
	addFormat(s, cmd, &f.format)
	addFrom(s, cmd, &f.from)
	cmd.Flags().BoolVar(&f.cluster, "cluster", false, "read the specs from the cluster, too")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "keep running, and print changes")
	cmd.Flags().BoolVar(&f.write, "write", false, "set the status of the specs and of their rendered objects (implies --cluster)")
	return cmd
}

// addFrom adds --from to a verb.
func addFrom(s program, cmd *cobra.Command, from *string) { addFromOr(s, cmd, from, fromLive) }

// addFromOr adds --from with another default.
func addFromOr(s program, cmd *cobra.Command, from *string, otherwise string) {
	cmd.Flags().StringVar(from, "from", otherwise, "where to read the observed state: live, inventory (that of the package), or the path of a snapshot")
	completeOrPath(s, cmd, "from", cobra.ShellCompDirectiveDefault, fromLive, fromInventory)
}

// onlyLive refuses the flags that say which cluster where the facts are files.
func onlyLive(cmd *cobra.Command, from string) error {
	for _, name := range []string{"kubeconfig", "context"} {
		if from != fromLive && cmd.Flags().Changed(name) {
			return usage("--%s is for the facts of a cluster: leave it out, or --from %s", name, from)
		}
	}
	return nil
}

// subject is what statuses are about: a package, and the cluster if it is asked.
type subject struct {
	pkg     fn.Package
	failed  bool             // a part of the package could not be read
	cluster *cluster.Cluster // nil where the facts are files
}

func runStatus(ctx context.Context, s program, dir string, f statusFlags) error {
	var at subject
	if !f.cluster {
		l, err := load(s, dir, "")
		if err != nil {
			return err
		}
		at.pkg = l.Input()
		at.failed = report(s.streams, l.findings) != nil
		if at.failed && f.from == fromInventory {
			return errFindings // half an inventory would show half of it
		}
	}
	if f.from != fromLive {
		facts, err := factsAt(s, f.from)
		if err != nil {
			return err
		}
		view := statusView{}
		view.statuses, view.rest = s.function.Status(at.pkg, facts)
		return printStatuses(s, dir, f, at, view.of(f.namespace))
	}
	connect := f.connectOrFrom
	if f.cluster || f.watch {
		connect = f.connect
	}
	var err error
	if at.cluster, err = connect(); err != nil {
		return err
	}
	if f.watch {
		return watchStatus(ctx, s, dir, f, at)
	}
	view, err := takeStatus(ctx, s, f, at)
	if err != nil {
		return err
	}
	if f.write {
		if _, err := own.NewWriter(at.cluster, s.function.Kinds()).Write(ctx, view.ours, view.statuses, time.Now()); err != nil {
			return err
		}
	}
	return printStatuses(s, dir, f, at, view)
}

// statusView is what a look at the cluster gives.
type statusView struct {
	ours     []*own.Object
	statuses []health.Status
	rest     []finding.Finding
}

// of leaves the statuses of the specs in a namespace, "" for all.
func (v statusView) of(namespace string) statusView {
	v.statuses = slices.DeleteFunc(v.statuses, func(st health.Status) bool {
		return namespace != "" && st.Spec.Namespace != namespace
	})
	return v
}

// takeStatus looks at the cluster once.
func takeStatus(ctx context.Context, s program, f statusFlags, at subject) (statusView, error) {
	done := terminal.Progress(s.err, "reading "+at.cluster.String())
	defer done()
	served, err := at.cluster.Served(ctx)
	if err != nil {
		return statusView{}, err
	}
	kinds := s.function.Kinds()
	var ours []*own.Object
	if f.cluster {
		if ours, err = own.Read(ctx, at.cluster, served, kinds); err != nil {
			return statusView{}, err
		}
	}
	options := snapshot.Options{Kinds: kinds.Status(), Served: served}
	options.Keep(kinds.Specs(append(slices.Clone(at.pkg.Objects), own.Plain(ours)...)))
	taken, err := snapshot.Take(ctx, at.cluster, options)
	if err != nil {
		return statusView{}, err
	}
	return at.look(s.function, ours, taken.Objects(), f), nil
}

// look computes the statuses from what was read.
func (at subject) look(function *fn.Function, ours []*own.Object, facts []*krm.Object, f statusFlags) statusView {
	pkg := at.pkg
	if f.cluster {
		pkg = own.Package(function.Kinds(), ours, facts)
	}
	statuses, rest := function.Status(pkg, inventory.NewLive(facts))
	return statusView{ours, statuses, rest}.of(f.namespace)
}

// factsAt are the facts that --from names; nil stands for the package's own.
func factsAt(s program, from string) (*inventory.Facts, error) {
	objects, err := snapshotAt(s, from)
	if err != nil || objects == nil {
		return nil, err
	}
	return inventory.New(objects), nil
}

// snapshotAt reads the objects that --from names; nil stands for the package's own.
func snapshotAt(s program, from string) ([]*krm.Object, error) {
	if from == fromInventory {
		return nil, nil
	}
	defer terminal.Progress(s.err, "reading "+from)()
	p, fs, err := s.read(folder.Input{Dir: from, Stdin: s.in})
	if err != nil {
		return nil, usage("--from %s: %v; write live, inventory, or the path of a snapshot", from, err)
	}
	facts, more := s.function.Facts(p.Objects, true)
	if facts == nil {
		facts = []*krm.Object{}
	}
	return facts, report(s.streams, finding.Sort(append(fs, more...)))
}
