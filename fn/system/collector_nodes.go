package system

import (
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/schema/finding"
)

// KnowsNodes reports whether the facts tell of any node; that they do not is an error.
func (c *Collector) KnowsNodes(facts *inventory.Facts) bool {
	if len(facts.Nodes) == 0 {
		c.Report(finding.Error, "no-inventory", "",
			"the package has no Node among its facts, so nothing can be chosen; put a snapshot of the cluster beside the spec with poolwright inventory")
		return false
	}
	return true
}

// SelectsNodes reports whether the terms at a field select any node; that they do not is an
// error.
func (c *Collector) SelectsNodes(facts *inventory.Facts, terms []selector.Term, field string) bool {
	if len(terms) == 0 || slices.ContainsFunc(facts.Nodes, func(n *inventory.Node) bool { return selector.MatchesAny(terms, n.Object) }) {
		return true
	}
	c.Report(finding.Error, "selector-matches-nothing", field,
		"selects no node of the inventory, which has %s; compare it with the labels there", finding.Count(len(facts.Nodes), "node"))
	return false
}
