package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/cmd/internal/scaffold"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

const convertLong = `Generate a spec from existing resources, or from manifests written by hand: the
short spec that renders exactly these. The kinds that can be converted are

  %s

They are read from a FILE, from stdin (-), or from a folder: a package, whose
inventory shows what is running. Resources that a spec already renders are skipped.

The spec goes to stdout. It contains only what differs from the defaults; a comment
names the defaults. Anything that a spec cannot express is an error, with file, line
and column, because a render would change it.

With an inventory, the spec is also rendered in memory, and every difference from
what exists is an error, too. The inventory is that of the package, that in the
folder of -o, or the one that --inventory names. -o DIR then writes a package, as
init does, with the spec and its rendered output: the pools and disks as they are,
in their order, which every later render keeps. This changes nothing that is running;
poolwright plan --against live shows it. If there is any error, no package is written.`

const convertExample = `  # Print the spec of these pools
  kubectl get cspc -n openebs -o yaml | poolwright convert -

  # Create a package from a cluster
  poolwright inventory -O storage/inventory
  poolwright convert storage -O storage
  poolwright plan storage --against live

  # Convert a manifest written by hand; its pools may not exist yet
  poolwright inventory -O storage/inventory
  poolwright convert cspc.yaml -O storage`

// convertFlags are those of the verb convert.
type convertFlags struct{ output, inventory string }

func newConvert(s program) *cobra.Command {
	var f convertFlags
	var kinds []string
	for _, k := range s.function.Kinds().Converted() {
		kinds = append(kinds, k.Kind)
	}
	cmd := &cobra.Command{
		Use:     "convert [FILE|DIR|-]",
		Short:   "Generate a spec from existing resources",
		Long:    fmt.Sprintf(convertLong, strings.Join(kinds, "\n  ")),
		Example: convertExample,
		Args:    atMost(1, "convert takes one FILE or DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runConvert(cmd.Context(), s, dirArg(args), f)
		},
	}
	addTarget(s, cmd, &f.output, folder.Stdout, "the folder of the package to write (default: the spec on stdout)", nil)
	cmd.Flags().StringVar(&f.inventory, "inventory", "", "the folder of a snapshot to test the spec with (default that of the package, or DIR/inventory of --output-dir)")
	// The only error is a flag that does not exist.
	if err := cmd.MarkFlagDirname("inventory"); err != nil {
		panic(err)
	}
	return cmd
}

func runConvert(ctx context.Context, s program, from string, f convertFlags) error {
	if f.output != folder.Stdout {
		if err := folder.CheckNew(f.output); err != nil {
			return err
		}
	}
	l, err := load(s, from, "")
	if err != nil {
		return err
	}
	facts, err := f.facts(s, from)
	if err != nil {
		return err
	}
	p := l.Input()
	if !facts.among {
		p.Objects = append(slices.Clone(p.Objects), facts.objects...)
	}
	result := s.function.Convert(p)
	findings := append(result.Findings, l.findings...)
	if len(result.Specs) == 0 && !finding.Failed(findings) {
		findings = append(findings, nothingToConvert(s.function, from))
	}
	if f.output != folder.Stdout && facts.there == nil && !finding.Failed(findings) {
		findings = append(findings, finding.Finding{
			Severity: finding.Error, Rule: "no-inventory",
			Message: "a package needs an inventory, to identify each disk; create it first: poolwright inventory -O " + quote(filepath.Join(f.output, inventory.Folder)),
		})
	}
	failed := report(s.streams, finding.Sort(findings))
	switch {
	case f.output == folder.Stdout:
		if err := printSpecs(s.out, result.Specs); err != nil {
			return err
		}
		return failed
	case failed != nil:
		return failed
	}
	return f.write(ctx, s, facts, result)
}

// convertFacts is the inventory that a spec is tried on.
type convertFacts struct {
	initFacts
	among bool // what is converted has them already
}

// facts reads the inventory: that of the package that is converted, or one that is named.
func (f convertFlags) facts(s program, from string) (convertFacts, error) {
	named, among := f.inventory, false
	own := filepath.Join(from, inventory.Folder)
	if filepath.Base(from) == inventory.Folder {
		own = from
	}
	if info, err := os.Stat(own); err == nil && info.IsDir() && named == "" {
		named, among = own, true
	}
	dir := f.output
	if dir == folder.Stdout {
		dir = os.DevNull // which has none
	}
	facts, err := readFacts(s, dir, named)
	return convertFacts{facts, among}, err
}

// nothingToConvert says so, and what there might be.
func nothingToConvert(function *fn.Function, from string) finding.Finding {
	var kinds []string
	for _, k := range function.Kinds().Converted() {
		kinds = append(kinds, k.Kind)
	}
	return finding.Finding{
		Severity: finding.Error, Rule: "nothing-to-convert", Pos: document.Position{File: from},
		Message: "has nothing that can be converted: no " + strings.Join(kinds, ", ") + " that no spec renders already",
	}
}

func printSpecs(w io.Writer, specs []fn.Converted) error {
	for i, spec := range specs {
		text := spec.Text
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// write writes the package.
func (f convertFlags) write(ctx context.Context, s program, facts convertFacts, result fn.Conversion) error {
	var specs []scaffold.Spec
	var names []string
	for _, spec := range result.Specs {
		specs = append(specs, scaffold.Spec{Kind: spec.Kind, Namespace: spec.Namespace, Name: spec.Name, Text: spec.Text})
		names = append(names, spec.Ref.String())
	}
	files, err := scaffold.Around(f.output, specs, facts.listed())
	if err != nil {
		return err
	}
	for name, text := range folder.OutputFiles(result.Rendered) {
		files[path.Join(fn.RenderedFolder, name)] = text
	}
	facts.copyTo(files)
	if err := folder.Create(ctx, f.output, files); err != nil {
		return err
	}
	terminal.Printf(s.err, "%s: generated from existing objects: %s; next: poolwright plan%s --against live\n", f.output, finding.Names(names), argument(f.output))
	return nil
}
