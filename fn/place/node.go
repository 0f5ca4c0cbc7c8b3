// Package place chooses: nodes for pools, disks for nodes. It is shared by every
// system, pure, and gives a reason with every choice and every refusal.
package place

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// Toleration is a core/v1 toleration.
type Toleration struct {
	Key      string `json:"key"`
	Operator string `json:"operator"` // Equal when empty
	Value    string `json:"value"`
	Effect   string `json:"effect"` // every effect when empty
}

func (t Toleration) tolerates(taint inventory.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Operator == "Exists" {
		return t.Key == "" || t.Key == taint.Key
	}
	return t.Key == taint.Key && t.Value == taint.Value
}

// RefuseHostname says why a pool could not be bound to a node, or "" if it could.
func RefuseHostname(n *inventory.Node, facts *inventory.Facts) string {
	switch {
	case n.Fault != "":
		return n.Fault
	case n.Hostname == "":
		return "it has no label " + inventory.LabelHostname
	}
	for _, other := range facts.Host(n.Hostname) {
		if other != n {
			return fmt.Sprintf("it shares the %s label %q with node %s", inventory.LabelHostname, n.Hostname, other.Name)
		}
	}
	return ""
}

// RefuseNew says why a node gets nothing new, "" where it may: it is cordoned, it does not
// run pods now, or it has a taint that is not tolerated. What is there already stays.
func RefuseNew(n *inventory.Node, tolerations []Toleration) string {
	if n.Unschedulable {
		return "it is cordoned"
	}
	if why := RefuseRun(n, tolerations); why != "" {
		return why
	}
	return refuseTaint(n, "NoSchedule", tolerations)
}

// RefuseRun says why pods do not run on a node, not even those that are on it, "" where they
// do: it is not ready, unreachable, or evicts them.
func RefuseRun(n *inventory.Node, tolerations []Toleration) string {
	switch n.Readiness() {
	case inventory.NotReady:
		return "it is not ready"
	case inventory.Unreachable:
		return "it is unreachable"
	}
	return refuseTaint(n, "NoExecute", tolerations)
}

func refuseTaint(n *inventory.Node, effect string, tolerations []Toleration) string {
	for _, taint := range n.Taints {
		if taint.Effect == effect && !slices.ContainsFunc(tolerations, func(t Toleration) bool { return t.tolerates(taint) }) {
			return "it has the taint " + taint.String() + ", which is not tolerated"
		}
	}
	return ""
}

// DaemonTolerations are those of the DaemonSets that run on every storage node, whichever
// pods are kept off it.
func DaemonTolerations() []Toleration {
	return []Toleration{{Operator: "Exists", Effect: "NoSchedule"}}
}

// Oldest orders nodes by age, then name. A node of unknown age counts as newest.
func Oldest(a, b *inventory.Node) int {
	switch {
	case a.Created.IsZero() != b.Created.IsZero():
		if a.Created.IsZero() {
			return 1
		}
		return -1
	case !a.Created.Equal(b.Created):
		return a.Created.Compare(b.Created)
	}
	return cmp.Compare(a.Name, b.Name)
}

// Picked is a chosen node and the reason.
type Picked struct {
	Node   *inventory.Node
	Reason string
	Spread bool // over several zones, rather than by age alone
}

// SpreadNodes picks up to count of the candidates, one at a time from the zone
// that holds fewest pools so far, the oldest node of that zone first. kept are
// the nodes that hold pools already.
func SpreadNodes(kept, candidates []*inventory.Node, count int) []Picked {
	held := map[string]int{}
	for _, n := range kept {
		held[n.Zone]++
	}
	var picked []Picked
	for _, p := range Spread(held, candidates, count, func(n *inventory.Node) string { return n.Zone }, Oldest, age) {
		picked = append(picked, Picked{p.Candidate, zoneReason(p.Zone, p.Held), p.Several})
	}
	return picked
}

// age compares without the name: a tie goes to the zone name.
func age(a, b *inventory.Node) int {
	if a.Created.Equal(b.Created) {
		return 0
	}
	return Oldest(a, b)
}

func zoneReason(zone string, held int) string {
	where := "zone " + zone
	if zone == "" {
		where = "the nodes without a zone"
	}
	return fmt.Sprintf("oldest free node of %s, which held %s", where, finding.Count(held, "pool"))
}
