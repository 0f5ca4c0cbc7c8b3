package verify_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// TestOddFacts holds that facts of any shape are verified to the end: another tool may have
// written them.
func TestOddFacts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawn(t)
		for range rapid.IntRange(1, 4).Draw(t, "odd things") {
			facts := slices.Clone(m.facts)
			i := rapid.IntRange(0, len(facts)-1).Draw(t, "at")
			node := odd(t, *facts[i].Node)
			facts[i] = krm.NewObject(nil, &node)
			m.verify(facts)
		}
	})
}

// odd is a copy of a tree with something else somewhere in it.
func odd(t *rapid.T, n d.Node) d.Node {
	fields := n.Fields()
	if len(fields) == 0 || rapid.IntRange(0, 5).Draw(t, "here") == 0 {
		return rapid.SampledFrom([]d.Node{d.Text(""), d.Text("odd"), d.Int(-1), d.Int(1 << 60), d.Bool(true), d.List(), d.List(d.Text("odd")), d.List(d.Object()), d.Object(), d.Object(d.F("name", d.List()))}).Draw(t, "odd")
	}
	out := n.Copy()
	f := fields[rapid.IntRange(0, len(fields)-1).Draw(t, "field")]
	if (f.Key == "kind" || f.Key == "apiVersion") && len(fields) > 2 {
		return out // it would be something that nobody reads
	}
	out.Set(f.Key, odd(t, f.Value))
	return out
}
