package snapshot

import (
	"testing"
	"time"

	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/live/cluster"
)

// TestNoteMissing: a node that objects name is noted once it is missing, confirmed once, and forgotten when it is back.
func TestNoteMissing(t *testing.T) {
	take := func(nodes string) *Snapshot {
		s := &Snapshot{}
		for _, kind := range []struct {
			system.Kind
			items string
		}{
			{system.Kind{Plural: "nodes", Keep: "spec"}, nodes},
			{system.Kind{Plural: "disks", Keep: "spec", Node: [][]string{{"spec", "host"}, {"spec", "node"}}}, "[{metadata: {name: a}, spec: {node: n1}}, {metadata: {name: b}, spec: {node: n2, host: h2}}, {metadata: {name: c}, spec: {node: n1}}, {metadata: {name: d}}]"},
		} {
			k := Kind{Resource: cluster.Resource{Plural: kind.Plural}, declared: kind.Kind}
			if kind.Plural == "nodes" {
				k.Kind = "Node"
			}
			slim := Options{}.slimmer(&kind.Kind)
			for i := range mustParse([]byte(kind.items)).Items() {
				k.items = append(k.items, slim.item(&mustParse([]byte(kind.items)).Items()[i]))
			}
			s.Kinds = append(s.Kinds, k)
		}
		return s
	}
	const one, both = "[{metadata: {name: n1}}]", "[{metadata: {name: n1}}, {metadata: {name: n2, labels: {kubernetes.io/hostname: h2}}}]"
	noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	noted := ""
	for _, c := range []struct {
		after time.Duration
		nodes string
		want  string
	}{
		{0, both, ""},
		{time.Minute, one, "h2=2026-11-28T12:01:00Z"},
		{5 * time.Minute, one, "h2=2026-11-28T12:01:00Z"},
		{6 * time.Minute, one, "h2=2026-11-28T12:01:00Z/2026-11-28T12:06:00Z"},
		{time.Hour, one, "h2=2026-11-28T12:01:00Z/2026-11-28T12:06:00Z"},
		{2 * time.Hour, both, ""},
		{3 * time.Hour, "[]", "h2=2026-11-28T15:00:00Z,n1=2026-11-28T15:00:00Z"},
	} {
		s := take(c.nodes)
		if noted = s.NoteMissing(noted, noon.Add(c.after)).Missing(); noted != c.want || s.Missing() != "" {
			t.Errorf("after %s: %q, want %q", c.after, noted, c.want)
		}
	}
}
