package diskpool

import (
	"slices"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// Assess implements system.Assessor.
func (System) Assess(facts *inventory.Facts, ledger *disk.Ledger, c *change.Change) {
	switch c.Ref.GroupKind() {
	case poolGroupKind():
		assessPool(facts, ledger, c)
	case class.Kind():
		class.Assess(facts, c)
	}
}

func assessPool(facts *inventory.Facts, ledger *disk.Ledger, c *change.Change) {
	switch c.Action {
	case change.Create:
		if doubt := diskOf(ledger, c.New).NotEmpty(); doubt != "" {
			c.Judge(change.Destructive, "", "the disk's content is destroyed when the pool is made, and "+doubt)
			return
		}
		c.Judge(change.Safe, "", "makes a pool on a disk that is known to be empty")
		return
	case change.Remove:
		text := "the pool goes, with every replica on it"
		live := facts.Object(c.Old.ID())
		if used := usedSpace(live); used != "" {
			text += "; " + used
		}
		if live != nil {
			if more := purge(live); more != "" {
				text += "; " + more
			}
		}
		c.Judge(change.Destructive, "", text)
		return
	}
	c.Fields = slices.DeleteFunc(c.Fields, func(f change.Field) bool { return isOfOthers(f.Shape) })
	for i := range c.Fields {
		switch f := &c.Fields[i]; {
		case f.Shape == "apiVersion":
			c.Judge(change.Safe, f.Path, "the same object in another version")
		case isRemembered(f.Shape):
			c.Judge(change.Safe, f.Path, "says only what the set remembers of the pool")
		case f.Under("spec.topology"), f.Under("spec.encryptionConfig"), f.Under("spec.maxExpansion"), f.Under("spec.clusterSize"), f.Under("spec.cluster_size"):
			c.Judge(change.Disruptive, f.Path, "Mayastor reads it only when it makes the pool: the pool stays as it is, and the object no longer says what is there")
		case f.Under("spec"):
			c.Judge(change.Destructive, f.Path, "Mayastor reads it only when it creates the pool: if the object is recreated, the pool is on another disk, without its data")
		}
	}
}

// isOfOthers reports whether a field is the user's and the operator's, and no difference.
func isOfOthers(shape string) bool {
	return shape == "metadata.annotations[openebs.io/expand]" || shape == "metadata.annotations["+annotationDelete+"]"
}

// isRemembered reports whether a field is an annotation that only a render reads.
func isRemembered(shape string) bool {
	for _, key := range []string{annotationDisk, annotationChosen, annotationReplaces} {
		if shape == "metadata.annotations["+key+"]" {
			return true
		}
	}
	return false
}

// diskOf finds the disk that a pool is on, or nil.
func diskOf(ledger *disk.Ledger, o *krm.Object) *disk.Disk {
	for _, hold := range (System{}).Holds(o) {
		for _, there := range ledger.Named(hold) {
			if !there.Missing() && ledger.NodeOf(there) == o.Node.Str("spec", "node") {
				return there
			}
		}
	}
	return nil
}
