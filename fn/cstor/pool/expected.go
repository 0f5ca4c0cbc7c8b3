package pool

import (
	"encoding/json"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// What a cluster is made from, and what remembers the nodes of its pools.
const (
	ConfigGroup = "dao.mayadata.io"
	ConfigKind  = "CStorClusterConfig"
	PlanKind    = "CStorClusterPlan"
)

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
	case o.Namespace != cluster.Namespace || o.Name != cluster.Name:
		return 0, false
	case o.GroupKind() == krm.GroupKind{Group: APIGroup, Kind: ClusterKind}:
		return len(o.Node.Seq("spec", "pools")), true
	case o.GroupKind() == krm.GroupKind{Group: ConfigGroup, Kind: PlanKind}:
		return len(o.Node.Seq("spec", "nodes")), true
	}
	return 0, false
}
