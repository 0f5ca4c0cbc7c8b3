package main

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/poolwright/poolwright/cmd/internal/folder"
	"github.com/poolwright/poolwright/cmd/internal/terminal"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/live/watch"
	"github.com/poolwright/poolwright/schema/finding"
)

const statusLong = `Say in one line for each spec how its storage fares:

  OK           all that the spec asks for is there and well
  PROGRESSING  on its way, or right again soon, without anybody's help
  ERROR        something that a person must look at; it may still heal

with the reason, since when, and where. The specs are those of the folder DIR (by
default the current one), beside what was rendered for them. What exists is asked
of the cluster, or with --from read from the inventory of the package or from
another snapshot.

With --cluster the specs, too, are those in the cluster (CStorClusterConfig as
custom resources). --write then sets their status there: phase, reason, and the
conditions Ready, Reconciling and Stalled, as kstatus reads them. It writes only
what differs.

--watch prints a line whenever a status changes, until it is interrupted.
Exit code 1 says that a status is ERROR.`

const statusExample = `  # The package in the current folder, against the cluster of the kubeconfig
  poolwright status

  # Without a cluster, from the inventory of the package
  poolwright status --from inventory

  # Follow it
  poolwright status --watch

  # What deploy/status runs in the cluster
  poolwright status --cluster --watch --write`

// Where the facts come from.
const (
	fromLive      = "live"
	fromInventory = "inventory"
)

type statusFlags struct {
	clusterFlags
	format  format
	from    string
	cluster bool
	watch   bool
	write   bool
}

func newStatus(s streams) *cobra.Command {
	var f statusFlags
	cmd := &cobra.Command{
		Use:               "status [DIR]",
		Short:             "Say in one line how the storage of each spec fares",
		Long:              statusLong,
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
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return runStatus(ctx, s, dirArg(args), f)
		},
	}
	addClusterFlags(cmd, &f.clusterFlags)
	addFormat(cmd, &f.format)
	addFrom(cmd, &f.from)
	cmd.Flags().BoolVar(&f.cluster, "cluster", false, "take the specs from the cluster, too")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "go on, and print what changes")
	cmd.Flags().BoolVar(&f.write, "write", false, "set the status of the specs in the cluster (implies --cluster)")
	return cmd
}

// addFrom adds --from to a verb.
func addFrom(cmd *cobra.Command, from *string) {
	cmd.Flags().StringVar(from, "from", fromLive, "where the facts are: live, inventory (that of the package), or the path of a snapshot")
	completeOrPath(cmd, "from", cobra.ShellCompDirectiveDefault, fromLive, fromInventory)
}

// subject is what statuses are about: a package, and the cluster if it is asked.
type subject struct {
	pkg     fn.Package
	failed  bool             // a part of the package could not be read
	cluster *cluster.Cluster // nil where the facts are files
}

func runStatus(ctx context.Context, s streams, dir string, f statusFlags) error {
	var at subject
	if !f.cluster {
		l, err := load(s, dir, "")
		if err != nil {
			return err
		}
		at.pkg = fn.Package{Objects: l.Objects, Output: l.Lock}
		at.failed = report(s.err, l.findings) != nil
		if at.failed && f.from == fromInventory {
			return errFindings // half an inventory would tell half of it
		}
	}
	if f.from != fromLive {
		facts, err := snapshotAt(s, f.from)
		if err != nil {
			return err
		}
		statuses, rest := fn.Status(at.pkg, facts)
		return printStatuses(s, dir, f, at, statuses, rest)
	}
	var err error
	if at.cluster, err = f.connect(); err != nil {
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
		if _, err := watch.NewWriter(at.cluster).Write(ctx, view.own, view.statuses, time.Now()); err != nil {
			return err
		}
	}
	return printStatuses(s, dir, f, at, view.statuses, view.rest)
}

// statusView is what a look at the cluster gives.
type statusView struct {
	own      []*watch.Own
	statuses []health.Status
	rest     []finding.Finding
}

// takeStatus looks at the cluster once.
func takeStatus(ctx context.Context, s streams, f statusFlags, at subject) (statusView, error) {
	done := terminal.Progress(s.err, "reading "+at.cluster.Server)
	defer done()
	var own []*watch.Own
	if f.cluster {
		var err error
		if own, err = watch.ReadOwn(ctx, at.cluster); err != nil {
			return statusView{}, err
		}
	}
	options := snapshot.Options{Kinds: fn.StatusKinds()}
	options.Keep(specsOf(own, at.pkg.Objects))
	taken, err := snapshot.Take(ctx, at.cluster, options)
	if err != nil {
		return statusView{}, err
	}
	return at.look(own, taken.Objects(), f), nil
}

// look computes the statuses from what was read.
func (at subject) look(own []*watch.Own, facts []*krm.Object, f statusFlags) statusView {
	pkg := at.pkg
	if f.cluster {
		pkg = watch.Package(own, facts)
	}
	statuses, rest := fn.Status(pkg, facts)
	return statusView{own, statuses, rest}
}

