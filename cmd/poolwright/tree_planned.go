package main

import (
	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/terminal"
)

// plannedOnly refuses what cannot be meant together with --planned: the facts of a
// render are those of its package.
func (f *treeFlags) plannedOnly(cmd *cobra.Command, wanted *ref) error {
	switch {
	case !f.planned:
	case f.unhealthy:
		return usage("what is only planned has no health yet: leave out --planned or --unhealthy")
	case wanted != nil:
		return usage("--planned shows all that the package asks for: leave out %s, or see poolwright explain . %s", wanted, wanted)
	case cmd.Flags().Changed("from") && f.from != fromInventory:
		return usage("--planned looks at the inventory of the package only: leave out --from %s", f.from)
	default:
		f.from = fromInventory
	}
	return nil
}

// runPlanned shows where a render of a package puts things.
func runPlanned(s program, dir string, f treeFlags) error {
	l, err := load(s, dir, "")
	if err != nil {
		return err
	}
	result := l.render(s)
	if err := reportErrors(s, result.Findings); err != nil {
		return err
	}
	trees := []*health.Tree{}
	if result.Facts != nil {
		trees = fn.PlannedTree(result.Choices, result.Facts)
	}
	if f.format.isPicture() {
		return printPicture(s.out, f.format, "Storage as it is planned", poolsOf(trees, result.Facts))
	}
	if f.format != asText {
		return printAs(s.out, f.format, health.TreeRecords(trees))
	}
	if len(trees) == 0 {
		terminal.Println(s.err, "there are no pools and no volumes, and no spec of the package asks for any")
		return nil
	}
	if err := printTrees(s.out, trees, true); err != nil {
		return err
	}
	terminal.Println(s.out)
	counts := explain(result.Choices, nil, nil, nil)
	for i := range counts {
		counts[i].limit(explainFlags{summary: true}, result.Facts)
	}
	return printExplanations(s.out, counts)
}
