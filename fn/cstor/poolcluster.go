package cstor

import (
	"slices"
	"strconv"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/krm"
)

// maxLabel is the longest value of a label, as which the operators use the name of a
// CStorPoolCluster.
//
// Source: Kubernetes, Labels and Selectors, 1.36.
const maxLabel = 63

// poolCluster is the name of the CStorPoolCluster of a number.
func (n names) poolCluster(number int) string {
	if number == 1 {
		return n.name
	}
	return record.JoinWithin(maxLabel, n.name, strconv.Itoa(number))
}

// findPoolClusters finds the CStorPoolClusters of a config: the first, which is there in any
// case, and those that were rendered, that the plan remembers, or that live and are its own.
func findPoolClusters(n names, owner string, before []*krm.Object, state admission.State) []*standing.Cluster {
	known := map[string]bool{}
	for _, o := range before {
		switch o.Kind {
		case poolClusterKind:
			known[o.Name] = true
		case clusterPlanKind:
			for _, c := range o.Node.Seq("spec", "clusters") {
				known[c.Str("name")] = true
			}
		}
	}
	for _, c := range state.Live.Clusters {
		known[c.Name] = known[c.Name] || c.Namespace == n.namespace && c.Object.Owner() == owner
	}
	clusters := []*standing.Cluster{newPoolCluster(n, 1, state)}
	found := 0
	for name := range known {
		if known[name] && name != n.name {
			found++
		}
	}
	for number := 2; found > 0 && number <= maxPoolClusters; number++ {
		if known[n.poolCluster(number)] {
			clusters = append(clusters, newPoolCluster(n, number, state))
			found--
		}
	}
	return clusters
}

// maxPoolClusters is more than any config can have: as many as it may have pools.
//
// Source: Poolwright.
const maxPoolClusters = 10000

func newPoolCluster(n names, number int, state admission.State) *standing.Cluster {
	name := n.poolCluster(number)
	return standing.NewCluster(name, number, state.Resolve(state.Live.Cluster(n.namespace, name)))
}

// work is what a render does with a CStorPoolCluster.
type work struct {
	steps *steps
	drain *draining
	disks int // that its pools have, but for those that go, and are to get in this run
}

// steps are those of a CStorPoolCluster.
func (in *input) steps(of *standing.Cluster) *steps { return in.works[of].steps }

// drain is what moves volumes of a CStorPoolCluster.
func (in *input) drain(of *standing.Cluster) *draining { return in.works[of].drain }

// busy reports whether a step of any CStorPoolCluster is in progress, taken or asked for.
func (in *input) busy() bool {
	return slices.ContainsFunc(in.standing.Clusters(), func(of *standing.Cluster) bool { return in.steps(of).busy() })
}

// isSplit reports whether there are, or may be, several CStorPoolClusters.
func (in *input) isSplit() bool {
	return len(in.standing.Clusters()) > 1 || in.cfg.Spec.PoolConfig.MaxDisksPerCluster > 0
}
