package preview

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// isScaling reports whether a volume that is made is asked to be on other pools.
func (r *request) isScaling() bool {
	wanted, has := r.scaling()
	return wanted != nil && !slices.Equal(slices.Sorted(slices.Values(wanted)), slices.Sorted(slices.Values(has)))
}

// scaling are the pools that a volume is to be on, nil where nothing is said, and those
// that it is on.
func (r *request) scaling() (wanted, has []string) {
	for _, p := range r.config.Node.Seq("status", "poolInfo") {
		has = append(has, p.Value())
	}
	if len(has) == 0 {
		has = r.made
	}
	if info := r.config.Node.Get("spec", "policy", "replicaPoolInfo"); info.Kind() == document.Seq {
		wanted = append([]string{}, poolNames(info.Items())...)
	}
	return wanted, has
}

// scale says where the replicas of a volume that is made are, or where its config asks for
// them as far as the operators and their webhook allow that.
func (r *request) scale() []string {
	wanted, has := r.scaling()
	if wanted == nil || !r.isScaling() {
		return has
	}
	without := func(names, others []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
	}
	added, removed := without(wanted, has), without(has, wanted)
	twice := slices.Compact(slices.Sorted(slices.Values(wanted)))
	switch {
	case len(twice) < len(wanted):
		r.refuse("scaling", "the webhook refuses CStorVolumeConfig %s: duplicate pool names found under spec.policy.replicaPoolInfo", r.vol.Name)
	case len(added) > 0 && len(removed) > 0:
		r.refuse("scaling", "the webhook refuses CStorVolumeConfig %s: volume replica migration directly by modifying pool names %v is not yet supported; add %s first, and take out %s when the new replicas are healthy",
			r.vol.Name, removed, finding.Names(added), finding.Names(removed))
	case len(removed) > 1:
		r.refuse("scaling", "the webhook refuses CStorVolumeConfig %s: Can't perform more than one replica scale down requested scale down count %d; take out one pool at a time", r.vol.Name, len(removed))
	case len(wanted) == 0:
		r.refuse("scaling", "the operators delete the only replica of the volume: spec.policy.replicaPoolInfo of CStorVolumeConfig %s is empty; name %s again", r.vol.Name, finding.Names(has))
		return nil
	default:
		for _, name := range added {
			switch other, exists := r.foreign(name); {
			case other != "":
				r.refuse("scaling", "the operators never make a replica on %s, and cannot undo that they were asked to: it is a pool of cluster %s, and the volume is of cluster %s; name a pool of that in its place", name, other, r.vol.Cluster)
				return has
			case !exists:
				r.refuse("scaling", "the operators never make a replica on %s, and cannot undo that they were asked to: it is no pool of cluster %s", name, r.vol.Cluster)
				return has
			}
		}
		return wanted
	}
	return has
}

// foreign is the cluster of a pool that is not of the volume's own, or "".
func (r *request) foreign(name string) (cluster string, exists bool) {
	i := r.live.Instance(inventory.Key{Namespace: r.vol.Namespace, Name: name})
	if i == nil || i.Cluster().Name == r.vol.Cluster {
		return "", i != nil
	}
	return cmp.Or(i.Cluster().Name, "without a name"), true
}

// warnOfForeign names the pools of other clusters that a volume which is made is on, or is said
// to be on.
//
// Source: cstor-operators, cvc-operator (scaling to a pool of another cluster), 3.6.0, measured.
func (r *request) warnOfForeign(on []string) {
	for _, name := range on {
		if other, _ := r.foreign(name); other != "" {
			r.findings = append(r.findings, finding.Finding{Severity: finding.Warning, Rule: "foreign-instance", Object: r.about, Message: fmt.Sprintf(
				"CStorVolumeConfig %s names CStorPoolInstance %s, which is of cluster %s, and its volume is of cluster %s: the operators place replicas on pools of one cluster alone; name a pool of %s in its place",
				r.vol.Name, name, other, r.vol.Cluster, r.vol.Cluster)})
		}
	}
}
