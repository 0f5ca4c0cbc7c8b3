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

// NoteMissing is the snapshot with a note of the nodes that objects name and that are missing: since when, and when a
// later snapshot first lacked them, too. After that nothing changes, so that two snapshots of an unchanged cluster are
// equal. before is what the last snapshot noted.
func (s *Snapshot) NoteMissing(before string, now time.Time) *Snapshot {
	at := slices.IndexFunc(s.Kinds, isNode)
	if at < 0 {
		return s
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
	noting := *s
	noting.Kinds = slices.Clone(s.Kinds)
	noting.Kinds[at].missing = strings.Join(all, ",")
	return &noting
}

// Missing is what a snapshot notes of missing nodes, "" for nothing.
func (s *Snapshot) Missing() string {
	if at := slices.IndexFunc(s.Kinds, isNode); at >= 0 {
		return s.Kinds[at].missing
	}
	return ""
}
