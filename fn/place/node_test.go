package place

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/inventory"
)

// nodes reads "name@zone:day"; no day is an unknown age.
func nodes(text string) []*inventory.Node {
	var all []*inventory.Node
	for field := range strings.FieldsSeq(text) {
		name, rest, _ := strings.Cut(field, "@")
		zone, day, known := strings.Cut(rest, ":")
		n := &inventory.Node{Name: name, Zone: zone}
		if known {
			n.Created, _ = time.Parse(time.DateOnly, "2025-01-"+day)
		}
		all = append(all, n)
	}
	return all
}

func names(picked []Picked) string {
	var all []string
	for _, p := range picked {
		all = append(all, p.Node.Name)
	}
	return strings.Join(all, " ")
}

func TestSpreadNodes(t *testing.T) {
	tests := []struct {
		name, kept, candidates string
		count                  int
		want                   string
	}{
		{"none wanted", "", "a@x:01", 0, ""},
		{"fewer than wanted", "", "a@x:01", 3, "a"},
		{"the oldest of each zone", "", "a@x:03 b@x:01 c@y:05 d@y:04", 2, "b d"},
		{"the zone of the oldest first", "", "a@x:09 b@y:08", 1, "b"},
		{"equally old: by zone name, not by node name", "", "a@y:01 b@x:01", 1, "b"},
		{"equally old in one zone: by name", "", "b@x:01 a@x:01", 1, "a"},
		{"no zone is one zone", "", "a@:01 b@:02 c@x:09", 2, "a c"},
		{"unknown age is newest", "", "a@x b@x:09", 1, "b"},
		{"unknown ages: by zone name", "", "a@y b@x", 1, "b"},
		{"pools that are there count", "k@x:01", "a@x:01 b@y:09", 1, "b"},
		{"a zone of kept nodes only", "k@z:01", "a@x:01", 1, "a"},
		{"as even as it goes", "k@x:01 l@x:02", "a@x:01 b@y:01 c@y:02 d@y:03 e@z:09", 4, "b e c a"},
	}
	for _, test := range tests {
		got := names(SpreadNodes(nodes(test.kept), nodes(test.candidates), test.count))
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// The rule, read a second time: each pick is from a zone that holds fewest.
func TestSpreadNodesIsEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var candidates []*inventory.Node
		for i := range rapid.IntRange(0, 12).Draw(t, "nodes") {
			candidates = append(candidates, nodes(fmt.Sprintf("n%d@z%d:%02d", i, rapid.IntRange(0, 4).Draw(t, "zone"), rapid.IntRange(1, 3).Draw(t, "day")))...)
		}
		shuffled := rapid.Permutation(candidates).Draw(t, "order")
		count := rapid.IntRange(0, 12).Draw(t, "count")
		picked := SpreadNodes(nil, shuffled, count)
		if names(picked) != names(SpreadNodes(nil, candidates, count)) || len(picked) != min(count, len(candidates)) {
			t.Fatalf("%q of %d", names(picked), count)
		}
		held, left := map[string]int{}, slices.Clone(candidates)
		for _, p := range picked {
			for _, n := range left {
				if held[n.Zone] < held[p.Node.Zone] || n.Zone == p.Node.Zone && Oldest(n, p.Node) < 0 {
					t.Fatalf("%s was picked before %s", p.Node.Name, n.Name)
				}
			}
			held[p.Node.Zone]++
			left = slices.DeleteFunc(left, func(n *inventory.Node) bool { return n == p.Node })
		}
	})
}

func TestRefuseNew(t *testing.T) {
	taint := inventory.Taint{Key: "dedicated", Value: "db", Effect: "NoSchedule"}
	tests := []struct {
		name  string
		node  inventory.Node
		with  []Toleration
		wants string
	}{
		{"nothing against it", inventory.Node{}, nil, ""},
		{"cordoned", inventory.Node{Unschedulable: true}, []Toleration{{Operator: "Exists"}}, "cordoned"},
		{"tainted", inventory.Node{Taints: []inventory.Taint{taint}}, nil, "dedicated=db:NoSchedule"},
		{"soft taint", inventory.Node{Taints: []inventory.Taint{{Key: "a", Effect: "PreferNoSchedule"}}}, nil, ""},
		{"tolerated by value", inventory.Node{Taints: []inventory.Taint{taint}}, []Toleration{{Key: "dedicated", Value: "db"}}, ""},
		{"another value", inventory.Node{Taints: []inventory.Taint{taint}}, []Toleration{{Key: "dedicated", Value: "web"}}, "not tolerated"},
		{"another effect", inventory.Node{Taints: []inventory.Taint{taint}}, []Toleration{{Key: "dedicated", Operator: "Exists", Effect: "NoExecute"}}, "not tolerated"},
		{"not ready, whatever is tolerated", inventory.Node{Taints: []inventory.Taint{{Key: "node.kubernetes.io/not-ready", Effect: "NoExecute"}}}, []Toleration{{Operator: "Exists"}}, "not ready"},
		{"unreachable, whatever is tolerated", inventory.Node{Taints: []inventory.Taint{{Key: "node.kubernetes.io/unreachable", Effect: "NoSchedule"}}}, DaemonTolerations(), "unreachable"},
		{"daemons tolerate what keeps pods off", inventory.Node{Taints: []inventory.Taint{taint}}, DaemonTolerations(), ""},
		{"the second taint", inventory.Node{Taints: []inventory.Taint{taint, {Key: "b", Effect: "NoExecute"}}}, []Toleration{{Key: "dedicated", Operator: "Exists"}}, "b:NoExecute"},
	}
	for _, test := range tests {
		got := RefuseNew(&test.node, test.with)
		if (got == "") != (test.wants == "") || !strings.Contains(got, test.wants) {
			t.Errorf("%s: %q, want %q", test.name, got, test.wants)
		}
	}
}
