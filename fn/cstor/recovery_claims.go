package cstor

import (
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/record"
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

// lostVolumes lists the bound claims that live as those of a spec and are not among what was
// rendered, each with its attachment, as they are rendered: the output has lost them, or they
// were let go before they were bound.
func lostVolumes(owner string, facts *inventory.Facts, rendered []*krm.Object) []*krm.Object {
	known := map[krm.ID]bool{}
	for _, o := range rendered {
		known[o.ID()] = true
	}
	var lost []*krm.Object
	for _, o := range boundFor(owner, facts) {
		node := record.NodeOfVolume(o)
		if node == "" || known[o.ID()] {
			continue
		}
		lost = append(lost, makeClaim(o.Namespace, o.Name, node, o.Node.Str("spec", "storageClassName"), requestOf(o)))
		for _, a := range facts.Objects(storageGroup, volumeAttachmentKind) {
			volume := a.Node.Str("spec", "source", "persistentVolumeName")
			if a.Owner() == owner && !a.Deleting() && !known[a.ID()] && record.NodeOfVolume(a) == node && volume == facts.VolumeClaim(o.Namespace, o.Name).VolumeName {
				lost, known[a.ID()] = append(lost, copyOf(a)), true
			}
		}
	}
	return lost
}

// restoreClaims takes back the bound claims of cloud disks that the lock has lost, with
// their nodes, unless those may go. What is put into the lock is read alone: it is rendered
// anew, or let go as what was rendered is.
func (r *recovery) restoreClaims() {
	rendered := r.spec.Before
	if !r.retains() {
		// What was left to a person, and still lives as the spec's, goes by consent only by now.
		rendered = slices.DeleteFunc(slices.Clone(rendered), (*krm.Object).Retained)
	}
	lost := map[string][]string{} // by node
	for _, o := range lostVolumes(r.owner, r.facts, rendered) {
		node := record.NodeOfVolume(o)
		r.standing.RestoreVolume(o)
		if o.Kind == volumeClaimKind && !r.consent.allows(node) {
			lost[node] = append(lost[node], o.Name)
		}
	}
	for _, node := range slices.Sorted(maps.Keys(lost)) {
		if r.standing.Knows(node) {
			continue // its pool was taken back, or what it is wanted for says it
		}
		r.standing.AdoptNode(node)
		r.back[node] = "PersistentVolumeClaim " + finding.Names(lost[node]) + " is bound for node " + node + ", and the output has lost it"
		r.report(finding.Warning, "claims-taken-back", "",
			"node %s is restored: PersistentVolumeClaim %s is bound for it, but it was missing from the output; if a pool is running there that is not rendered, restore rendered/ from Git before this is applied; to remove them, annotate the config with %s",
			node, finding.Names(lost[node]), r.consent.annotation(node))
	}
}

// tellLostClaims tells of bound claims that the output had lost and that go with consent. Of
// what was rendered last others tell.
func (r *removal) tellLostClaims(objects *manifests) {
	rendered := objects.ids()
	var going []string
	for _, o := range r.standing.Restored() {
		if o.Kind == volumeClaimKind && !rendered[o.ID()] && r.released[o.ID()] {
			going = append(going, o.Name)
		}
	}
	if len(going) > 0 {
		r.report(finding.Warning, "claims-going", "",
			"no longer rendered, since their removal is allowed, and still bound in the cluster: PersistentVolumeClaim %s; delete them there, and keep the consent until they are gone", finding.Names(going))
	}
}
