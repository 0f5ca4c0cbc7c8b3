package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/poolwright/poolwright/cmd/internal/folder"
	"github.com/poolwright/poolwright/cmd/internal/scaffold"
	"github.com/poolwright/poolwright/cmd/internal/terminal"
	"github.com/poolwright/poolwright/examples"
	"github.com/poolwright/poolwright/schema"
)

const initLong = `Make a package for your cluster: a commented spec, and the wiring for kustomize,
kpt, Argo CD and Flux. SYSTEM is one of

  %s

DIR is a new folder, an empty one, or one with nothing but an inventory in it, by
default one with the name of the system. The wiring takes its names from DIR; what
else is to be changed there is marked.

What no flag says is read from the inventory, if there is one (DIR/inventory, or the
folder that --inventory names, which is copied if poolwright inventory wrote it), and
is asked for on a terminal. With an inventory the spec is tried out on it, and one
that cannot be rendered is not written.

--nodes and --disks are selectors as kubectl reads them; a key such as
spec.details.driveType means a field of the block device, and for volumetemplates one
such as rotational what a NodeInventory says of a disk.

--example copies the example of SYSTEM instead, with the snapshot of a cluster and
what is rendered for it.`

const initExample = `  # Ask, or take the defaults
  poolwright init cstor-local mycluster

  # Mirrored hard disks of labelled nodes
  poolwright init cstor-local mycluster --nodes storage=cstor --disks spec.details.driveType=HDD --raid mirror

  # From a snapshot
  poolwright inventory -o mycluster/inventory
  poolwright init cstor-local mycluster

  # An example to look at, which renders as it stands
  poolwright init cstor-cloud --example`

// initFlags are those of the verb init.
type initFlags struct {
	system, dir string // the arguments
	template    *examples.Template

	scaffold.Choices
	nodes, disks string // selectors
	inventory    string
	example      bool
}

func newInit(s program) *cobra.Command {
	var f initFlags
	systems := examples.Systems()
	cmd := &cobra.Command{
		Use:     "init SYSTEM [DIR]",
		Short:   "Make a package for your cluster",
		Long:    fmt.Sprintf(initLong, strings.Join(systems, "\n  ")),
		Example: initExample,
		Args:    atMost(2, "init takes a SYSTEM and one DIR"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return systems, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("which SYSTEM? one of %s", strings.Join(systems, ", "))
			}
			if !slices.Contains(systems, args[0]) {
				return usage("unknown system %q%s: one of %s", args[0], schema.DidYouMean(args[0], systems), strings.Join(systems, ", "))
			}
			f.system, f.dir = args[0], args[len(args)-1]
			var err error
			if f.template, err = examples.NewTemplate(f.system); err != nil {
				return err
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context(), s, cmd.Flags().NFlag() == 0)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Name, "name", "", "the name of the spec (default prod)")
	flags.StringVarP(&f.Namespace, "namespace", "n", "", "its namespace (default that of the block devices, or openebs)")
	flags.IntVar(&f.Pools, "pools", 0, "how many pools, one a node (default 3, or as many as there are nodes)")
	flags.StringVar(&f.nodes, "nodes", "", "the nodes that may carry a pool or a volume, by label (default all)")
	flags.StringVar(&f.disks, "disks", "", "the block devices that may be taken, by label or field (default all, or of several types of drive the one with the most room)")
	flags.StringVar(&f.RAID, "raid", "", "how the disks of a pool are combined (default mirror)")
	flags.StringVar(&f.Capacity, "capacity", "", "the least that a disk must hold (default the smallest of the inventory, or 100Gi)")
	flags.StringVar(&f.Driver, "driver", "", "the CSI driver that attaches cloud disks")
	flags.StringVar(&f.StorageClass, "storage-class", "", "the StorageClass that cloud disks are claimed from")
	flags.StringVar(&f.inventory, "inventory", "", "the folder of a snapshot to choose from (default DIR/inventory)")
	flags.BoolVar(&f.example, "example", false, "copy the example, with its own cluster and output")
	for flag := range specFlags() {
		if flag != "raid" {
			complete(cmd, flag)
		}
	}
	complete(cmd, "raid", "stripe", "mirror", "raidz", "raidz2")
	// The only error is a flag that does not exist.
	if err := cmd.MarkFlagDirname("inventory"); err != nil {
		panic(err)
	}
	return cmd
}

// specFlags are the flags that set a value of the template, with its name there.
func specFlags() map[string]string {
	return map[string]string{
		"name": "Name", "namespace": "Namespace", "pools": "Pools", "nodes": "Nodes", "disks": "Disks",
		"raid": "RAID", "capacity": "Capacity", "driver": "Driver", "storage-class": "StorageClass",
	}
}

// check refuses flags that cannot be meant, and reads the selectors.
func (f *initFlags) check(cmd *cobra.Command) error {
	if f.example && cmd.Flags().NFlag() > 1 {
		return usage("--example copies the example as it is; leave the other flags out")
	}
	for _, flag := range slices.Sorted(maps.Keys(specFlags())) {
		if cmd.Flags().Changed(flag) && !f.template.Uses(specFlags()[flag]) {
			return usage("--%s does not go with %s", flag, f.system)
		}
	}
	if cmd.Flags().Changed("pools") && f.Pools < 1 {
		return usage("--pools %d: at least 1, or leave it out", f.Pools)
	}
	for _, name := range []string{"name", "namespace"} {
		if value := cmd.Flags().Lookup(name).Value.String(); value != "" && len(validation.IsDNS1123Label(value)) > 0 {
			return usage("--%s %q: at most 63 lower-case letters, digits and -, with a letter or digit at both ends", name, value)
		}
	}
	return f.readSelectors()
}

func (f *initFlags) readSelectors() (err error) {
	if f.Nodes, err = scaffold.ParseTerms(f.nodes); err != nil {
		return usage("--nodes %s: %v", f.nodes, err)
	}
	if f.Disks, err = scaffold.ParseTerms(f.disks); err != nil {
		return usage("--disks %s: %v", f.disks, err)
	}
	return nil
}

func (f *initFlags) run(ctx context.Context, s program, mayAsk bool) error {
	if err := folder.CheckNew(f.dir); err != nil {
		return err
	}
	if f.example {
		files, err := scaffold.Example(f.system, f.dir)
		if err == nil {
			err = folder.Create(ctx, f.dir, files)
		}
		if err == nil {
			terminal.Printf(s.err, "%s: a copy of the example %s; next: poolwright explain%s\n", f.dir, f.system, argument(f.dir))
		}
		return err
	}
	facts, err := readFacts(f.dir, f.inventory)
	if err != nil {
		return err
	}
	if mayAsk {
		if err := f.ask(s.streams); err != nil {
			return err
		}
	}
	files, err := f.files(facts)
	if err != nil {
		return err
	}
	if err := try(s, filepath.Join(f.dir, f.template.Spec), files[f.template.Spec], facts.objects); err != nil {
		return err
	}
	if err := folder.Create(ctx, f.dir, files); err != nil {
		return err
	}
	terminal.Printf(s.err, "%s: made for %s; next: %s\n", f.dir, f.system, next(f.dir, facts))
	return nil
}
