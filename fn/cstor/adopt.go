package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// hintAdoption tells who begins beside a cluster that lives how a spec gets hold of it:
// by its name. What is somebody's already is not meant.
func hintAdoption(in *input, specs []*system.Spec, held []*krm.Object) {
	if in.spec.IsRendered() || len(in.live.clusters) > 0 {
		return
	}
	var names []string
	for _, o := range in.facts.Objects(cstorGroup, poolClusterKind) {
		isManifest := slices.ContainsFunc(held, func(m *krm.Object) bool { return m.ID() == o.ID() })
		isWanted := slices.ContainsFunc(specs, func(s *system.Spec) bool {
			return s.Object.Namespace == o.Namespace && s.Object.Name == o.Name
		})
		if o.Namespace == in.namespace && o.Owner() == "" && !o.Deleting() && !isManifest && !isWanted {
			names = append(names, o.Name)
		}
	}
	if len(names) > 0 {
		in.report(finding.Info, "not-adopted", "metadata.name",
			"%s %s exists in this namespace but is unmanaged; a %s of the same name adopts it unchanged", poolClusterKind, finding.Names(names), clusterConfigKind)
	}
}

// takenBy says who has the name of a CStorPoolCluster that a spec would make: another spec, or
// a cluster that lives, or has lived; or "".
func takenBy(spec *system.Spec, name string, specs []*system.Spec, live *pool.Live) string {
	for _, other := range specs {
		if other != spec && other.Object.Namespace == spec.Object.Namespace && other.Object.Name == name {
			return other.Object.Ref.String()
		}
	}
	namespace := spec.Object.Namespace
	switch {
	case live.Cluster(namespace, name) != nil:
		return "a live " + poolClusterKind + " that is not of this config"
	case len(live.Instances(namespace, name))+len(live.ClaimedBy(namespace, name)) > 0:
		return "live pools or claims of block devices that do not belong to this config"
	}
	return ""
}
