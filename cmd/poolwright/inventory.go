package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/poolwright/poolwright/cmd/internal/folder"
	"github.com/poolwright/poolwright/cmd/internal/terminal"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

const inventoryLong = `Snapshot a live cluster into a package: read what the renderer looks at, and
write it to a folder, one file per kind, in the form that render reads.

Only the fields that are used are kept: no managed fields, no secrets, nothing
that changes while the cluster does not. So two snapshots of an unchanged cluster
are the same bytes, and a diff shows what happened. Of annotations, those of
Poolwright are kept, those that --keep-annotation names, and, on nodes and block
devices, those that the specs of the package around the folder select by.

The folder is replaced as a whole, after everything was read; files in it that
poolwright inventory did not write stay. A kind that the cluster has and of which
there is no object gets an empty file. Reading is all that is done to the cluster;
deploy/rbac has a role that allows exactly that.

-l selects nodes by their labels. The block devices and the NodeInventory of a
node that is left out are left out with it; all other kinds are read whole.`

const inventoryExample = `  # Write ./inventory from the current context of the kubeconfig
  poolwright inventory

  # Another cluster, another folder
  poolwright inventory --context prod -o clusters/prod/inventory

  # One object a line
  poolwright inventory --format json

  # Only the storage nodes and their disks
  poolwright inventory -l node-role.kubernetes.io/storage

  # Render what is there now, without any files
  { cat cstor.yaml; echo ---; poolwright inventory -o -; } | poolwright render - -o -`

// fileFormat is the value of --format.
type fileFormat snapshot.Format

func (f *fileFormat) String() string { return string(*f) }
func (f *fileFormat) Type() string   { return "yaml|json" }
func (f *fileFormat) Set(v string) error {
	if v != string(snapshot.YAML) && v != string(snapshot.JSON) {
		return fmt.Errorf("%q is not one of yaml, json", v)
	}
	*f = fileFormat(v)
	return nil
}

// inventoryFlags are those of the verb inventory.
type inventoryFlags struct {
	clusterFlags
	output      string
	format      fileFormat
	selector    string
	annotations []string
}

func newInventory(s streams) *cobra.Command {
	f := inventoryFlags{format: fileFormat(snapshot.YAML)}
	cmd := &cobra.Command{
		Use:               "inventory",
		Short:             "Snapshot a live cluster into a package",
		Long:              inventoryLong,
		Example:           inventoryExample,
		Args:              atMost(0, "inventory takes none; name the folder with -o"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return runInventory(s, f) },
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "inventory", "the folder to write, or - for the standard output")
	cmd.Flags().Var(&f.format, "format", "write yaml, or json with one object a line")
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "read only nodes with these labels, and what belongs to them")
	cmd.Flags().StringArrayVar(&f.annotations, "keep-annotation", nil, "keep this annotation of nodes and block devices, too; may be repeated")
	addClusterFlags(cmd, &f.clusterFlags)
	complete(cmd, "format", string(snapshot.YAML), string(snapshot.JSON))
	// The only error is a flag that does not exist.
	if err := cmd.MarkFlagDirname("output"); err != nil {
		panic(err)
	}
	return cmd
}

func runInventory(s streams, f inventoryFlags) error {
	if _, err := labels.Parse(f.selector); err != nil {
		return usage("-l %s: %v", f.selector, err)
	}
	if f.output != folder.Stdout {
		if err := folder.CheckInventory(f.output); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	snap, err := f.take(ctx, s)
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted; nothing was changed")
	case err != nil:
		return fmt.Errorf("%w; nothing was changed", err)
	case f.output == folder.Stdout:
		if err := report(s.err, snap.Notes); err != nil {
			return err
		}
		return printInventory(s.out, snap, snapshot.Format(f.format))
	}
	return f.write(ctx, s, snap)
}

// take reads the cluster.
func (f inventoryFlags) take(ctx context.Context, s streams) (*snapshot.Snapshot, error) {
	o := snapshot.Options{Selector: f.selector, Annotations: slices.Clone(f.annotations)}
	if f.output != folder.Stdout {
		o.Keep(folder.Beside(f.output))
	}
	c, err := f.connect()
	if err != nil {
		return nil, err
	}
	var progress counts
	o.Progress = progress.set
	defer terminal.Follow(s.err, func() string { return "reading " + c.Server + progress.String() })()
	return snapshot.Take(ctx, c, o)
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
	return fmt.Sprintf(": %s, %d of them %s", count(sum, "object"), c.of[most], most)
}

// write plans the folder, says what is to be said, and writes it.
func (f inventoryFlags) write(ctx context.Context, s streams, snap *snapshot.Snapshot) error {
	var files []folder.InventoryFile
	var filled []string
	for i := range snap.Kinds {
		k := &snap.Kinds[i]
		name := k.Plural + "." + string(f.format)
		files = append(files, folder.InventoryFile{Name: name, Write: func(w io.Writer) error {
			return k.Write(w, snapshot.Format(f.format))
		}})
		if k.Len() > 0 {
			filled = append(filled, name)
		}
	}
	plan, err := folder.NewInventoryPlan(f.output, files)
	if err != nil {
		return err
	}
	notes := append(snap.Notes, f.losses(snap)...)
	if err := plan.Write(ctx); err != nil {
		return err
	}
	notes = append(notes, f.listed(filled)...)
	if err := report(s.err, finding.Sort(notes)); err != nil {
		return err
	}
	fmt.Fprintln(s.err, summary(f.output, plan, snap.Len()))
	return nil
}

// losses warns where a snapshot of a part of the cluster takes the place of one
// that had more: for the renderer, what is missing may be lost.
func (f inventoryFlags) losses(snap *snapshot.Snapshot) []finding.Finding {
	var flags []string
	if f.selector != "" {
		flags = append(flags, "-l")
	}
	if f.Namespace != "" {
		flags = append(flags, "-n")
	}
	if flags == nil {
		return nil
	}
	var notes []finding.Finding
	for i := range snap.Kinds {
		k := &snap.Kinds[i]
		for _, format := range []snapshot.Format{snapshot.YAML, snapshot.JSON} {
			path := filepath.Join(f.output, k.Plural+"."+string(format))
			if had := objectsIn(path); had > k.Len() {
				notes = append(notes, finding.Finding{
					Severity: finding.Warning, Rule: "fewer-objects", Pos: document.Position{File: path},
					Message: fmt.Sprintf("had %s, and with %s has %d; the others look missing to the renderer, which then holds or refuses",
						count(had, "object"), strings.Join(flags, " and "), k.Len()),
				})
			}
		}
	}
	return notes
}

func objectsIn(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	return snapshot.Count(f)
}

// listed says where a kustomization around the folder does not fit its files.
func (f inventoryFlags) listed(files []string) []finding.Finding {
	kustomization, lacks, stale := folder.Listed(f.output, files)
	var notes []finding.Finding
	note := func(severity finding.Severity, format string, args ...any) {
		notes = append(notes, finding.Finding{
			Severity: severity, Rule: "kustomization", Pos: document.Position{File: kustomization}, Field: "resources",
			Message: fmt.Sprintf(format, args...),
		})
	}
	if len(lacks) > 0 {
		note(finding.Info, "does not list all of the inventory; for build, kustomize and kpt add: - %s", strings.Join(lacks, ", - "))
	}
	if len(stale) > 0 {
		note(finding.Warning, "lists what is not there; remove: - %s", strings.Join(stale, ", - "))
	}
	return notes
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
