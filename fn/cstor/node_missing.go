package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/schema/finding"
)

// isPresent reports whether a node is in the snapshot, under this name or another.
func (r *roster) isPresent(name string) bool {
	return r.facts.Node(name) != nil || r.renamed(name) != nil
}

// everyMissing reports whether no node that stays and holds anything is in the snapshot, so
// that consent for the whole cluster is meant. That no node stays but those that are missing
// is an error where anything would be lost without consent. The members so far are there.
func (r *roster) everyMissing(missing []string) bool {
	held := slices.DeleteFunc(slices.Clone(missing), func(name string) bool { return r.planOnly(r.newMember(name)) })
	allowed := !slices.ContainsFunc(held, func(name string) bool { return !r.consent.allows(name) })
	switch {
	case len(missing) == 0 || slices.ContainsFunc(r.members, func(m *member) bool { return !r.planOnly(m) }):
		return false
	case len(r.members) > 0:
		return len(held) > 0 && allowed // others were chosen in their place, in an earlier run
	}
	names := finding.Names(missing)
	switch {
	case len(held) == 0:
		r.report(finding.Warning, "all-nodes-missing", "",
			"every node of the plan (%s) is missing from the inventory; nothing is rendered or running on them, so other nodes are chosen", names)
	case allowed:
		r.report(finding.Warning, "all-nodes-missing", "",
			"every node of the cluster (%s) is missing from the inventory, and the removal of their pools is allowed", names)
	default:
		r.refuseMissing(missing)
	}
	return true
}

// refuseMissing refuses a cluster of which no node is in the snapshot.
func (r *roster) refuseMissing(missing []string) {
	r.report(finding.Error, "all-nodes-missing", "",
		"every node of the cluster (%s) is missing from the inventory; the snapshot is from another cluster or incomplete, refresh it; if the nodes and their data are permanently gone, annotate the config with %s",
		finding.Names(missing), r.consent.wholeAnnotation(r.standing.Clusters()...))
}

// checkSomePresent refuses to let the last node go that is in the snapshot, where others
// stay that are missing.
func (r *roster) checkSomePresent() {
	var missing []string
	for _, m := range r.members {
		if r.isPresent(m.name) {
			return
		}
		missing = append(missing, m.name)
	}
	if len(missing) > 0 {
		r.refuseMissing(missing)
	}
}
