package cstorvolume

import (
	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// origin is what a clone is made from, as far as it is known.
type origin struct {
	size    string
	bytes   int64         // 0 where it is not known
	cluster inventory.Key // zero where it is not known
	foreign string        // the driver of another storage that it is of, or ""
}

// checkSource holds a clone against what it is made from.
func (r *rendering) checkSource(c *claim) {
	field, from := "source", origin{}
	switch {
	case c.Source.Claim == c.Name:
		c.report(finding.Error, "source-itself", field, "is the claim itself; name another one")
		return
	case c.Source.Claim != "":
		ref := finding.Ref{APIVersion: "v1", Kind: claimKind, Namespace: c.Namespace, Name: c.Source.Claim}
		var found bool
		if from, found = r.claimOrigin(inventory.Key{Namespace: c.Namespace, Name: c.Source.Claim}); !found {
			c.missing(ref)
			return
		}
	case c.Source.Snapshot != "":
		id := krm.ID{Group: snapshotGroup, Kind: snapshotKind, Namespace: c.Namespace, Name: c.Source.Snapshot}
		snapshot := r.in.Facts.Object(id)
		if snapshot == nil {
			c.missing(finding.Ref{APIVersion: snapshotGroup + "/v1", Kind: snapshotKind, Namespace: id.Namespace, Name: id.Name})
			return
		}
		from, _ = r.claimOrigin(inventory.Key{Namespace: c.Namespace, Name: snapshot.Node.Str("spec", "source", "persistentVolumeClaimName")})
		if size := snapshot.Node.Str("status", "restoreSize"); size != "" {
			from.size, from.bytes = size, quantity.Bytes(size)
		}
	default:
		return
	}
	switch other := from.cluster; {
	case from.foreign != "":
		c.report(finding.Error, "source-foreign", field, "is a volume of %s, and cStor cannot make a clone of it; name one of cluster %s", from.foreign, c.of.cluster.Name)
	case other != (inventory.Key{}) && other.Name != c.of.cluster.Name, other.Namespace != "" && other.Namespace != c.of.cluster.Namespace:
		c.report(finding.Error, "source-cluster", field, "is on cluster %s, and a clone is on the pools of what it is made from; claim it in a class of that cluster", other.Name)
	}
	if from.bytes > c.bytes {
		c.report(finding.Error, "source-larger", "size", "is %s, and what it is made from has %s; write at least that", c.size, from.size)
	}
}

func (c *claim) missing(source finding.Ref) {
	c.report(finding.Warning, "source-missing", "source", "the inventory contains no %s, so the clone waits until one exists; correct it, or refresh the inventory", source)
}

// claimOrigin is what is known of a claim that a clone is made from: by the specs of the
// package, or by the facts.
func (r *rendering) claimOrigin(key inventory.Key) (from origin, found bool) {
	if live := r.in.Facts.Object(claimID(key.Namespace, key.Name)); live != nil {
		from.size, from.bytes = capacity(live)
		from.cluster, from.foreign = r.clusterOf(live.Node.Str("spec", "storageClassName"))
		found = true
	}
	if c := r.claims[key]; c != nil {
		from.cluster, found = c.of.cluster.Key, true
		if c.bytes > from.bytes {
			from.size, from.bytes = c.size, c.bytes
		}
	}
	return from, found
}

// clusterOf is the pool cluster of a class, or who serves it if that is not cStor; zero
// where the class is not known. A live class says nothing of the namespace.
func (r *rendering) clusterOf(name string) (cluster inventory.Key, foreign string) {
	if v := r.classes[name]; v != nil {
		return v.cluster.Key, ""
	}
	o := r.in.Facts.Object(class.ID(name))
	if o == nil {
		return cluster, ""
	}
	c := class.Read(o)
	if c.Provisioner != driver {
		return cluster, c.Provisioner
	}
	return inventory.Key{Name: c.Parameters[parameterCluster]}, ""
}
