package inventory

import (
	"time"

	"github.com/poolwright/poolwright/fn/krm"
)

// Node is a Kubernetes node.
type Node struct {
	Name, UID     string
	Fault         string // why what is said of it cannot be used, or ""
	Hostname      string // its hostname label
	Zone          string
	Created       time.Time // zero when not known
	Unschedulable bool
	Taints        []Taint
	Object        *krm.Object
}

// Taint is a taint of a node.
type Taint struct{ Key, Value, Effect string }

// String gives key=value:effect as kubectl does.
func (t Taint) String() string {
	s := t.Key
	if t.Value != "" {
		s += "=" + t.Value
	}
	return s + ":" + t.Effect
}

// Down reports that the node is said not to be ready. A snapshot need not tell.
func (n *Node) Down() bool {
	for _, c := range n.Object.Node.Seq("status", "conditions") {
		if c.Str("type") == "Ready" {
			return c.Str("status") != "" && c.Str("status") != "True"
		}
	}
	return false
}

func newNode(o *krm.Object) *Node {
	n := &Node{
		Name:     o.Name,
		UID:      o.Node.Str("metadata", "uid"),
		Hostname: o.Label(LabelHostname),
		Zone:     o.Label(LabelZone),
		Object:   o,
	}
	switch {
	case !isSubdomain(n.Name):
		n.Fault = "its name is not one that Kubernetes allows: " + nameRule
	case n.Hostname != "" && !isLabelValue(n.Hostname):
		n.Fault = "its label " + LabelHostname + " is not one that Kubernetes allows: " + labelRule
	}
	n.Created, _ = time.Parse(time.RFC3339, o.Node.Str("metadata", "creationTimestamp"))
	n.Unschedulable, _ = o.Node.Get("spec", "unschedulable").Bool()
	for i := range o.Node.Seq("spec", "taints") {
		t := &o.Node.Seq("spec", "taints")[i]
		n.Taints = append(n.Taints, Taint{t.Str("key"), t.Str("value"), t.Str("effect")})
	}
	return n
}
