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
	ready         string // status of the condition Ready, "" when not known
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

// Readiness is whether a node runs pods.
type Readiness string

// The states of a node. One of which a snapshot keeps neither condition nor taint is Ready.
const (
	Ready       Readiness = "Ready"
	NotReady    Readiness = "NotReady"
	Unreachable Readiness = "Unreachable" // its kubelet does not answer
)

// Readiness is what the condition Ready says, or the taints that Kubernetes sets by it, which
// no toleration makes up for.
func (n *Node) Readiness() Readiness {
	switch n.ready {
	case "False":
		return NotReady
	case "", "True":
	default:
		return Unreachable
	}
	for _, taint := range n.Taints {
		switch taint.Key {
		case "node.kubernetes.io/not-ready":
			return NotReady
		case "node.kubernetes.io/unreachable":
			return Unreachable
		}
	}
	return Ready
}

// Down reports that the node is said not to be ready. A snapshot may lack it.
func (n *Node) Down() bool { return n.ready != "" && n.ready != "True" }

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
	for _, c := range o.Node.Seq("status", "conditions") {
		if c.Str("type") == "Ready" {
			n.ready = c.Str("status")
			break
		}
	}
	return n
}
