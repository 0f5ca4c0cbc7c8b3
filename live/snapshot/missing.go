package snapshot

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/fn/inventory"
)

// ConfirmAfter is how much later a second snapshot confirms that a node is missing: as long as Kubernetes leaves
// pods on a node that does not answer.
const ConfirmAfter = 5 * time.Minute

// NoteMissing notes the nodes that objects name and that are missing: since when, and when a later snapshot first
// lacked them, too. After that nothing changes, so that two snapshots of an unchanged cluster are equal. before is
// what the last snapshot noted.
func (s *Snapshot) NoteMissing(before string, now time.Time) {
	at := slices.IndexFunc(s.Kinds, isNode)
	if at < 0 {
		return
	}
	nodes := map[string]bool{"": true}
	for _, o := range s.Kinds[at].Objects() {
		nodes[o.Name], nodes[o.Label(inventory.LabelHostname)] = true, true
	}
	known, missing := inventory.ParseMissing(before), map[string]inventory.Missing{}
	for i := range s.Kinds {
		for _, it := range s.Kinds[i].items {
			if nodes[it.node] {
				continue
			}
			nodes[it.node] = true
			m, noted := known[it.node]
			switch {
			case !noted:
				m.Since = now.UTC().Truncate(time.Second)
			case m.Again.IsZero() && now.Sub(m.Since) >= ConfirmAfter:
				m.Again = now.UTC().Truncate(time.Second)
			}
			missing[it.node] = m
		}
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		all = append(all, missing[name].Entry(name))
	}
	s.Kinds[at].missing = strings.Join(all, ",")
}
