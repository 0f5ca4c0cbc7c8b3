package pool

import (
	"cmp"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// The kinds of this package.
const (
	APIGroup     = "cstor.openebs.io"
	apiVersion   = APIGroup + "/v1"
	ClusterKind  = "CStorPoolCluster"
	InstanceKind = "CStorPoolInstance"
	ReplicaKind  = "CStorVolumeReplica"
)

// Labels and annotations that cStor puts on its objects, and reads.
const (
	LabelInstance         = "cstorpoolinstance.openebs.io/name"     // on a volume replica
	AnnotationReplicaHost = "cstorpoolinstance.openebs.io/hostname" // on a volume replica, the host of its pool
	AnnotationAllowedTags = "openebs.io/allowed-bd-tags"            // on a CStorPoolCluster
)

// Instance is a CStorPoolInstance: one pool as the operators run it.
type Instance struct {
	Object   *krm.Object
	Name     string
	Hostname string // of the node that it is on, by its label
	RunsOn   string // the same by its spec, which follows a pool that moves
	Phase    string // as zpool says: ONLINE, DEGRADED, FAULTED ...; "" until it has run
	Pool     *Pool
}

// DecodeInstance reads a CStorPoolInstance.
func DecodeInstance(o *krm.Object) *Instance {
	i := &Instance{
		Object: o, Name: o.Name,
		Hostname: cmp.Or(o.Label(inventory.LabelHostname), o.Node.Str("spec", "hostName")),
		RunsOn:   cmp.Or(o.Node.Str("spec", "hostName"), o.Label(inventory.LabelHostname)),
		Phase:    o.Node.Str("status", "phase"),
		Pool:     DecodePool(o.Node.Get("spec")),
	}
	i.Pool.Hostname = i.Hostname
	return i
}

// Serves reports whether the pool says that it can be used, or says nothing yet.
//
// Source: openebs/api, pkg/apis/cstor/v1 (CStorPoolInstancePhase), 3.6.0.
func (i *Instance) Serves() bool {
	switch strings.ToUpper(i.Phase) {
	case "", "ONLINE", "DEGRADED":
		return true
	}
	return false
}

// Cluster is the pool cluster that the label of the instance names, zero if it names none.
func (i *Instance) Cluster() inventory.Key {
	if name := i.Object.Label(inventory.LabelPoolCluster); name != "" {
		return inventory.Key{Namespace: i.Object.Namespace, Name: name}
	}
	return inventory.Key{}
}
