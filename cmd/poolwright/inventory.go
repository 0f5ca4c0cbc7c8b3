package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

const inventoryLong = `Snapshot a running cluster into a package: read the objects that the renderer needs,
and write them to a folder, one file per kind, in the form that render reads.

Only the fields that are used are kept: no managed fields, no secrets, nothing that
changes while the cluster does not. Addresses lose their user and password. So two
snapshots of an unchanged cluster have the same bytes, and a diff shows what changed.
Kept annotations are those of Poolwright, a few of the storage systems, and those that
--keep-annotation names. On nodes and block devices, those that the specs of the package
around the folder select by are kept, too.

The folder is replaced completely, after everything was read. Files in it that
poolwright inventory did not write stay. A kind that is installed in the cluster but has
no objects gets a file with an empty list. A warning is printed if the snapshot has no
objects of a kind that had some before. The cluster is only read; deploy/rbac has a role
that allows no more.

-l selects nodes by their labels. The block devices and the NodeInventory of other nodes
are left out, too; all other kinds are read completely.

--from makes the same snapshot from dumps, without contacting a cluster. It reads files
that kubectl get -o yaml or json wrote, single objects, several documents, and other
inventories, in any combination. The dumps are taken as the complete list of their
kinds, so dump all namespaces (-A). A kind that is in no dump is unknown. For a kind
that has no objects, dump an empty list that names the kind (kubectl get --raw). An
object that appears twice must be the same both times.`

const inventoryExample = `  # Write ./inventory from the current context of the kubeconfig
  poolwright inventory

  # Another cluster, another folder
  poolwright inventory --context prod -O clusters/prod/inventory

  # One object per line
  poolwright inventory --format json

  # Only the storage nodes and their disks
  poolwright inventory -l node-role.kubernetes.io/storage

  # Without access to the cluster: from dumps that somebody sent
  kubectl get nodes,pv,pvc,bd,bdc,cspc,cspi,cvr -A -o yaml > dump.yaml
  poolwright inventory --from dump.yaml

  # Render the current state, without any files
  { cat cstor.yaml; echo ---; poolwright inventory -o -; } | poolwright render - -o -`

// inventoryFlags are those of the verb inventory.
type inventoryFlags struct {
	clusterFlags
	output      string
	format      snapshot.Format
	selector    string
	annotations []string
	dumps       []string // files, folders or "-" to read instead of a cluster
}

func newInventory(s program) *cobra.Command {
	f := inventoryFlags{format: snapshot.YAML}
	cmd := &cobra.Command{
		Use:               "inventory",
		Short:             "Snapshot a running cluster into a package",
		Long:              inventoryLong,
		Example:           inventoryExample,
		Args:              atMost(0, "inventory takes none; name the folder with --output-dir"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.onlyDumps(cmd); err != nil {
				return err
			}
			return runInventory(cmd.Context(), s, f)
		},
	}
	addTarget(s, cmd, &f.output, inventory.Folder, "the folder to write", func(form string) bool {
		is := form == string(snapshot.YAML) || form == string(snapshot.JSON)
		if is {
			f.format = snapshot.Format(form)
		}
		return is
	})
	addOneOf(s, cmd, &f.format, "format", "", "write yaml, or json with one object a line", snapshot.YAML, snapshot.JSON)
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "read only nodes with these labels, and what belongs to them")
	cmd.Flags().StringArrayVar(&f.annotations, "keep-annotation", nil, "also keep this annotation of nodes and block devices; may be repeated")
	cmd.Flags().StringArrayVar(&f.dumps, "from", nil, "read dumps instead of a cluster: a file, a folder, or - for stdin; may be repeated")
	addClusterFlags(s, cmd, &f.clusterFlags)
	cmd.Flags().StringVarP(&f.Namespace, "namespace", "n", "", "read namespaced kinds only from this namespace (default all)")
	completeWith(s, cmd, "namespace", func([]string) []string { return namespacesOf(s.knownFacts(fromInventory)) })
	return cmd
}

func runInventory(ctx context.Context, s program, f inventoryFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	var specs []*krm.Object
	if f.output != folder.Stdout {
		specs = folder.Beside(f.output)
	}
	t, err := f.take(ctx, s, specs)
	switch {
	case errors.Is(err, errFindings):
		return err
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted; nothing was changed")
	case err != nil:
		return fmt.Errorf("%w; nothing was changed", err)
	case f.output == folder.Stdout:
		if err := report(s.streams, f.gaps(t)); err != nil {
			return err
		}
		return printInventory(s.out, t.Snapshot, f.format)
	}
	return f.write(ctx, s, t)
}

