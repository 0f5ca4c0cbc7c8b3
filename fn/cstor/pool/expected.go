package pool

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// What a cluster is made from, and what remembers the nodes of its pools.
const (
	ConfigGroup = "dao.mayadata.io"
	ConfigKind  = "CStorClusterConfig"
	AutoKind    = "CSPCAuto" // the old design, which is read as a CStorClusterConfig
	PlanKind    = "CStorClusterPlan"
)

// AnnotationDrain is, on a config, the nodes whose pools are to go: <node>[,...]
const AnnotationDrain = "poolwright.io/drain"

// IsConfig reports whether a cluster is made from objects of a kind.
func IsConfig(kind krm.GroupKind) bool {
	return kind.Group == ConfigGroup && (kind.Kind == ConfigKind || kind.Kind == AutoKind)
}

// Promised is how many pools a completed CStorClusterConfig promises; 0 where it leaves
// that open.
func Promised(completed []byte) int {
	var config struct {
		Spec struct {
			MinPoolCount int               `json:"minPoolCount"`
			Pools        []json.RawMessage `json:"pools"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(completed, &config); err != nil {
		return 0 // its own system says so
	}
	return max(config.Spec.MinPoolCount, len(config.Spec.Pools))
}

// Expected is how many pools a cluster has by one object: those that a CStorPoolCluster
// names, or those that the plan of its config will come to. known is false for an object
// that is not about the cluster.
func Expected(o *krm.Object, cluster inventory.Key) (pools int, known bool) {
	switch {
	case o.Namespace != cluster.Namespace:
		return 0, false
	case o.GroupKind() == krm.GroupKind{Group: APIGroup, Kind: ClusterKind} && o.Name == cluster.Name:
		return len(o.Node.Seq("spec", "pools")), true
	case o.GroupKind() == krm.GroupKind{Group: ConfigGroup, Kind: PlanKind} && slices.Contains(Planned(o), cluster.Name):
		for _, n := range o.Node.Seq("spec", "nodes") {
			if cmp.Or(n.Str("cluster"), o.Name) == cluster.Name {
				pools++
			}
		}
		return pools, true
	}
	return 0, false
}

// Planned lists the CStorPoolClusters of the config of a plan: the first is called like the
// config.
func Planned(plan *krm.Object) []string {
	names := []string{plan.Name}
	for _, c := range plan.Node.Seq("spec", "clusters") {
		names = append(names, c.Str("name"))
	}
	return names
}
