package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/poolwright/poolwright/cmd/internal/folder"
	"github.com/poolwright/poolwright/cmd/internal/scaffold"
	"github.com/poolwright/poolwright/cmd/internal/terminal"
	"github.com/poolwright/poolwright/examples"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
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
spec.details.driveType means a field of the block device.

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
				return usage("unknown system %q: one of %s", args[0], strings.Join(systems, ", "))
			}
			dir := args[0]
			if len(args) == 2 {
				dir = args[1]
			}
			if err := f.check(cmd, args[0]); err != nil {
				return err
			}
			return f.run(cmd.Context(), s, args[0], dir, cmd.Flags().NFlag() == 0)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Name, "name", "", "the name of the spec (default prod)")
	flags.StringVarP(&f.Namespace, "namespace", "n", "", "its namespace (default that of the block devices, or openebs)")
	flags.IntVar(&f.Pools, "pools", 0, "how many pools, one a node (default 3, or as many as there are nodes)")
	flags.StringVar(&f.nodes, "nodes", "", "the nodes that may carry a pool, by label (default all)")
	flags.StringVar(&f.disks, "disks", "", "the block devices that may be taken, by label or field (default all, or of several types of drive the one with the most room)")
	flags.StringVar(&f.RAID, "raid", "", "how the disks of a pool are combined (default mirror)")
	flags.StringVar(&f.Capacity, "capacity", "", "the least that a disk must hold (default the smallest of the inventory, or 100Gi)")
	flags.StringVar(&f.Driver, "driver", "", "the CSI driver that attaches cloud disks")
	flags.StringVar(&f.StorageClass, "storage-class", "", "the StorageClass that cloud disks are claimed from")
	flags.StringVar(&f.inventory, "inventory", "", "the folder of a snapshot to choose from (default DIR/inventory)")
	flags.BoolVar(&f.example, "example", false, "copy the example, with its own cluster and output")
	for _, name := range []string{"name", "namespace", "pools", "nodes", "disks", "capacity", "driver", "storage-class"} {
		complete(cmd, name)
	}
	complete(cmd, "raid", "stripe", "mirror", "raidz", "raidz2")
	// The only error is a flag that does not exist.
	if err := cmd.MarkFlagDirname("inventory"); err != nil {
		panic(err)
	}
	return cmd
}

// only names the flags that go with one kind of system.
func only(system string) []string {
	if system == "cstor-local" {
		return []string{"driver", "storage-class"}
	}
	return []string{"disks"}
}

// check refuses flags that cannot be meant, and reads the selectors.
func (f *initFlags) check(cmd *cobra.Command, system string) error {
	if f.example && cmd.Flags().NFlag() > 1 {
		return usage("--example copies the example as it is; leave the other flags out")
	}
	for _, name := range only(system) {
		if cmd.Flags().Changed(name) {
			return usage("--%s does not go with %s", name, system)
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

func (f *initFlags) run(ctx context.Context, s program, system, dir string, mayAsk bool) error {
	if err := folder.CheckNew(dir); err != nil {
		return err
	}
	if f.example {
		files, err := scaffold.Example(system, dir)
		if err == nil {
			err = folder.Create(ctx, dir, files)
		}
		if err == nil {
			terminal.Printf(s.err, "%s: a copy of the example %s; next: poolwright explain%s\n", dir, system, argument(dir))
		}
		return err
	}
	facts, err := f.facts(dir)
	if err != nil {
		return err
	}
	if mayAsk {
		if err := f.ask(s.streams, system); err != nil {
			return err
		}
	}
	files, err := f.files(system, dir, facts)
	if err != nil {
		return err
	}
	if err := try(s, dir, files[specFile], facts.objects); err != nil {
		return err
	}
	if err := folder.Create(ctx, dir, files); err != nil {
		return err
	}
	terminal.Printf(s.err, "%s: made for %s; next: %s\n", dir, system, next(dir, facts))
	return nil
}

// specFile is what init calls the spec.
const specFile = "cstor.yaml"

// initFacts is the inventory that a new package begins with.
type initFacts struct {
	from    string // the folder, "" for none
	objects []*krm.Object
	files   map[string][]byte // to be copied, by name
	there   []string          // names of files that are in the package
}

// facts reads the inventory, if there is one.
func (f *initFlags) facts(dir string) (initFacts, error) {
	own := filepath.Join(dir, inventory.Folder)
	from := f.inventory
	if from == "" {
		if _, err := os.Stat(own); err != nil {
			return initFacts{}, nil
		}
		from = own
	}
	p, fs, err := folder.Read(folder.Input{Dir: from})
	if err != nil {
		return initFacts{}, err
	}
	if i := slices.IndexFunc(fs, func(f finding.Finding) bool { return f.Severity == finding.Error }); i >= 0 {
		return initFacts{}, errors.New(fs[i].String())
	}
	for _, o := range p.Objects {
		o.Path = path.Join(inventory.Folder, o.Path)
	}
	facts := initFacts{from: from, objects: p.Objects}
	files, ours, err := folder.ReadSnapshot(from)
	switch same := filepath.Clean(from) == own; {
	case err != nil:
		return initFacts{}, err
	case same:
		facts.there = slices.Sorted(maps.Keys(files))
	case ours:
		facts.files, facts.there = files, slices.Sorted(maps.Keys(files))
	}
	return facts, nil
}

// files are those of the package, by path.
func (f *initFlags) files(system, dir string, facts initFacts) (map[string][]byte, error) {
	var listed []string
	for _, name := range facts.there {
		listed = append(listed, path.Join(inventory.Folder, name))
	}
	files, err := scaffold.New(system, dir, f.Choices, listed, facts.objects)
	if err != nil {
		return nil, err
	}
	files[path.Join(fn.RenderedFolder, "kustomization.yaml")] = folder.EmptyKustomization()
	for name, text := range facts.files {
		files[path.Join(inventory.Folder, name)] = text
	}
	return files, nil
}

// try checks a spec, and with an inventory renders it, in memory.
func try(s program, dir string, spec []byte, facts []*krm.Object) error {
	name := filepath.Join(dir, specFile)
	objects, err := krm.Parse(&document.Source{Name: name, Data: spec})
	if err != nil {
		return err
	}
	fs := s.function.Vet(fn.Package{Objects: objects})
	if !finding.Failed(fs) && len(facts) > 0 {
		fs = s.function.Render(fn.Package{Objects: append(objects, facts...)}).Findings
	}
	fs = slices.DeleteFunc(fs, func(f finding.Finding) bool { return f.Severity != finding.Error || f.Pos.File != name })
	if err := report(s.streams, fs); err != nil {
		terminal.Printf(s.err, "poolwright: %s was not made, because this spec could not be rendered: change the flags\n", dir)
		return err
	}
	return nil
}

// next says how to go on.
func next(dir string, facts initFacts) string {
	target := filepath.Join(dir, inventory.Folder)
	output := " -o " + quote(target)
	if target == inventory.Folder {
		output = ""
	}
	explain := "poolwright explain" + argument(dir)
	switch {
	case facts.from == "":
		return "poolwright inventory" + output + ", then " + explain
	case facts.there == nil:
		return "poolwright inventory --from " + quote(facts.from) + output + ", then " + explain
	}
	return explain
}

// argument is a folder as the argument of a command, "" for the current one.
func argument(dir string) string {
	if filepath.Clean(dir) == "." {
		return ""
	}
	return " " + quote(dir)
}

// quote makes a word for a shell of a path.
func quote(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+,:@%", r)
	}) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
