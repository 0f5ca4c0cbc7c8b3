package preview

import (
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
			if i := r.live.Instance(inventory.Key{Namespace: r.vol.Namespace, Name: name}); i == nil || i.Cluster().Name != r.vol.Cluster {
				r.refuse("scaling", "the operators never make a replica on %s, and cannot undo that they were asked to: it is no pool of cluster %s", name, r.vol.Cluster)
				return has
			}
		}
		return wanted
	}
	return has
}
