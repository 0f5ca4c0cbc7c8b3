// Package mutation makes mistakes in documents, for the tests of whatever has to
// find them.
package mutation

import (
	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/schema/document"
)

// Clone copies a document.
func Clone(n *document.Node) document.Node {
	c := n.Copy()
	for i, f := range c.Fields() {
		c.Fields()[i].Value = Clone(&f.Value)
	}
	for i, item := range c.Items() {
		c.Items()[i] = Clone(&item)
	}
	return c
}

// Mutate makes one mistake somewhere.
func Mutate(t *rapid.T, n *document.Node) {
	for {
		children := len(n.Fields()) + len(n.Items())
		if children == 0 || rapid.IntRange(0, 5).Draw(t, "stop") == 0 {
			break
		}
		i := rapid.IntRange(0, children-1).Draw(t, "child")
		if i < len(n.Fields()) {
			n = &n.Fields()[i].Value
		} else {
			n = &n.Items()[i-len(n.Fields())]
		}
	}
	value := rapid.SampledFrom([]document.Node{
		{}, document.Text(""), document.Text("x"), document.Text("3"), document.Text("\x00 \n\"\\(a)"),
		document.Int(0), document.Int(-1), document.Int(7), document.Int(1 << 62), document.Bool(true), document.Bool(false),
		document.Plain("0.5"), document.Plain("1e3"), document.Plain("+4"), document.Plain(".5e-3"), document.Plain("6."),
		document.Object(), document.List(), document.Object(document.F("a", document.Text("b"))),
		document.List(document.Text("a"), document.Node{}), document.Text("raidz"), document.Text("5Gi"),
	}).Draw(t, "value")
	keys := []string{"spec", "minCount", "groupSize", "external", "local", "auto", "raidType", "rules", "#rules", "_counts", "let", "", "x.y/z",
		"capacityThreshold", "threshold", "selectorTerms", "capacity", "count", "values", "operator", "key", "limits", "requests", "csiAttacherName"}
	switch {
	case n.Kind() == document.Map && rapid.Bool().Draw(t, "in the map"):
		key := rapid.SampledFrom(keys).Draw(t, "key")
		switch {
		case rapid.Bool().Draw(t, "add"):
			n.Set(key, value)
		case len(n.Fields()) > 0:
			i := rapid.IntRange(0, len(n.Fields())-1).Draw(t, "field")
			if n.Field(key) == nil {
				n.Fields()[i].Key = key
			}
		}
	case n.Kind() == document.Map && len(n.Fields()) > 0 && rapid.Bool().Draw(t, "drop"):
		n.Delete(n.Fields()[rapid.IntRange(0, len(n.Fields())-1).Draw(t, "field")].Key)
	case n.Kind() == document.Seq && rapid.Bool().Draw(t, "append"):
		n.Add(value)
	default:
		*n = Clone(&value)
	}
}
