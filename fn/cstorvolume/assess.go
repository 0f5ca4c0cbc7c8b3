package cstorvolume

import (
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/quantity"
)

// Assess implements system.Assessor.
func (System) Assess(facts *inventory.Facts, _ *disk.Ledger, c *change.Change) {
	switch c.Ref.GroupKind() {
	case class.Kind():
		class.Assess(facts, c)
	case policyGroupKind():
		assessPolicy(facts, c)
	case snapshotsGroupKind():
		assessSnapshots(c)
	case krm.GroupKind{Kind: claimKind}:
		assessClaim(facts, c)
	}
}

func assessPolicy(facts *inventory.Facts, c *change.Change) {
	switch c.Action {
	case change.Create:
		c.Judge(change.Safe, "", "says how new volumes are made")
		return
	case change.Remove:
		if facts.Object(class.ID(c.Ref.Name)) != nil && c.Old.Node.Get("spec", "replicaPoolInfo") != nil {
			c.Judge(change.Disruptive, "", "new volumes of the class are placed at random, or not made at all; those that are there keep what they were made with")
			return
		}
		c.Judge(change.Safe, "", "volumes that are there keep what they were made with")
		return
	}
	for i := range c.Fields {
		if f := &c.Fields[i]; f.Under("spec") {
			c.Judge(change.Safe, f.Path, "holds for new volumes; those that are there keep what they were made with")
		}
	}
}

func assessSnapshots(c *change.Change) {
	switch c.Action {
	case change.Create:
		c.Judge(change.Safe, "", "adds a class of snapshots")
		return
	case change.Remove:
		c.Judge(change.Disruptive, "", "no more snapshots are created from the class; existing ones stay")
		return
	}
	for i := range c.Fields {
		switch f := &c.Fields[i]; {
		case f.Under("deletionPolicy"):
			c.Judge(change.Safe, f.Path, "holds for snapshots that are made from now on")
		case f.Shape == "metadata.annotations["+annotationDefaultSnapshots+"]":
			c.Judge(change.Safe, f.Path, "says only which class snapshots get that name none")
		}
	}
}

func assessClaim(facts *inventory.Facts, c *change.Change) {
	switch c.Action {
	case change.Create:
		c.Judge(change.Safe, "", "claims a new volume")
		return
	case change.Remove:
		text := "the claim goes"
		if live := facts.Object(c.Old.ID()); live != nil && live.Node.Str("spec", "volumeName") != "" {
			text += ", and its volume " + live.Node.Str("spec", "volumeName") + " with it, unless its reclaim policy is Retain"
		} else {
			text += ", with the volume that it has, unless that is to be retained"
		}
		c.Judge(change.Destructive, "", text)
		return
	}
	for i := range c.Fields {
		switch f := &c.Fields[i]; {
		case f.Shape == "spec.resources.requests.storage":
			if quantity.Bytes(f.New.Str()) >= quantity.Bytes(f.Old.Str()) {
				c.Judge(change.Safe, f.Path, "the volume grows while it is in use; it never shrinks again")
			} else {
				c.Judge(change.Disruptive, f.Path, "the API server refuses it: a volume never shrinks, and the sync stops here")
			}
		case f.Under("spec"):
			c.Judge(change.Disruptive, f.Path, "the API server refuses it: a claim never changes it, and the sync stops here")
		}
	}
}
