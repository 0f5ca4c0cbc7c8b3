package system

import (
	"iter"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/schema/finding"
)

// KnowsNodes reports whether the facts list any node; if not, that is an error.
func (c *Collector) KnowsNodes(facts *inventory.Facts) bool {
	if len(facts.Nodes) == 0 {
		c.Report(finding.Error, "no-inventory", "",
			"the package has no Node among its facts, so nothing can be chosen; put a snapshot of the cluster beside the spec with poolwright inventory")
		return false
	}
	return true
}

// SelectsNodes is Selects for nodes.
func (c *Collector) SelectsNodes(facts *inventory.Facts, terms []selector.Term, field string) bool {
	return c.Selects(terms, ObjectsOf(facts.Nodes, func(n *inventory.Node) *krm.Object { return n.Object }), "node", field)
}

// Selects reports whether the terms at a field select any of some objects, if there are any. That
// they select none is an error, and a warning where something is rendered already, which is held then, or where the
// last of it was removed with the consent that is still there.
// noun is what one object is called.
func (c *Collector) Selects(terms []selector.Term, objects iter.Seq[*krm.Object], noun, field string) bool {
	nothing := selector.Nothing(terms, objects, noun)
	switch {
	case nothing == "":
		return true
	case c.IsRendered():
		c.Report(finding.Warning, nothingRule, field, "%s; what is rendered is held; correct the selector, or refresh the inventory", nothing)
	case c.Consent.Given():
		c.Report(finding.Warning, nothingRule, field, "%s; nothing is rendered; correct the selector, or take the spec out", nothing)
	default:
		c.Report(finding.Error, nothingRule, field, "%s; correct the selector, or refresh the inventory", nothing)
	}
	return false
}

// nothingRule is that of a selector that selects nothing.
const nothingRule = "selector-matches-nothing"

// ObjectsOf lists the objects of some nodes, block devices or disks.
func ObjectsOf[T any](all []T, object func(T) *krm.Object) iter.Seq[*krm.Object] {
	return func(yield func(*krm.Object) bool) {
		for _, one := range all {
			if !yield(object(one)) {
				return
			}
		}
	}
}

// WarnOfNodes says of the nodes that hold something of the spec and do not run pods that this
// stays, and that they get nothing new. why gives the reason of a node, or "".
func (c *Collector) WarnOfNodes(holding []*inventory.Node, why func(*inventory.Node) string) {
	var down []string
	for _, n := range holding {
		if reason := why(n); reason != "" {
			down = append(down, n.Name+" ("+reason+")")
		}
	}
	slices.Sort(down)
	if down = slices.Compact(down); len(down) > 0 {
		c.Report(finding.Warning, "node-down", "", "%s: %s; what is there is kept, and nothing new is placed there",
			finding.Count(len(down), "node")+finding.Agree(len(down), " does not run pods", " do not run pods"), finding.Names(down))
	}
}