// check refuses flags that cannot be meant.
func (f inventoryFlags) check() error {
	if _, err := labels.Parse(f.selector); err != nil {
		return usage("-l %s: %v", f.selector, err)
	}
	if f.Namespace != "" && len(validation.IsDNS1123Label(f.Namespace)) > 0 {
		return usage("-n %q: no namespace can have this name: it is at most 63 lower-case letters, digits and -, with a letter or digit at both ends", f.Namespace)
	}
	if f.output == folder.Stdout {
		return nil
	}
	return folder.CheckInventory(f.output)
}

// taken is what was read, from where, and which kinds the specs look at for whom
// it is.
type taken struct {
	*snapshot.Snapshot
	from   string
	needed []krm.GroupKind
	kinds  *system.Kinds
}

// take reads the cluster, or the dumps.
func (f inventoryFlags) take(ctx context.Context, s program, specs []*krm.Object) (taken, error) {
	kinds := s.function.Kinds()
	o := snapshot.Options{Kinds: kinds.Read(), Selector: f.selector, Annotations: slices.Clone(f.annotations)}
	o.Keep(specs)
	if f.dumps != nil {
		snap, err := f.dumped(s, o)
		return taken{Snapshot: snap, from: strings.Join(f.dumps, ", "), needed: kinds.FactsOf(specs), kinds: kinds}, err
	}
	c, err := f.connect()
	if err != nil {
		return taken{}, err
	}
	var progress counts
	o.Progress = progress.set
	defer terminal.Follow(s.err, func() string { return "reading " + c.String() + progress.String() })()
	snap, err := snapshot.Take(ctx, c, o)
	if err == nil && f.selector == "" && f.output != folder.Stdout {
		snap = snap.NoteMissing(folder.NotedMissing(f.output), time.Now())
	}
	return taken{Snapshot: snap, from: c.String(), needed: kinds.FactsOf(specs), kinds: kinds}, err
}

// counts is how much was read so far of each kind, in the order in which they
// began.
type counts struct {
	mutex sync.Mutex
	kinds []string
	of    map[string]int
}

func (c *counts) set(kind string, objects int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.of == nil {
		c.of = map[string]int{}
	}
	if _, known := c.of[kind]; !known {
		c.kinds = append(c.kinds, kind)
	}
	c.of[kind] = objects
}

// String names the kind with the most objects, for which one waits, and the sum.
func (c *counts) String() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	most, sum := "", 0
	for _, kind := range c.kinds {
		sum += c.of[kind]
		if c.of[kind] > c.of[most] {
			most = kind
		}
	}
	if most == "" {
		return ""
	}
	return fmt.Sprintf(": %s, %d of them %s", finding.Count(sum, "object"), c.of[most], most)
}

// write plans the folder, says what is to be said, and writes it.
func (f inventoryFlags) write(ctx context.Context, s program, t taken) error {
	var files []folder.InventoryFile
	var useful []string
	for i := range t.Kinds {
		k := &t.Kinds[i]
		name := k.File() + "." + string(f.format)
		files = append(files, folder.InventoryFile{Name: name, Write: func(w io.Writer) error {
			return k.Write(w, f.format)
		}})
		// That there is none of a kind may matter, too. Which cluster it is matters to no render.
		if k.Len() > 0 && k.File() != inventory.Cluster || slices.Contains(t.needed, krm.GroupKind{Group: k.Group, Kind: k.Kind}) {
			useful = append(useful, name)
		}
	}
	plan, err := folder.NewInventoryPlan(f.output, files)
	if err != nil {
		return err
	}
	notes := append(f.gaps(t), f.losses(plan, t)...)
	if err := plan.Write(ctx); err != nil {
		return err
	}
	if err := report(s.streams, finding.Sort(notes)); err != nil {
		return err
	}
	f.listed(s, useful)
	terminal.Println(s.err, summary(f.output, plan, finding.Count(t.Len(), "object")+" from "+t.from))
	return nil
}

// source is what is read.
func (f inventoryFlags) source() string {
	if f.dumps != nil {
		return "the dump"
	}
	return "the cluster"
}

