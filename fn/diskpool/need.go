package diskpool

import (
	"cmp"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/quantity"
)

// need is what a node lacks for a pool, and the command that fixes it.
type need struct{ rule, reason, command string }

// nodeDown is the rule of a node that does not run pods.
const nodeDown = "node-down"

// hugePages is how much memory in huge pages the io-engine takes, in bytes.
//
// Source: OpenEBS, Replicated PV Mayastor, Prerequisites, 4.6.
const hugePages = 2 << 30

// needs are what a node is known to lack.
func (s *selection) needs(n *inventory.Node) []need {
	var needs []need
	if n.Object.Label(labelEngine) != engine {
		needs = append(needs, need{"no-engine-label", "it has no label " + labelEngine + "=" + engine, "kubectl label node " + n.Name + " " + labelEngine + "=" + engine})
	}
	if arch := cmp.Or(n.Object.Label("kubernetes.io/arch"), n.Object.Node.Str("status", "nodeInfo", "architecture")); arch != "" && arch != "amd64" {
		needs = append(needs, need{"not-amd64", "its architecture is " + arch + ", and Mayastor runs on amd64 alone", "kubectl label node " + n.Name + " " + labelEngine + "-"})
	}
	if few := fewHugePages(s.Facts, n); few.reason != "" {
		needs = append(needs, few)
	}
	switch reason := place.RefuseNew(n, place.DaemonTolerations()); {
	case reason == "":
	case n.Unschedulable:
		needs = append(needs, need{"cordoned", reason, "kubectl uncordon " + n.Name})
	default:
		needs = append(needs, need{nodeDown, reason, "kubectl describe node " + n.Name})
	}
	return needs
}

// fewHugePages reads what kubelet gives to pods, and what the kernel has where a node agent
// shows. Only what is known is a reason.
func fewHugePages(facts *inventory.Facts, n *inventory.Node) (few need) {
	const restart = "sudo systemctl restart kubelet"
	short := func(size string) bool {
		q, err := quantity.Parse(size)
		return err == nil && q.Value() < hugePages
	}
	pods, kernel := n.Object.Node.Str("status", "allocatable", "hugepages-2Mi"), ""
	if agent := facts.Object(krm.ID{Group: ownGroup, Kind: agentKind, Name: n.Name}); agent != nil {
		kernel = agent.Node.Str("status", "hugepages", "2Mi")
	}
	switch {
	case short(kernel):
		few.reason = "it has " + quantity.Size(quantity.Bytes(kernel)) + " of hugepages-2Mi"
	case !short(pods):
		return need{}
	case kernel != "":
		return need{"few-hugepages", "its kernel has enough hugepages-2Mi, and its kubelet says " + pods + ", where the io-engine takes 2Gi", "on the node, " + restart}
	default:
		few.reason = "it has " + pods + " of hugepages-2Mi"
	}
	return need{"few-hugepages", few.reason + ", and the io-engine takes 2Gi",
		"on the node, echo vm.nr_hugepages=1024 | sudo tee /etc/sysctl.d/90-mayastor.conf && sudo sysctl --system && " + restart}
}
