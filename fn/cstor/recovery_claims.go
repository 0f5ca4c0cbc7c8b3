package cstor

import (
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// boundFor lists the PersistentVolumeClaims among the facts that were rendered for a spec
// and are bound, by name.
func boundFor(owner string, facts *inventory.Facts) []*krm.Object {
	return slices.DeleteFunc(facts.Objects("", volumeClaimKind), func(o *krm.Object) bool {
		claim := facts.VolumeClaim(o.Namespace, o.Name)
		return o.Owner() != owner || o.Deleting() || claim == nil || !claim.Bound
	})
}

// restoreClaims takes back the bound claims of cloud disks that the lock has lost, with
// their nodes. What is put into the lock is read alone: it is rendered anew.
func (r *recovery) restoreClaims() {
	lost := map[string][]string{} // by node
	for _, o := range boundFor(r.owner, r.facts) {
		node := nodeOfVolume(o)
		left := slices.ContainsFunc(r.lock.retained, func(other *krm.Object) bool { return other.ID() == o.ID() })
		if node == "" || left || r.lock.objects[o.ID()] != nil || r.consent.allows(node) {
			continue
		}
		r.lock.objects[o.ID()] = o
		r.lock.volumes[node] = append(r.lock.volumes[node], o)
		lost[node] = append(lost[node], o.Name)
	}
	for _, node := range slices.Sorted(maps.Keys(lost)) {
		if r.lock.known[node] {
			continue // its pool was taken back, or what it is wanted for says it
		}
		r.lock.addNode(node)
		r.lock.reasons[node] = reasonAdopted
		r.back[node] = "PersistentVolumeClaim " + finding.Names(lost[node]) + " is bound for node " + node + ", and the output has lost it"
		r.report(finding.Warning, "claims-taken-back", "",
			"node %s is taken back, since PersistentVolumeClaim %s is bound for it, and the output had lost it; if a pool lives there that is not rendered, restore rendered/ from Git before this is applied; to have them removed, annotate the config with %s",
			node, finding.Names(lost[node]), r.consent.annotation(node))
	}
}

// tellLostClaims tells of bound claims that were rendered for the spec, and that neither
// the lock nor this render has: their removal was allowed, or is no loss to a pool.
func (r *removal) tellLostClaims(objects *manifests) {
	rendered := make(map[krm.ID]bool, len(objects.all))
	for _, o := range objects.all {
		rendered[o.ID()] = true
	}
	var going, lost []string
	for _, o := range boundFor(r.owner, r.facts) {
		known := r.lock.objects[o.ID()]
		switch {
		case rendered[o.ID()], known != nil && known != o:
		case r.consent.allows(nodeOfVolume(o)):
			going = append(going, o.Name)
		default:
			lost = append(lost, o.Name)
		}
	}
	if len(going) > 0 {
		r.report(finding.Warning, "claims-going", "",
			"no longer rendered, since their removal is allowed, and still bound in the cluster: PersistentVolumeClaim %s; delete them there, and keep the consent until they are gone", finding.Names(going))
	}
	if len(lost) > 0 {
		r.report(finding.Warning, "claims-lost", "",
			"bound in the cluster, made for this spec, and no longer rendered: PersistentVolumeClaim %s; if their disks are in use, restore rendered/ from Git before this is applied, else delete them", finding.Names(lost))
	}
}
