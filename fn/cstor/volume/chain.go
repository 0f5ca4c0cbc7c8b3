// Package volume is what one claim becomes on cStor: the PersistentVolume, the
// CStorVolumeConfig, the CStorVolume, and its replicas on the pools.
//
// Source: openebs/api, definitions of cstor.openebs.io/v1, 3.6.0.
package volume

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Kinds of the chain, and what cStor's CSI driver is called.
const (
	ConfigKind = "CStorVolumeConfig"
	TargetKind = "CStorVolume"
	Driver     = "cstor.csi.openebs.io"

	LabelVolume = "cstorvolume.openebs.io/name" // on a replica
)

// ConfigAnnotations are those of a CStorVolumeConfig that say what it is of.
func ConfigAnnotations() []string {
	return []string{"openebs.io/persistent-volume-claim", "openebs.io/pod-disruption-budget", "openebs.io/volume-policy", "openebs.io/volumeID"}
}

// Chain is a volume from its claim to its replicas, as far as there is anything. All
// parts below the claim are named after the handle of the volume.
type Chain struct {
	Namespace, Name string // of the cStor objects
	Cluster         inventory.Key
	Claim, Volume   *krm.Object // nil where they are not there
	Config, Target  *krm.Object
	Replicas        []*krm.Object
	Attachments     []*krm.Object // CStorVolumeAttachments, by name

	pools *pool.Live
}

// User names the claim of the volume, or else the volume.
func (c *Chain) User() inventory.Key {
	switch {
	case c.Claim != nil:
		return inventory.Key{Namespace: c.Claim.Namespace, Name: c.Claim.Name}
	case c.Volume != nil:
		ref := c.Volume.Node.Get("spec", "claimRef")
		return inventory.Key{Namespace: ref.Str("namespace"), Name: ref.Str("name")}
	}
	return inventory.Key{Namespace: c.Namespace, Name: c.Name}
}

// Factor is how many replicas the volume is to have.
func (c *Chain) Factor() int {
	for _, name := range []string{"desiredReplicationFactor", "replicationFactor"} {
		if n, ok := c.target("spec", name).Int(); ok && n > 0 {
			return int(n)
		}
	}
	return len(c.Replicas)
}

// Healthy counts the healthy replicas outside of some pool instances.
func (c *Chain) Healthy(without []string) int {
	n := 0
	for _, r := range c.Replicas {
		if c.ReplicaPhase(r) == health.OK && !slices.Contains(without, InstanceOf(r)) {
			n++
		}
	}
	return n
}

// Quorum is how many healthy replicas the volume needs to go on: more than half, unless
// it says otherwise.
func (c *Chain) Quorum() int {
	if n, ok := c.target("spec", "consistencyFactor").Int(); ok && n > 0 {
		return int(n)
	}
	return c.Factor()/2 + 1
}

// Phase judges the CStorVolume. One that is degraded, or that has lost replicas and has
// not noticed, comes right by itself while a replica is being rebuilt, unless pools that are
// down leave it too few.
//
// Source: openebs/api, pkg/apis/cstor/v1 (CStorVolumePhase), 3.6.0.
func (c *Chain) Phase() health.Phase {
	switch phase := c.target("status", "phase").Str(); phase {
	case "", "Init", "Pending":
		return health.Progressing
	case "Healthy", "Degraded":
		if phase == "Healthy" && c.Healthy(nil) >= c.Factor() {
			return health.OK
		}
		if len(c.DownPools()) > 0 && c.Healthy(nil) < c.Quorum() {
			return health.Error
		}
		for _, r := range c.Replicas {
			if c.ReplicaPhase(r) == health.Progressing {
				return health.Progressing
			}
		}
	}
	return health.Error
}

// target is a part of the CStorVolume, which may not be there.
func (c *Chain) target(path ...string) *document.Node {
	if c.Target == nil {
		return nil
	}
	return c.Target.Node.Get(path...)
}

// ReplicaPhase judges a CStorVolumeReplica of the volume. On a pool that is down it is, too,
// whatever it said last.
//
// Source: openebs/api, pkg/apis/cstor/v1 (CStorVolumeReplicaPhase), 3.6.0.
func (c *Chain) ReplicaPhase(replica *krm.Object) health.Phase {
	if c.Down(replica) != "" {
		return health.Error
	}
	switch replica.Node.Str("status", "phase") {
	case "Healthy":
		return health.OK
	case "", "Init", "Recreate", "Rebuilding", "ReconstructingNewReplica", "NewReplicaDegraded":
		return health.Progressing
	}
	return health.Error
}

// Down says why the pool of a replica serves nothing, as a clause, or "" where it may.
func (c *Chain) Down(replica *krm.Object) string {
	return c.pools.Down(inventory.Key{Namespace: replica.Namespace, Name: InstanceOf(replica)})
}

// DownPools says of each replica whose pool serves nothing why that is, as clauses.
func (c *Chain) DownPools() []string {
	var down []string
	for _, r := range c.Replicas {
		if why := c.Down(r); why != "" {
			down = append(down, why)
		}
	}
	return down
}

// Of names the volume that a replica is of.
func Of(replica *krm.Object) string { return replica.Label(LabelVolume) }

// InstanceOf names the pool instance that a replica is on.
func InstanceOf(replica *krm.Object) string { return replica.Label(pool.LabelInstance) }