// specsOf lists the objects whose selectors say which more fields are read.
func specsOf(own []*watch.Own, objects []*krm.Object) []*krm.Object {
	specs := slices.Clone(objects)
	for _, o := range own {
		specs = append(specs, o.Object)
	}
	return slices.DeleteFunc(specs, func(o *krm.Object) bool {
		return !slices.ContainsFunc(fn.SpecKinds(), func(id krm.ID) bool { return id.Group == o.Group() && id.Kind == o.Kind })
	})
}

// snapshotAt reads the facts that --from names; nil stands for the package's own.
func snapshotAt(s streams, from string) ([]*krm.Object, error) {
	if from == fromInventory {
		return nil, nil
	}
	defer terminal.Progress(s.err, "reading "+from)()
	p, fs, err := folder.Read(folder.Input{Dir: from, Stdin: s.in})
	if err != nil {
		return nil, usage("--from %s: %v; write live, inventory, or the path of a snapshot", from, err)
	}
	facts, more := fn.Facts(p.Objects, true)
	if facts == nil {
		facts = []*krm.Object{}
	}
	return facts, report(s.err, finding.Sort(append(fs, more...)))
}

// printStatuses prints what status says, and turns an ERROR into exit code 1.
func printStatuses(s streams, dir string, f statusFlags, at subject, statuses []health.Status, rest []finding.Finding) error {
	err := report(s.err, rest)
	switch {
	case f.format != asText:
		if err := printAs(s.out, f.format, statusesForMachines(statuses)); err != nil {
			return err
		}
	case len(statuses) == 0 && err == nil:
		fmt.Fprintln(s.err, nothingToSay(dir, f))
	case len(statuses) > 0:
		t := newStatusTable(s.out, statuses)
		t.header()
		for i := range statuses {
			t.row(&statuses[i])
		}
	}
	if err != nil {
		return err
	}
	if at.failed || anyError(statuses) {
		return errFindings
	}
	return nil
}

func nothingToSay(dir string, f statusFlags) string {
	if f.cluster {
		return "there is no spec in the cluster, so there is nothing to say"
	}
	return dir + ": there is no spec, so there is nothing to say"
}

func anyError(statuses []health.Status) bool {
	return slices.ContainsFunc(statuses, func(st health.Status) bool { return st.Phase == health.Error })
}

// statusTable prints one line a status. The columns stay where they are from one
// line to the next, as long as what comes later fits.
type statusTable struct {
	w      io.Writer
	color  bool
	widths [4]int
}

func newStatusTable(w io.Writer, statuses []health.Status) *statusTable {
	t := &statusTable{w: w, color: terminal.HasColor(w)}
	t.fit([4]string{"SPEC", "PROGRESSING", "REASON", "SINCE"})
	for i := range statuses {
		t.fit(cells(&statuses[i]))
	}
	return t
}

func (t *statusTable) fit(row [4]string) {
	for i, text := range row {
		t.widths[i] = max(t.widths[i], len(text))
	}
}

func cells(st *health.Status) [4]string {
	return [4]string{terminal.Printable(st.Spec.String()), string(st.Phase), terminal.Printable(st.Reason), age(st.Since)}
}

func (t *statusTable) header() { t.line([4]string{"SPEC", "STATUS", "REASON", "SINCE"}, "", "MESSAGE") }

func (t *statusTable) row(st *health.Status) {
	t.line(cells(st), phaseColor(st.Phase), terminal.Printable(st.Message))
}

func (t *statusTable) line(row [4]string, color, message string) {
	t.fit(row)
	var b strings.Builder
	for i, text := range row {
		padding := strings.Repeat(" ", t.widths[i]-len(text)+2)
		if i == 1 && t.color && color != "" {
			text = color + text + terminal.Plain
		}
		b.WriteString(text + padding)
	}
	fmt.Fprintln(t.w, b.String()+message)
}

func phaseColor(p health.Phase) string {
	switch p {
	case health.Error:
		return terminal.Red
	case health.Progressing:
		return terminal.Yellow
	case health.OK:
		return terminal.Cyan
	}
	return ""
}

// age is how long ago something was, as kubectl writes it.
func age(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return duration.HumanDuration(max(time.Since(t), 0))
}

// machineStatus is a status as -o json prints it.
type machineStatus struct {
	Spec    machineRef      `json:"spec"`
	Phase   health.Phase    `json:"phase"`
	Reason  string          `json:"reason"`
	Message string          `json:"message"`
	Since   string          `json:"since,omitempty"`
	Details []machineDetail `json:"details,omitempty"`
}

type machineDetail struct {
	Object  machineRef   `json:"object"`
	Node    string       `json:"node,omitempty"`
	Phase   health.Phase `json:"phase"`
	Reason  string       `json:"reason"`
	Message string       `json:"message"`
	Since   string       `json:"since,omitempty"`
}

func statusesForMachines(statuses []health.Status) []machineStatus {
	out := make([]machineStatus, len(statuses))
	for i := range statuses {
		out[i] = statusForMachines(&statuses[i])
	}
	return out
}

func statusForMachines(st *health.Status) machineStatus {
	m := machineStatus{machineRef(st.Spec), st.Phase, st.Reason, st.Message, stamp(st.Since), nil}
	for _, d := range st.Details {
		m.Details = append(m.Details, machineDetail{machineRef(d.Object), d.Node, d.Phase, d.Reason, d.Message, stamp(d.Since)})
	}
	return m
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