// gaps says which kinds are left out: those that the specs look at by name. And it
// warns of a namespace in which nothing is: to ask whether it exists takes a
// permission that reading does not need.
func (f inventoryFlags) gaps(t taken) []finding.Finding {
	var notes []finding.Finding
	var missed []string
	for _, id := range t.Absent {
		if slices.Contains(t.needed, id) {
			missed = append(missed, strings.TrimSuffix(id.Kind+"."+id.Group, "."))
		}
	}
	others := len(t.Absent) - len(missed)
	message := ""
	switch {
	case f.dumps != nil:
		message = f.unknown(t)
	case len(missed) > 0:
		message = "the cluster does not have kinds that the specs around the folder look at: " + strings.Join(missed, ", ") + "; they are left out"
		if others > 0 {
			message += ", and " + finding.Count(others, "other kind")
		}
	case others > 0:
		message = fmt.Sprintf("the cluster does not have %d of the %d kinds that are read; they are left out", others, others+len(t.Kinds))
	}
	if message != "" {
		notes = append(notes, finding.Finding{Severity: finding.Info, Rule: "kind-absent", Message: message})
	}
	if f.Namespace != "" && !slices.ContainsFunc(t.Kinds, func(k snapshot.Kind) bool { return k.Namespaced && k.Len() > 0 }) {
		notes = append(notes, finding.Finding{
			Severity: finding.Warning, Rule: "empty-namespace",
			Message: fmt.Sprintf("-n %s: nothing that is read is in this namespace; is it the right one?", f.Namespace),
		})
	}
	return notes
}

// losses warns where objects of the snapshot before are no more, and that may be a
// mistake: none is left of a kind, or only a part of the cluster was read. For the
// renderer, what is missing may be lost.
func (f inventoryFlags) losses(plan *folder.Plan, t taken) []finding.Finding {
	var flags []string
	if f.selector != "" {
		flags = append(flags, "-l")
	}
	if f.Namespace != "" {
		flags = append(flags, "-n")
	}
	kinds := map[string]*snapshot.Kind{}
	for i := range t.Kinds {
		kinds[t.Kinds[i].File()] = &t.Kinds[i]
	}
	var notes []finding.Finding
	for _, c := range plan.Changes {
		name := filepath.Base(c.Name)
		k := kinds[strings.TrimSuffix(name, filepath.Ext(name))]
		had := objectsIn(c.Name)
		now := ""
		switch {
		case had == 0, k != nil && t.passing(k):
			continue
		case k == nil:
			now = "and is removed, for " + f.source() + " does not have the kind; they"
		case flags != nil && k.Len() < had:
			now = fmt.Sprintf("and with %s has %d; the others", strings.Join(flags, " and "), k.Len())
		case k.Len() == 0:
			now = "and has none now; they"
		default:
			continue
		}
		notes = append(notes, finding.Finding{
			Severity: finding.Warning, Rule: "fewer-objects", Pos: document.Position{File: c.Name},
			Message: fmt.Sprintf("had %s, %s look missing to the renderer, which then holds or refuses", finding.Count(had, "object"), now),
		})
	}
	return notes
}

// passing reports whether objects of a kind go by themselves, as events do.
func (t taken) passing(k *snapshot.Kind) bool {
	kind, _ := t.kinds.Find(krm.GroupKind{Group: k.Group, Kind: k.Kind})
	return kind.Tells == system.TellsEvents
}

func objectsIn(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	return snapshot.Count(f)
}

// listed says where a kustomization around the folder does not fit its files, with
// entries to paste or to delete.
func (f inventoryFlags) listed(s program, files []string) {
	kustomization, lacks, stale := folder.Listed(f.output, files)
	note := func(severity finding.Severity, message string, entries []string) {
		if len(entries) == 0 {
			return
		}
		_ = report(s.streams, []finding.Finding{{ // not an error, so it does not fail
			Severity: severity, Rule: "kustomization", Pos: document.Position{File: kustomization}, Field: "resources", Message: message,
		}})
		for _, entry := range entries {
			terminal.Printf(s.err, "- %s\n", entry)
		}
	}
	note(finding.Info, "does not list all of the inventory; for build, kustomize and kpt add:", lacks)
	note(finding.Warning, "lists what is not there; remove:", stale)
}

// printInventory prints all files as one stream: documents of YAML, or one List
// in JSON.
func printInventory(w io.Writer, snap *snapshot.Snapshot, format snapshot.Format) error {
	before, between, after := "", "---\n", ""
	if format == snapshot.JSON {
		before, between, after = `{"apiVersion":"v1","kind":"List","items":[`+"\n", ",\n", "]}\n"
	}
	if _, err := io.WriteString(w, before); err != nil {
		return err
	}
	for i := range snap.Kinds {
		if i > 0 {
			if _, err := io.WriteString(w, between); err != nil {
				return err
			}
		}
		if err := snap.Kinds[i].Write(w, format); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, after)
	return err
}
