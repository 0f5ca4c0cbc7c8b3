package system

import (
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// NodeRef names a node.
func NodeRef(name string) finding.Ref {
	return finding.Ref{APIVersion: "v1", Kind: "Node", Name: name}
}

// NodeTree is a node in a tree. What names one that is not there is said.
func NodeTree(facts *inventory.Facts, name, namedBy string) *health.Tree {
	n := facts.Node(name)
	if n == nil {
		return health.Absent(NodeRef(name), namedBy+" names it")
	}
	t := &health.Tree{Object: n.Object.Ref, Phase: health.OK}
	for _, c := range n.Object.Node.Seq("status", "conditions") {
		if c.Str("type") == "Ready" {
			t.State = "Ready"
			if c.Str("status") != "True" {
				t.Phase, t.State, t.Note = health.Error, "NotReady", c.Str("reason")
			}
		}
	}
	return t
}

// TreeOf is what Mapper.Tree gives of one object; nil for nothing.
func TreeOf(t *health.Tree) []*health.Tree {
	if t == nil {
		return nil
	}
	return []*health.Tree{t}
}
