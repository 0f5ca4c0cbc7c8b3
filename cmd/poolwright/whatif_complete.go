package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/resilience"
)

// changeWords completes [DIR] [CHANGE]... as far as files show.
func (p program) changeWords(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	verbs := slices.DeleteFunc(resilience.Verbs(), func(verb string) bool { return !strings.HasPrefix(verb, begun) })
	if len(args) == 0 {
		if len(verbs) > 0 {
			return verbs, cobra.ShellCompDirectiveDefault // or a folder
		}
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	dir := "."
	if !resilience.IsChange(args[0]) {
		dir = args[0]
	}
	var kinds []string
	switch resilience.Verb(args[len(args)-1]) {
	case resilience.Lose:
		kinds = []string{"node", "zone", "nodes", "disk", "pool"}
	case resilience.Stop:
		kinds = []string{"node", "zone", "nodes", "pool"}
	case resilience.Drain:
		kinds = []string{"node"}
	case resilience.Set:
		return nil, cobra.ShellCompDirectiveDefault
	default:
		return verbs, cobra.ShellCompDirectiveNoFileComp
	}
	kind, _, typed := strings.Cut(begun, "/")
	var words []string
	if !typed {
		for _, k := range kinds {
			if strings.HasPrefix(k, begun) {
				words = append(words, k+"/")
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	facts, _ := p.function.Facts(p.packageAt(dir).Objects, false)
	for _, name := range p.function.LossNames(inventory.New(facts), kind) {
		if word := kind + "/" + name; strings.HasPrefix(word, begun) && slices.Contains(kinds, kind) {
			words = append(words, word)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
