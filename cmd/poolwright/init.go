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

	"github.com/poolwright/poolwright/cmd/internal/scaffold"
	"github.com/poolwright/poolwright/examples"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/terminal"
)

const initLong = `Create a package for your cluster: a commented spec, and the wiring for kustomize,
kpt, Argo CD and Flux. SYSTEM is one of

  %s

DIR is a new folder, an empty one, or one that contains only an inventory. By default it
has the name of the system. The wiring takes its names from DIR; everything else that
you must change there is marked.

What no flag sets is read from the inventory, if there is one, and is asked for on a
terminal. The inventory is DIR/inventory, or the folder that --inventory names, which
is copied if poolwright inventory wrote it. With an inventory, init test-renders the
spec, and does not write a spec that cannot be rendered.

--nodes and --disks are selectors in the syntax of kubectl. A key such as
spec.details.driveType is a field of the block device. For volumetemplates, a key such
as rotational is a field of a disk in the NodeInventory.

--example copies the example of SYSTEM instead, with the snapshot of a cluster and
the output rendered for it.`

const initExample = `  # Ask, or take the defaults
  poolwright init cstor-local mycluster

  # Mirrored hard disks of labelled nodes
  poolwright init cstor-local mycluster --nodes storage=cstor --disks spec.details.driveType=HDD --raid mirror

  # From a snapshot
  poolwright inventory -O mycluster/inventory
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
		Short:   "Create a package for your cluster",
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
	flags.StringVarP(&f.Namespace, "namespace", "n", "", "the namespace of the spec (default that of the block devices, or openebs)")
	flags.IntVar(&f.Pools, "pools", 0, "how many pools, one a node (default 3, or as many as there are nodes)")
	flags.StringVar(&f.nodes, "nodes", "", "the nodes that may get a pool or a volume, by label (default all)")
	flags.StringVar(&f.disks, "disks", "", "the block devices that may be used, by label or field (default all, or the drive type with the most capacity)")
	flags.StringVar(&f.RAID, "raid", "", "how the disks of a pool are combined (default mirror)")
	flags.StringVar(&f.Capacity, "capacity", "", "the minimum capacity of a disk (default the smallest of the inventory, or 100Gi)")
	flags.StringVar(&f.Driver, "driver", "", "the CSI driver that attaches cloud disks")
	flags.StringVar(&f.StorageClass, "storage-class", "", "the StorageClass that cloud disks are claimed from")
	flags.StringVar(&f.inventory, "inventory", "", "the folder of a snapshot to choose from (default DIR/inventory)")
	flags.BoolVar(&f.example, "example", false, "copy the example, with its own inventory and output")
	for flag := range specFlags() {
		if flag != "raid" {
			complete(s, cmd, flag)
		}
	}
	complete(s, cmd, "raid", "stripe", "mirror", "raidz", "raidz2")
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
	facts, err := readFacts(s, f.dir, f.inventory)
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
