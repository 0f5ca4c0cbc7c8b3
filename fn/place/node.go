// Package place chooses: nodes for pools, disks for nodes. It is shared by every
// system, pure, and gives a reason with every choice and every refusal.
package place

import (
	"cmp"
	"container/heap"
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

// RefusePods says why a node takes no new pods, or "" if it does.
func RefusePods(n *inventory.Node, tolerations []Toleration) string {
	if n.Unschedulable {
		return "it is cordoned"
	}
	for _, taint := range n.Taints {
		if taint.Effect != "NoSchedule" && taint.Effect != "NoExecute" {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(t Toleration) bool { return t.tolerates(taint) }) {
			return "it has the taint " + taint.String() + ", which is not tolerated"
		}
	}
	return ""
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
	zones := map[string]*zone{}
	for _, n := range candidates {
		if zones[n.Zone] == nil {
			zones[n.Zone] = &zone{name: n.Zone}
		}
		zones[n.Zone].waiting = append(zones[n.Zone].waiting, n)
	}
	for _, n := range kept {
		if z := zones[n.Zone]; z != nil {
			z.held++
		}
	}
	queue := make(zoneQueue, 0, len(zones))
	for _, z := range zones {
		slices.SortFunc(z.waiting, Oldest)
		queue = append(queue, z)
	}
	heap.Init(&queue)

	var picked []Picked
	for len(picked) < count && len(queue) > 0 {
		z := heap.Pop(&queue).(*zone)
		picked = append(picked, Picked{z.waiting[0], zoneReason(z.name, z.held), len(zones) > 1})
		z.held, z.waiting = z.held+1, z.waiting[1:]
		if len(z.waiting) > 0 {
			heap.Push(&queue, z)
		}
	}
	return picked
}

// zone is a zone with nodes to choose from, the oldest first.
type zone struct {
	name    string
	held    int // pools
	waiting []*inventory.Node
}

// zoneQueue is a heap of zones: next is the one with fewest pools, then the one
// whose next node is oldest, then the first by name.
type zoneQueue []*zone

func (q zoneQueue) Len() int      { return len(q) }
func (q zoneQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *zoneQueue) Push(z any)   { *q = append(*q, z.(*zone)) }

func (q zoneQueue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(cmp.Compare(a.held, b.held), age(a.waiting[0], b.waiting[0]), cmp.Compare(a.name, b.name)) < 0
}

func (q *zoneQueue) Pop() any {
	last := len(*q) - 1
	z := (*q)[last]
	*q = (*q)[:last]
	return z
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
